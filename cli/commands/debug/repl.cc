#include "cli/commands/debug/repl.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "cli/commands/debug/command_lines.h"
#include "cli/commands/debug/redis_stepper.h"
#include "cli/commands/debug/stepper.h"
#include "cli/errors/failure.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;

using MakeStepper = std::function<std::unique_ptr<Stepper>(std::function<bool()> wants_stop)>;

class Repl {
 public:
  Repl(const Plan& plan, Invocation& invocation, const MakeStepper& make_stepper)
      : invocation_(invocation),
        lines_(plan, invocation),
        stepper_(make_stepper([this] { return lines_.wants_stop(); })),
        view_(invocation.out.buffer(), invocation.out.look(), stepper_->debuggee(), {}),
        commands_{.debugger = debugger_,
                  .engine = dynamic_cast<debugger::EngineDebugger*>(&debugger_),
                  .view = view_,
                  .keys = stepper_->debuggee().keys} {}

  ExitStatus run() {
    lines_.open([this](std::string_view line) { return commands_.complete(line); });
    begin();
    invocation_.out.flush();
    if (debugger_.result().ending == Ending::kCompileError && !debugger_.running()) {
      return stepper_->status();
    }
    lines_.answer_all([this](const std::string& line) { return answer(line); });
    const auto of_commands = lines_.report_wrong();
    const auto of_script = stepper_->status();
    return of_script == ExitStatus::kDone ? of_commands : of_script;
  }

 private:
  void begin() {
    view_.halt(stepper_->begin(), debugger_.breakpoints());
    if (!debugger_.running()) show_end();
  }

  /// Runs the script again, from the original state and as its file is now if it `is_restart`. If
  /// that cannot be done, reports why, and nothing changes.
  void begin_again(bool is_restart) {
    try {
      if (is_restart && stepper_->reset()) {
        view_.read_source();
        view_.say(stepper_->debuggee().name + " has changed");
        for (const int line : debugger_.drop_lost_breakpoints()) {
          view_.say(fmt::format("breakpoint at {} removed: nothing stops at this line now", line));
        }
      }
      begin();
    } catch (const UsageError& error) {
      commands_.wrong(fmt::format("{}: {}", is_restart ? "restart" : "again", error.what()));
    }
  }

  CommandLines::Answer answer(const std::string& line) {
    const auto after = commands_.run(line);
    if (after == AfterCommand::kEnded) show_end();
    if (after == AfterCommand::kRestart) begin_again(true);
    if (after == AfterCommand::kAgain) begin_again(false);
    return {.was_wrong = commands_.was_wrong, .goes_on = after != AfterCommand::kQuit};
  }

  void show_end() {
    view_.result(debugger_.result());
    for (const auto& line : stepper_->end(invocation_.out.look().utf8)) view_.say(line);
  }

  Invocation& invocation_;
  CommandLines lines_;
  std::unique_ptr<Stepper> stepper_;
  debugger::Debugger& debugger_ = stepper_->debugger();
  View view_;
  Commands commands_;
};

}  // namespace

ExitStatus run_by_hand(const Plan& plan, Invocation& invocation, const EngineKeys& keys) {
  return Repl(plan, invocation,
              [&](std::function<bool()> wants_stop) {
                return std::make_unique<EngineStepper>(
                    plan, keys,
                    debugger::EngineDebugger::Options{.wants_stop = std::move(wants_stop),
                                                      .interrupt = &invocation.interrupt});
              })
      .run();
}

ExitStatus run_ldb(const Plan& plan, Invocation& invocation) {
  return Repl(plan, invocation,
              [&](std::function<bool()> wants_stop) {
                return std::make_unique<RedisStepper>(plan, invocation, std::move(wants_stop));
              })
      .run();
}

}  // namespace rlctl::cli::debug
