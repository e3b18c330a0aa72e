// `rlctl debug --ldb`: a script in Redis's own debugger, as `redis-cli --ldb` runs it.
//
// A line goes from here to the table of commands (commands.cc), which moves or asks the debugger
// (src/ldb/redis_debugger.h) and writes its answers with LdbText. This file keeps what lasts longer
// than one run of the script: where it runs, its first state, and the breakpoints' debugger.
// Nothing is added to the script: what Redis's debugger does not tell is refused by name.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/ldb/commands.h"
#include "cli/commands/debug/ldb/text.h"
#include "cli/commands/debug/pieces.h"
#include "cli/commands/debug/place.h"
#include "cli/commands/debug/plan.h"
#include "cli/errors/failure.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"
#include "ldb/redis_debugger.h"
#include "lua/scopes.h"

namespace rlctl::cli::debug {
namespace {

using ldb::Ending;
using After = LdbCommands::After;

constexpr std::string_view kLdbPrompt = "debug> ";

class LdbRun {
 public:
  LdbRun(const Plan& plan, Invocation& invocation, Place& place)
      : plan_(plan),
        invocation_(invocation),
        place_(place),
        debuggee_(plan.debuggee),
        is_typed_(plan.reads_commands_from_input() && is_terminal(STDIN_FILENO)),
        debugger_([this] { return key_ && key_->pressed(); }),
        text_(invocation.out.buffer(), invocation.out.look(), debuggee_),
        commands_{.debugger = debugger_,
                  .text = text_,
                  .keys = debuggee_.keys,
                  .may_hang = plan.is_private()} {}

  ExitStatus run() {
    if (is_typed_) key_.emplace();
    const auto lines = open_lines();
    begin();
    invocation_.out.flush();
    if (!does_not_compile()) read_commands(*lines);
    const auto of_script = script_status();
    return of_script == ExitStatus::kDone ? commands_status() : of_script;
  }

 private:
  // ---- The script ----

  ldb::Session open_session() {
    ldb::Session::Limits limits;
    // A private server looks at its clock often, but not within one call of a function in C. The
    // time limit of another server is not known, and the user ends the wait.
    limits.run = plan_.is_private() ? limits.step : std::chrono::hours(24);
    return {place_.connect(), plan_.mode(), limits};
  }

  void require_whole_in_fork() const {
    if (plan_.mode() != ldb::Mode::kForked || !ldb::is_padded_in_fork(debuggee_)) return;
    throw UsageError(
        fmt::format("--attach: a fork of the server may lose parts of a script as long as {}, "
                    "which has {} bytes",
                    debuggee_.name, debuggee_.source.size()),
        "omit --attach to use a private server with the same keys, or add --sync");
  }

  void begin() {
    require_whole_in_fork();
    if (plan_.is_private()) {
      if (!first_state_) first_state_ = place_.keep();
      auto connection = place_.connect();
      key_watch_.emplace(connection, plan_, debuggee_.keys, plan_.now);
    }
    text_.pieces(debugger_.start(open_session(), debuggee_));
    if (debugger_.running()) return text_.stop(debugger_, true);
    const auto& session = debugger_.session();
    if (const auto problem = problem_of(session.ending(), session.reply(), session.why())) {
      throw ProblemError(*problem);
    }
    show_end();
  }

  /// Whether a script that is left now continues to its end in the server.
  bool runs_on_if_left() const { return plan_.sync && debugger_.running(); }

  void show_leaving() const {
    if (runs_on_if_left()) warn(kRunsOn, invocation_.command);
  }

  bool does_not_compile() const {
    return !debugger_.running() && debugger_.session().ending() == Ending::kCompileError;
  }

  /// Returns the script as its file is now. Throws UsageError if the file cannot be read.
  ldb::Debuggee read_script() const {
    auto debuggee = debuggee_;
    read_again(plan_, debuggee);
    // A script in the server itself leaves it no time for another question.
    if (runs_on_if_left() && !lua::find_scopes(debuggee.source)) {
      throw UsageError("the script does not compile");
    }
    return debuggee;
  }

  /// Throws UsageError if the script does not compile.
  static void require_compiles(redis::Connection& connection, const ldb::Debuggee& debuggee) {
    if (const auto error = ldb::find_compile_error(connection, debuggee)) {
      throw UsageError(fmt::format("does not compile, line {}: {}", error->line, error->message));
    }
  }

  void replace_script(ldb::Debuggee debuggee) {
    if (debuggee.source == debuggee_.source) return;
    debuggee_ = std::move(debuggee);
    text_.read_source();
    text_.say(debuggee_.name + " has changed");
    const auto breakpoints = debugger_.breakpoints();
    for (auto line = breakpoints.upper_bound(text_.line_count()); line != breakpoints.end();
         ++line) {
      debugger_.remove_breakpoint(*line);
      text_.say(
          fmt::format("breakpoint at {} removed: there are {} lines", *line, text_.line_count()));
    }
  }

