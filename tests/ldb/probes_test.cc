#include "ldb/probes.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/debugged.h"
#include "support/limiters.h"

namespace {

using namespace std::chrono_literals;
using rlctl::ldb::add_probes;
using rlctl::ldb::CallWords;
using rlctl::ldb::ProbedScript;
using rlctl::ldb::ProbeOptions;
using rlctl::ldb::ProbeReader;
using rlctl::ldb::ProbeReading;
using rlctl::ldb::Value;
using rlctl::redis::ReplyType;
using rlctl::redis::ReplyView;
using rlctl::test::TestServer;
using Strings = std::vector<std::string>;

constexpr std::chrono::microseconds kNow{1'700'000'000'123'456};

ProbedScript probed(std::string_view source, const ProbeOptions& options = {}) {
  auto script = add_probes(source, options);
  REQUIRE_MESSAGE(script.has_value(), std::string(source));
  return *std::move(script);
}

/// Without where an error came from, of which a probed script says something else.
std::string to_text(ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kNil:
      return "nil";
    case ReplyType::kInteger:
      return std::to_string(reply.integer());
    case ReplyType::kStatus:
      return "+" + std::string(reply.text());
    case ReplyType::kError:
      return "-" + std::string(rlctl::redis::to_error(reply).what());
    case ReplyType::kString:
      return "'" + std::string(reply.text()) + "'";
    case ReplyType::kArray:
      break;
  }
  std::string text = "{";
  for (std::size_t i = 0; i < reply.size(); ++i) text += to_text(reply[i]) + " ";
  return text + "}";
}

/// What was told in the debugger, in its order.
struct Told {
  std::vector<ProbeReading> readings;
  std::vector<ProbeReader::Line> calls;
  Strings messages;        ///< the script's own
  std::vector<int> stops;  ///< lines of the source
  std::string reply;
};

Told debug(const ProbedScript& script, const Strings& keys = {}, const Strings& arguments = {}) {
  TestServer server;
  Told told;
  ProbeReader reader(script);
  const auto on_item = [&](std::string_view item) {
    if (item.starts_with("* Stopped at ")) {
      const int line = script.line_of(std::atoi(std::string(item.substr(13)).c_str()));
      if (line > 0) told.stops.push_back(line);
    }
    if (!item.starts_with("<debug> line ")) return;
    const auto text = item.substr(item.find(": ") + 2);
    auto line = reader.read(text);
    if (line.kind == ProbeReader::Line::Kind::kProbe) {
      told.readings.push_back(std::move(line.reading));
    } else if (line.kind == ProbeReader::Line::Kind::kCall) {
      told.calls.push_back(std::move(line));
    } else {
      told.messages.emplace_back(text);
    }
  };
  const auto reply =
      rlctl::test::debug_script(server.connection(), script.text, keys, arguments, on_item);
  told.reply = to_text(reply);
  return told;
}

/// "3: a=1 b=2", the line and what is told before it.
Strings lines_of(const ProbedScript& script, const Told& told) {
  Strings lines;
  for (const auto& reading : told.readings) {
    auto line = std::to_string(script.probes[reading.probe].line) + ":";
    for (const auto& variable : reading.variables) {
      line += " " + script.locals[variable.local].name;
      if (variable.activation > 0) line += "#" + std::to_string(variable.activation);
      line += "=" + text_of(variable.value);
    }
    lines.push_back(line);
  }
  return lines;
}

Strings told_of(std::string_view source, const ProbeOptions& options = {}) {
  const auto script = probed(source, options);
  return lines_of(script, debug(script));
}

}  // namespace

TEST_CASE("a probe tells what each name means before its line, exactly") {
  CHECK(told_of("local a = 1700000000123456\n"
                "local b, c = 0.1 + 0.2, 'x \"y\",\\\\\\n'\n"
                "local a = {1, 2, n = {}}\n"
                "return a\n") ==
        Strings{"1:", "2: a=1700000000123456",
                R"(3: a=1700000000123456 b=0.30000000000000004 c="x \"y\",\\\n")",
                R"(4: b=0.30000000000000004 c="x \"y\",\\\n" a={1, 2, n = {}})"});
}
