// needs: server
// The engine's debugger stops at the lines at which Redis's own does, and sees the same calls.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/time.h"
#include "debugger/run.h"
#include "ldb/redis_debugger.h"
#include "redis/connection.h"
#include "redis/server.h"

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

/// What a script did, a text for each line and each call, and one for its reply.
Texts in_engine(const debugger::Debuggee& debuggee) {
  keyspace::Keyspace keys(system_time());
  Texts texts;
  const auto result =
      debugger::trace(debuggee, keys, nullptr, 1000, [&](const debugger::TracedLine& line) {
        const auto number = std::to_string(line.line);
        if (texts.empty() || texts.back() != number) texts.push_back(number);
        for (const auto& call : line.calls) texts.push_back(call.words.front());
      });
  texts.push_back(result.reply && !result.reply->is_error() ? "returned" : "error");
  return texts;
}

/// Redis's debugger stops at a line again while a function in C runs, and tells calls of which the
/// words are wrong.
Texts in_redis(const debugger::Debuggee& debuggee, const redis::PrivateServer& server) {
  const auto connect = [&] {
    return redis::Connection::open(server.url(), std::chrono::seconds(120));
  };
  REQUIRE_FALSE(connect().call({"FLUSHALL"}).is_error());
  ldb::RedisDebugger debugger([] { return false; });
  Texts texts;
  auto pieces = debugger.start(ldb::Session(connect(), ldb::Mode::kSync, {}), debuggee);
  while (debugger.running()) {
    const auto number = std::to_string(debugger.stop().line);
    if (texts.empty() || texts.back() != number) texts.push_back(number);
    for (const auto& piece : debugger.step()) {
      if (piece.kind != ldb::Printed::Kind::kCall) continue;
      texts.push_back(piece.text.substr(0, piece.text.find(' ')));
    }
  }
  const auto& session = debugger.session();
  const bool returned =
      session.ending() == debugger::Ending::kReturned && !session.reply()->is_error();
  texts.push_back(returned ? "returned" : "error");
  return texts;
}

}  // namespace

TEST_CASE("scripts stop at the same lines, and call the same commands, as in Redis's debugger") {
  const redis::PrivateServer server{};
  int count = 0;
  for (const auto& path : scripts()) {
    debugger::Debuggee debuggee{.name = path.filename(),
                                .source = read_all(open_file(path.string())),
                                .keys = {"k", "l"},
                                .arguments = {"5", "60000000", "1", "1", "1", "1"}};
    if (debuggee.source.starts_with("#!")) continue;
    CAPTURE(path.string());
    const auto engine = in_engine(debuggee);
    CHECK(engine == in_redis(debuggee, server));
    ++count;
  }
  CHECK(count > 20);
}

}  // namespace debugger_lines_test
