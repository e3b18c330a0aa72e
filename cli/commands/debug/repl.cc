#include "cli/commands/debug/repl.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands/debug/command_lines.h"
#include "cli/commands/debug/stepper.h"
#include "cli/errors/failure.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;

class Repl {
 public:
  Repl(const Plan& plan, Invocation& invocation, const EngineKeys& keys)
      : invocation_(invocation),
        lines_(plan, invocation),
        stepper_(plan, keys,
                 {.wants_stop = [this] { return lines_.wants_stop(); },
                  .interrupt = &invocation.interrupt}),
        view_(invocation.out.buffer(), invocation.out.look(), stepper_.debuggee(), {}),
        commands_{.debugger = debugger_, .view = view_, .keys = stepper_.debuggee().keys} {}

  ExitStatus run() {
    lines_.open([this](std::string_view line) { return commands_.complete(line); });
    begin();
    invocation_.out.flush();
    if (debugger_.result().ending == Ending::kCompileError && !debugger_.running()) {
      return stepper_.status();
    }
    lines_.answer_all([this](const std::string& line) { return answer(line); });
    const auto of_commands = lines_.report_wrong();
    const auto of_script = stepper_.status();
    return of_script == ExitStatus::kDone ? of_commands : of_script;
  }

 private:
  void begin() {
    view_.halt(stepper_.begin(), debugger_.breakpoints());
    if (!debugger_.running()) show_end();
  }

  /// Restarts the script as its file is now, from the original state. If it does not compile,
  /// reports that, and nothing changes.
  void begin_again() {
    try {
      if (stepper_.reset()) {
        view_.read_source();
        view_.say(stepper_.debuggee().name + " has changed");
      }
    } catch (const UsageError& error) {
      return commands_.wrong(std::string("restart: ") + error.what());
    }
    begin();
    for (const int line : debugger_.drop_lost_breakpoints()) {
      view_.say(fmt::format("breakpoint at {} removed: nothing stops at this line now", line));
    }
  }

  CommandLines::Answer answer(const std::string& line) {
    const auto after = commands_.run(line);
    if (after == AfterCommand::kEnded) show_end();
    if (after == AfterCommand::kRestart) begin_again();
    if (after == AfterCommand::kAgain) begin();
    return {.was_wrong = commands_.was_wrong, .goes_on = after != AfterCommand::kQuit};
  }

  void show_end() {
    view_.result(debugger_.result());
    const auto end = stepper_.end(invocation_.out.look().utf8);
    if (!end.missing.empty()) view_.say(end.missing);
    for (const auto& line : end.keys) view_.say(line);
  }

  Invocation& invocation_;
  CommandLines lines_;
  Stepper stepper_;
  debugger::Debugger& debugger_ = stepper_.debugger();
  View view_;
  Commands commands_;
};

}  // namespace

ExitStatus run_by_hand(const Plan& plan, Invocation& invocation, const EngineKeys& keys) {
  return Repl(plan, invocation, keys).run();
}

}  // namespace rlctl::cli::debug