  /// Runs the script as its file is now, on a private server from the original state. If the file
  /// does not compile, reports that, and nothing changes.
  void restart() {
    try {
      auto debuggee = read_script();
      if (!runs_on_if_left()) {
        place_.replace(
            first_state_.value_or(std::vector<stored::SavedKey>()),
            [&](redis::Connection& connection) { require_compiles(connection, debuggee); });
      }
      show_leaving();
      replace_script(std::move(debuggee));
      begin();
    } catch (const UsageError& error) {
      commands_.wrong(std::string("restart: ") + error.what());
    }
  }

  // ---- Its end ----

  void show_end() {
    text_.end(debugger_);
    const auto& session = debugger_.session();
    const auto ending = session.ending();
    if (const auto missing = missing_words(plan_, ending, session.reply()); !missing.empty()) {
      text_.say(missing);
    }
    if (ending == Ending::kCutOff || ending == Ending::kLost) {
      // A private server may never answer again.
      if (plan_.is_private()) place_.discard();
      text_.say("the session is over; 'restart' starts over");
    }
    if (ending == Ending::kCompileError || ending == Ending::kLost) return;
    if (!plan_.is_private()) return text_.say(kept_text(plan_.mode(), ending));
    if (place_.is_there()) show_keys();
  }

  void show_keys() {
    auto connection = place_.connect();
    bool has_changed = false;
    for (const auto& change : key_watch_->changes(connection)) {
      if (!change.changed) continue;
      has_changed = true;
      text_.say("  " + text_of(change, invocation_.out.look().utf8));
    }
    if (!has_changed) text_.say("no key was changed");
  }

  // ---- Commands ----

  std::unique_ptr<LineSource> open_lines() {
    const bool is_seen = is_typed_ && is_terminal(STDOUT_FILENO);
    if (is_seen && may_draw(STDOUT_FILENO)) {
      return typed_lines(
          std::string(kLdbPrompt), state_file("history"),
          [this](std::string_view line) { return commands_.complete(line); }, *key_,
          invocation_.interrupt);
    }
    return lines_of(plan_.commands, is_seen ? std::string(kLdbPrompt) : "", invocation_.interrupt);
  }

  void read_commands(LineSource& lines) {
    try {
      for (std::int64_t number = 1; auto line = lines.next(); ++number) {
        const bool goes_on = answer(*line);
        if (commands_.was_wrong && wrong_count_++ == 0) {
          first_wrong_ = number;
          wrong_line_ = *line;
        }
        if (!goes_on) break;
      }
    } catch (...) {
      show_leaving();
      throw;
    }
    show_leaving();
  }

  /// Runs one line of commands; returns false if it ends the session.
  bool answer(const std::string& line) {
    if (!key_) key_.emplace();
    auto& out = invocation_.out.buffer();
    const auto size_before = out.size();
    const auto after = commands_.run(line);
    // The terminal has shown ^C.
    if (is_typed_ && key_->pressed()) out.insert(size_before, "\n");
    if (after == After::kEnded) show_end();
    if (after == After::kRestart) restart();
    // The command that Ctrl-C was meant to stop has ended.
    is_typed_ ? key_->clear() : key_.reset();
    invocation_.out.flush();
    return after != After::kQuit;
  }

  // ---- The status ----

  /// How the last run ended; kDone if the user left it, or made it end.
  ExitStatus script_status() const {
    if (debugger_.running()) return ExitStatus::kDone;
    const auto& session = debugger_.session();
    return session.ending() == Ending::kAborted ? ExitStatus::kDone
                                                : status_of(session.ending(), session.reply());
  }

  /// Reports commands of a file or a pipe that failed: the user may not have seen their messages.
  ExitStatus commands_status() const {
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
  ldb::Debuggee debuggee_;
  bool is_typed_;
  std::optional<BreakKey> key_;
  ldb::RedisDebugger debugger_;
  LdbText text_;
  LdbCommands commands_;
  /// What restart() restores on a private server; not set before the first run.
  std::optional<std::vector<stored::SavedKey>> first_state_;
  std::optional<KeyWatch> key_watch_;
  std::int64_t wrong_count_ = 0;  ///< commands that failed
  std::int64_t first_wrong_ = 0;  ///< the line of the first command that failed
  std::string wrong_line_;
};

}  // namespace

ExitStatus run_ldb(const Plan& plan, Invocation& invocation, Place& place) {
  return LdbRun(plan, invocation, place).run();
}

}  // namespace rlctl::cli::debug
