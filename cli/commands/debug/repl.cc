#include "cli/commands/debug/repl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/debug/stepper.h"
#include "cli/errors/failure.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::debug {
namespace {

using ldb::Ending;

constexpr std::string_view kPrompt = "debug> ";

class Repl {
 public:
  Repl(const Plan& plan, Invocation& invocation, Place& place)
      : plan_(plan),
        invocation_(invocation),
        place_(place),
        is_typed_(plan.reads_commands_from_input() && is_terminal(STDIN_FILENO)),
        stepper_(plan, place, [this] { return key_ && key_->pressed(); }),
        view_(invocation.out.buffer(), invocation.out.look(), stepper_.debuggee(), {}),
        commands_{.debugger = debugger_,
                  .view = view_,
                  .keys = stepper_.debuggee().keys,
                  .call_afterwards = [this](const auto& words) {
                    return stepper_.call_afterwards(words);
                  }} {}

  ExitStatus run() {
    if (is_typed_) key_.emplace();
    const auto lines = open_lines();
    begin();
    invocation_.out.flush();
    if (debugger_.result().ending == Ending::kCompileError && !debugger_.running()) {
      return stepper_.status();
    }
    try {
      for (std::int64_t number = 1; auto line = lines->next(); ++number) {
        const bool goes_on = answer(*line);
        if (commands_.was_wrong && wrong_count_++ == 0) {
          first_wrong_ = number;
          wrong_line_ = *line;
        }
        if (!goes_on) break;
      }
    } catch (...) {
      if (stepper_.runs_on_if_left()) show_leaving();
      throw;
    }
    if (stepper_.runs_on_if_left()) show_leaving();
    const auto of_commands = status_of_commands();
    const auto of_script = stepper_.status();
    return of_script == ExitStatus::kDone ? of_commands : of_script;
  }

 private:
  std::unique_ptr<LineSource> open_lines() {
    const bool is_seen = is_typed_ && is_terminal(STDOUT_FILENO);
    if (is_seen && may_draw(STDOUT_FILENO)) {
      return typed_lines(
          std::string(kPrompt), state_file("history"),
          [this](std::string_view line) { return commands_.complete(line); }, *key_,
          invocation_.interrupt);
    }
    return lines_of(plan_.commands, is_seen ? std::string(kPrompt) : "", invocation_.interrupt);
  }

  void begin() {
    view_.halt(stepper_.begin(), debugger_.breakpoints());
    if (!debugger_.running()) show_end();
  }

  /// Restarts the script as its file is now, from the initial state if the server is private. If
  /// it does not compile, reports that, and nothing changes.
  void begin_again() {
    const bool runs_on = stepper_.runs_on_if_left();
    try {
      if (stepper_.reset()) {
        view_.read_source();
        view_.say(stepper_.debuggee().name + " has changed");
      }
    } catch (const UsageError& error) {
      return commands_.wrong(std::string("restart: ") + error.what());
    }
    if (runs_on) show_leaving();
    begin();
    for (const int line : debugger_.drop_lost_breakpoints()) {
      view_.say(fmt::format("breakpoint at {} removed: nothing stops at this line now", line));
    }
  }

  /// Runs one line of commands; returns false if it ends the session.
  bool answer(const std::string& line) {
    if (!key_) key_.emplace();
    auto& out = invocation_.out.buffer();
    const auto size_before = out.size();
    const auto after = commands_.run(line);
    // The terminal has shown ^C.
    if (is_typed_ && key_->pressed()) out.insert(size_before, "\n");
    if (after == AfterCommand::kEnded) show_end();
    if (after == AfterCommand::kRestart) begin_again();
    if (after == AfterCommand::kAgain && place_.is_there()) {
      begin();
    } else if (after == AfterCommand::kAgain) {
      commands_.wrong("again: the server is gone, with its state; 'restart' starts over");
    }
    // The command that Ctrl-C was meant to stop has ended.
    is_typed_ ? key_->clear() : key_.reset();
    invocation_.out.flush();
    return after != AfterCommand::kQuit;
  }

  void show_end() {
    view_.result(debugger_.result());
    const auto end = stepper_.end(invocation_.out.look().utf8);
    if (!end.missing.empty()) view_.say(end.missing);
    for (const auto& line : end.keys) view_.say(line);
    if (end.is_over) view_.say("the session is over; 'restart' starts over");
  }

  /// Reports what happens to a script that is left before its end.
  void show_leaving() const { warn(kRunsOn, invocation_.command); }

  /// Reports commands of a file or a pipe that failed: the user may not have seen their messages.
  ExitStatus status_of_commands() const {
    if (is_typed_ || wrong_count_ == 0) return ExitStatus::kDone;
    const auto file = plan_.reads_commands_from_input() ? "" : " of " + plan_.commands;
    warn(fmt::format("{} of the commands failed; the first is line {}{}: {}", wrong_count_,
                     first_wrong_, file, quoted_and_masked(wrong_line_)),
         invocation_.command);
    return ExitStatus::kUsage;
  }

  const Plan& plan_;
  Invocation& invocation_;
  Place& place_;
  bool is_typed_;
  std::optional<BreakKey> key_;
  Stepper stepper_;
  ldb::Debugger& debugger_ = stepper_.debugger();
  View view_;
  Commands commands_;
  std::int64_t wrong_count_ = 0;  ///< commands that failed
  std::int64_t first_wrong_ = 0;  ///< the line of the first command that failed
  std::string wrong_line_;
};

}  // namespace

ExitStatus run_by_hand(const Plan& plan, Invocation& invocation, Place& place) {
  return Repl(plan, invocation, place).run();
}

}  // namespace rlctl::cli::debug
