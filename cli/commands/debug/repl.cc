#include "cli/commands/debug/repl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/debug/redis_stepper.h"
#include "cli/commands/debug/stepper.h"
#include "cli/errors/failure.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;

using MakeStepper = std::function<std::unique_ptr<Stepper>(std::function<bool()> wants_stop)>;

/// The loop: a line is read from the terminal after a prompt, from the plan's file or from standard
/// input, and answered before the next.
class Repl {
 public:
  Repl(const Plan& plan, Invocation& invocation, const MakeStepper& make_stepper)
      : plan_(plan),
        invocation_(invocation),
        is_typed_(plan.reads_commands_from_input() && is_terminal(STDIN_FILENO)),
        stepper_(make_stepper([this] { return key_ && key_->pressed(); })),
        view_(invocation.out.buffer(), invocation.out.look(), stepper_->debuggee(), {}),
        commands_{.debugger = debugger_,
                  .engine = dynamic_cast<debugger::EngineDebugger*>(&debugger_),
                  .view = view_,
                  .keys = stepper_->debuggee().keys} {}

  ExitStatus run() {
    open();
    begin();
    invocation_.out.flush();
    if (debugger_.result().ending == Ending::kCompileError && !debugger_.running()) {
      return stepper_->status();
    }
    for (bool goes_on = true; goes_on;) {
      const auto line = lines_->next();
      if (!line) break;
      ++number_;
      goes_on = answer(*line);
    }
    const auto of_commands = report_wrong();
    const auto of_script = stepper_->status();
    return of_script == ExitStatus::kDone ? of_commands : of_script;
  }

 private:
  // ---- Lines ----

  void open() {
    constexpr auto kPrompt = "debug> ";
    if (is_typed_) key_.emplace();
    const bool is_seen = is_typed_ && is_terminal(STDOUT_FILENO);
    if (is_seen && may_draw(STDOUT_FILENO)) {
      const auto complete = [this](std::string_view line) { return commands_.complete(line); };
      lines_ = typed_lines(kPrompt, state_file("history"), complete, *key_, invocation_.interrupt);
    } else {
      lines_ = lines_of(plan_.commands, is_seen ? kPrompt : "", invocation_.interrupt);
    }
  }

  /// Returns whether to read the next line.
  bool answer(const std::string& line) {
    if (!key_) key_.emplace();
    auto& out = invocation_.out.buffer();
    const auto size_before = out.size();
    const auto after = commands_.run(line);
    if (after == AfterCommand::kEnded) show_end();
    if (after == AfterCommand::kRestart) begin_again(true);
    if (after == AfterCommand::kAgain) begin_again(false);
    // The terminal has shown ^C.
    if (is_typed_ && key_->pressed()) out.insert(size_before, "\n");
    // The command that Ctrl-C was meant to stop has ended.
    is_typed_ ? key_->clear() : key_.reset();
    invocation_.out.flush();
    if (commands_.was_wrong && wrong_count_++ == 0) {
      first_wrong_ = number_;
      wrong_line_ = line;
    }
    return after != AfterCommand::kQuit;
  }

  /// Reports commands that failed on stderr, unless they were typed: the user may not have seen
  /// their messages. Returns kUsage if there are any, else kDone.
  ExitStatus report_wrong() const {
    if (is_typed_ || wrong_count_ == 0) return ExitStatus::kDone;
    constexpr std::size_t kMostShown = 80;
    const auto file = plan_.reads_commands_from_input() ? "" : " of " + plan_.commands;
    warn(fmt::format("{} of the commands failed; the first is line {}{}: {}", wrong_count_,
                     first_wrong_, file,
                     quoted_and_masked(std::string_view(wrong_line_).substr(0, kMostShown))),
         invocation_.command);
    return ExitStatus::kUsage;
  }

  // ---- Runs ----

  void begin() {
    view_.halt(stepper_->begin(), debugger_.breakpoints());
    if (!debugger_.running()) show_end();
  }

  /// Runs the script again; a restart, as its file is now and from the original state. Reports why
  /// if that cannot be done.
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

  void show_end() {
    view_.result(debugger_.result());
    for (const auto& line : stepper_->end(invocation_.out.look().utf8)) view_.say(line);
  }

  const Plan& plan_;
  Invocation& invocation_;
  const bool is_typed_;
  std::optional<BreakKey> key_;
  std::unique_ptr<LineSource> lines_;
  std::unique_ptr<Stepper> stepper_;
  debugger::Debugger& debugger_ = stepper_->debugger();
  View view_;
  Commands commands_;
  std::int64_t number_ = 0;       ///< the number of the current line
  std::int64_t wrong_count_ = 0;  ///< commands that failed
  std::int64_t first_wrong_ = 0;  ///< the line of the first command that failed
  std::string wrong_line_;
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
