// needs: server
// The engine's debugger stops at the lines at which Redis's own does, and tells the same.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "debugger/engine_debugger.h"
#include "ldb/redis_debugger.h"
#include "redis/connection.h"
#include "redis/server.h"
#include "support/server.h"

namespace debugger_lines_test {

using namespace rlctl;
using Texts = std::vector<std::string>;

namespace {

std::vector<std::filesystem::path> scripts() {
  const std::filesystem::path tests = RLCTL_TESTS_DIR;
  std::vector<std::filesystem::path> all;
  for (const auto& folder : {std::filesystem::path(RLCTL_LUA_DIR), tests.parent_path() / "examples",
                             tests / "limiters"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".lua") all.push_back(entry.path());
    }
  }
  std::ranges::sort(all);
  return all;
}

/// What Redis's debugger prints of a value, up to six digits of a number; std::nullopt for strings
/// that need escapes, and for tables and functions.
std::optional<std::string> shown(const lua::Value& value) {
  using Kind = lua::Value::Kind;
  const auto is_escaped = [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; };
  switch (value.kind) {
    case Kind::kNumber:
      return fmt::format("{:g}", value.number);
    case Kind::kString:
      if (std::ranges::any_of(value.text, is_escaped)) return std::nullopt;
      return '"' + value.text + '"';
    case Kind::kNil:
    case Kind::kBoolean:
      return lua::text_of(value);
    case Kind::kOpaque:  // a text of Redis, or the name of a type
      if (value.text.starts_with('{') || value.text.find_first_of("@\\") != value.text.npos ||
          value.text == "function") {
        return std::nullopt;
      }
      return value.text;
    default:
      return std::nullopt;
  }
}

std::string variables_in(debugger::Debugger& debugger) {
  std::string text;
  for (const auto& variable : debugger.variables()) {
    if (variable.is_upvalue()) continue;
    text += ' ' + variable.name;
    if (const auto value = shown(variable.value)) text += '=' + *value;
  }
  return text;
}

/// The words that Redis's debugger tells: ten at most, of which the blanks may be within one.
std::string told_words(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < kMost; ++i) {
    text += (text.empty() ? "" : " ") + words[i];
  }
  return text + (words.size() > kMost ? " ..." : "");
}

/// What a script did in a debugger. A line that is repeated counts once: Redis's debugger stops
/// again at a line while a function in C runs.
struct Course {
  Texts lines;    ///< a text for each line and each call, and one for the end
  Texts details;  ///< the variables at each line, calls with replies and errors, and the reply
  bool reads_clock = false;  ///< so that details differ, because the engine's clock stands still
};

void add(Course& course, const debugger::Halt& halt) {
  static const std::set<std::string> kClocks{"time", "ttl", "pttl", "expiretime", "pexpiretime"};
  for (const auto& call : halt.calls) {
    course.lines.push_back(call.words.front());
    course.reads_clock = course.reads_clock || kClocks.contains(lower_case(call.words.front()));
    course.details.push_back(
        fmt::format("{}: {}", told_words(call.words), call.error.value_or(call.reply)));
  }
}

Course course_in(debugger::Debugger& debugger) {
  Course course;
  int line = 0;
  auto halt = debugger.start();
  for (; debugger.running(); halt = debugger.step()) {
    add(course, halt);
    if (halt.line == std::exchange(line, halt.line)) continue;
    course.lines.push_back(std::to_string(halt.line));
    course.details.push_back(fmt::format("line {}:{}", halt.line, variables_in(debugger)));
  }
  add(course, halt);
  const auto& result = debugger.result();
  course.lines.emplace_back(result.reply && !result.reply->is_error() ? "returned" : "error");
  course.details.push_back(
      fmt::format("{} {} {}", static_cast<int>(result.ending), result.error_line, result.message));
  if (result.ending == debugger::Ending::kReturned) {
    course.details.push_back(debugger::call_of({}, *result.reply).reply);
  }
  return course;
}

std::string text_of(const Texts& texts) {
  return fmt::to_string(fmt::join(texts, "\n"));
}

Course in_engine(const debugger::Debuggee& debuggee) {
  keyspace::Keyspace keys(system_time());
  debugger::EngineDebugger debugger(debuggee, keys, {});
  return course_in(debugger);
}

Course in_redis(const debugger::Debuggee& debuggee, const redis::PrivateServer& server) {
  const auto connect = [&] {
    return redis::Connection::open(server.url(), std::chrono::seconds(120));
  };
  REQUIRE_FALSE(connect().call({"FLUSHALL"}).is_error());
  ldb::RedisDebugger debugger(
      debuggee, {.open_session = [&] { return ldb::Session(connect(), ldb::Mode::kSync, {}); },
                 .wants_stop = [] { return false; }});
  auto course = course_in(debugger);
  // Redis 6 compiles a script as the body of a function, and also stops at the function's `end`,
  // which it appends on a line of its own.
  const auto end = 2 + std::ranges::count(debuggee.source, '\n');
  std::erase(course.lines, std::to_string(end));
  return course;
}

}  // namespace

TEST_CASE("scripts do the same, line by line, in the engine's debugger and in Redis's") {
  const redis::PrivateServer server{};
  const bool is_model = [&] {
    auto connection = redis::Connection::open(server.url(), std::chrono::seconds(30));
    return support::is_model(connection);
  }();
  int count = 0, exact = 0;
  // No key expires while its script runs, whatever a script takes for its window.
  const std::pair<Texts, Texts> calls[] = {
      {{"k", "l"}, {"60000", "60000000", "60000", "60000", "60000", "60000"}},
      {{"k"}, {"60000", "60000000", "", "60000", "1767225600000000"}}};
  for (const auto& path : scripts()) {
    debugger::Debuggee debuggee{.name = path.filename(),
                                .source = read_all(open_file(path.string()))};
    if (debuggee.source.starts_with("#!")) continue;
    for (const auto& call : calls) {
      debuggee.keys = call.first;
      debuggee.arguments = call.second;
      // A loop of limits_moving.lua has as many rounds as this argument says, all of them alike.
      if (debuggee.name == "limits_moving.lua") debuggee.arguments[3] = "60";
      CAPTURE(path.string());
      CAPTURE(debuggee.keys.size());
      const auto engine = in_engine(debuggee), redis = in_redis(debuggee, server);
      CHECK(text_of(engine.lines) == text_of(redis.lines));
      ++count;
      if (engine.reads_clock || !is_model) continue;
      CHECK(text_of(engine.details) == text_of(redis.details));
      ++exact;
    }
  }
  CHECK(count > 270);
  CHECK((exact > 220 || !is_model));
}

}  // namespace debugger_lines_test
