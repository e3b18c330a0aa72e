#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ldb/debugger.h"
#include "redis/connection.h"
#include "redis/server.h"

namespace rlctl::test {

/// A script in a debugger on its own server, which interrupts long-running scripts as soon as
/// rlctl's own do.
class DebuggerBench {
 public:
  explicit DebuggerBench(std::string source, ldb::Mode mode = ldb::Mode::kSync,
                         std::chrono::microseconds evaluation = std::chrono::seconds(120),
                         bool stops_at_errors = false)
      : debuggee_{.name = "test.lua",
                  .source = std::move(source),
                  .keys = {"k", "l"},
                  .arguments = {"3", "x"}} {
    debugger.emplace(
        debuggee_, mode, [this] { return connect(); },
        ldb::Debugger::Options{
            .may_hang = true,
            .stops_at_errors = stops_at_errors,
            .wants_stop = [this] { return --polls_ <= 0; },
            .limits = {.step = std::chrono::seconds(120), .run = std::chrono::seconds(120)},
            .evaluation = evaluation});
    halt = debugger->start();
  }

  redis::Connection connect() const {
    return redis::Connection::open(server_.url(), std::chrono::seconds(120));
  }
  ldb::Debugger* operator->() { return &*debugger; }
  /// The number of polls after which the user's request to stop is reported.
  void stop_after(std::int64_t polls) { polls_ = polls; }
  /// Goes on with one more breakpoint.
  ldb::Halt run_to(ldb::Breakpoint breakpoint) {
    debugger->add_breakpoint(std::move(breakpoint));
    return debugger->go_on();
  }
  /// The values, as in "1 2.5", or the error.
  std::string eval(const std::string& code) { return text_of(debugger->evaluate(code)); }
  std::string print(const std::string& expression) { return text_of(debugger->print(expression)); }
  static std::string text_of(const ldb::Evaluation& evaluation) {
    if (evaluation.outcome != ldb::Evaluation::Outcome::kValues) return "! " + evaluation.message;
    std::string text;
    for (const auto& value : evaluation.values) {
      text += (text.empty() ? "" : " ") + ldb::text_of(value);
    }
    return text;
  }
  /// "a=1 b=nil"
  static std::string text_of(const std::vector<ldb::LocalValue>& locals) {
    std::string text;
    for (const auto& [local, value] : locals) {
      text += (text.empty() ? "" : " ") + local.name + "=" + ldb::text_of(value);
    }
    return text;
  }

 private:
  redis::PrivateServer server_{{.arguments = {"--lua-time-limit", "10"}}};
  ldb::Debuggee debuggee_;
  std::int64_t polls_ = INT64_MAX;

 public:
  std::optional<ldb::Debugger> debugger;
  ldb::Halt halt;
};

inline constexpr const char* kLoopScript =
    "local count = 0\n"                // 1
    "local t = {a = {10, 20}}\n"       // 2
    "for i = 1, 5 do\n"                // 3
    "  count = count + i\n"            // 4
    "  redis.call('INCR', KEYS[1])\n"  // 5
    "end\n"                            // 6
    "\n"                               // 7
    "return count\n";                  // 8

/// What a debugger says of a mistake.
template <typename Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace rlctl::test
