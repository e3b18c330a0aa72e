// A trace ends whatever the server answers, with no exception but an Error of the connection, and
// with lines and messages that are the script's.
#include <memory>

#include "base/error.h"
#include "ldb/debugger.h"
#include "ldb/session.h"
#include "ldb/trace.h"
#include "lua/lexer.h"
#include "night/fuzz/replies.h"
#include "redis/connection.h"

namespace fuzz::ldb_trace {

using namespace rlctl::ldb;

const Debuggee kDebuggee{.name = "script.lua",
                         .source =
                             "local a = redis.call('GET', KEYS[1])\n"
                             "if a then\n"
                             "  a = a + ARGV[1]\n"
                             "end\n"
                             "redis.call('SET', KEYS[1], a or 1)\n"
                             "return a\n",
                         .keys = {"k"},
                         .arguments = {"1"}};

void require_shown(const TraceResult& result) {
  const auto lines = static_cast<int>(rlctl::lua::source_lines(kDebuggee.source).size());
  require(!has_control(result.message), "a message has no control bytes", result.message);
  for (const auto& [line, hits] : result.hits) {
    require(line >= 1 && line <= lines && hits >= 1, "a line is the script's");
  }
}

// A digit for what is done, and the server's bytes, for one connection after the other.
void test(std::string_view input) {
  Parts parts(input);
  const auto what = parts.choice(3);
  std::string_view bytes = parts.rest();
  int connections = 0;
  const auto connect = [&] {
    // Each further attempt begins at a later byte.
    const auto from =
        std::min<std::size_t>(bytes.size(), 16 * static_cast<std::size_t>(connections++));
    return rlctl::redis::Connection(
        std::make_unique<FixedServer>(bytes.substr(from), bytes.size() + 1), std::chrono::hours{1});
  };
  const auto mode = what % 2 == 0 ? Mode::kForked : Mode::kSync;
  try {
    if (what < 2) {
      std::int64_t last = 0;
      require_shown(trace(kDebuggee, mode, connect, {.max_steps = 50}, [&](const TracedLine& line) {
        require(line.number > last, "lines are numbered in order");
        last = line.number;
      }));
      return;
    }
    Debugger debugger(kDebuggee, mode, connect, {});
    auto halt = debugger.start();
    if (debugger.running()) (void)debugger.print("a");
    if (debugger.running()) (void)debugger.evaluate("KEYS[1] .. a");
    if (debugger.running()) (void)debugger.backtrace();
    if (debugger.running()) (void)debugger.call({"GET", "k"});
    if (debugger.running()) halt = debugger.next();
    if (debugger.running()) (void)debugger.add_watch("a");
    for (int i = 0; i < 20 && debugger.running(); ++i) halt = debugger.step();
    if (debugger.running()) halt = debugger.go_on();
    if (!debugger.running()) require_shown(debugger.result());
  } catch (const rlctl::redis::Error& error) {
    require(!has_control(error.what()), "a message has no control bytes", error.what());
  } catch (const rlctl::UsageError& error) {
    require(*error.what() != '\0', "an error has a message");
  }
}

const Target kTarget("ldb_trace", test);

}  // namespace fuzz::ldb_trace
