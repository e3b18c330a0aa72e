#include "cli/commands/debug/repl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/debug/keys.h"
#include "cli/errors/failure.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"
#include "lua/scopes.h"
#include "lua/substitute.h"
#include "redis/error.h"
#include "traffic/script.h"

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
        debuggee_(plan.debuggee),
        stops_clock_(plan.freezes_time() || !plan.now),
        // On a private server, a restarted run has the same result.
        now_(plan.now || !plan.is_private() ? plan.now : system_time()),
        is_typed_(plan.reads_commands_from_input() && is_terminal(STDIN_FILENO)),
        debugger_(
            debuggee_, plan.mode(), [this] { return place_.connect(); }, debugger_options()),
        view_(invocation.out.buffer(), invocation.out.look(), debuggee_,
              {.maxlen = plan.maxlen.value_or(ViewOptions().maxlen)}),
        commands_{.debugger = debugger_,
                  .view = view_,
                  .keys = debuggee_.keys,
                  .call_afterwards = [this](const auto& words) { return call_afterwards(words); }} {
  }

  ExitStatus run() {
    if (is_typed_) key_.emplace();
    const auto lines = open_lines();
    if (plan_.is_private()) first_state_ = place_.keep();
    begin();
    invocation_.out.flush();
    if (debugger_.result().ending == Ending::kCompileError && !debugger_.running()) return status();
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
      show_leaving();
      throw;
    }
    show_leaving();
    const auto of_commands = status_of_commands();
    const auto of_script = status();
    return of_script == ExitStatus::kDone ? of_commands : of_script;
  }

 private:
  ldb::Debugger::Options debugger_options() {
    ldb::Debugger::Options options;
    if (stops_clock_) options.now = now_;
    options.may_hang = plan_.is_private();
    options.wants_stop = [this] { return key_ && key_->pressed(); };
    // The time limit of another server is not known, and Ctrl-C ends the wait.
    if (!plan_.is_private()) options.limits.run = std::chrono::hours(24);
    return options;
  }

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
    if (plan_.is_private()) {
      auto connection = place_.connect();
      key_watch_.emplace(connection, plan_, debuggee_.keys, now_);
    }
    view_.halt(debugger_.start(), debugger_.breakpoints());
    if (debugger_.running()) return;
    if (const auto problem = problem_of(debugger_.result())) throw ProblemError(*problem);
    show_end();
  }

  /// Restarts the script as its file is now, from the initial state if the server is private. If
  /// it does not compile, reports that, and nothing changes.
  void begin_again() {
    auto debuggee = debuggee_;
    try {
      read_again(plan_, debuggee);
      // A script in the server itself leaves it no time for others.
      if (plan_.sync && debugger_.running()) {
        if (!lua::find_scopes(debuggee.source)) throw UsageError("the script does not compile");
      } else {
        place_.replace(first_state_, [&](redis::Connection& connection) {
          require_compiles(connection, debuggee);
        });
      }
    } catch (const UsageError& error) {
      return commands_.wrong(std::string("restart: ") + error.what());
    }
    show_leaving();
    debugger_.leave();
    if (debuggee.source != debuggee_.source) {
      debugger_.forget_source();
      debuggee_ = std::move(debuggee);
      view_.read_source();
      view_.say(debuggee_.name + " has changed");
    }
    begin();
    for (const int line : debugger_.drop_lost_breakpoints()) {
      view_.say(fmt::format("breakpoint at {} removed: nothing stops at this line now", line));
    }
  }

  /// Throws UsageError if the script does not compile. May change the source into a form that the
  /// server accepts.
  static void require_compiles(redis::Connection& connection, ldb::Debuggee& debuggee) {
    if (lua::read_shebang(debuggee.source)) {
      try {
        debuggee.source = traffic::load_accepted(connection, debuggee.source, debuggee.name).source;
      } catch (const redis::Error&) {
        // find_compile_error() tells the reason.
      }
    }
    const auto error = ldb::find_compile_error(connection, debuggee);
    if (!error) return;
    throw UsageError(fmt::format("does not compile, line {}: {}", error->line, error->message));
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
    const auto& result = debugger_.result();
    view_.result(result);
    if (const auto missing = missing_words(plan_, result); !missing.empty()) view_.say(missing);
    if (result.ending == Ending::kCutOff || result.ending == Ending::kLost) {
      // A private server may never answer again.
      if (plan_.is_private()) place_.discard();
      view_.say("the session is over; 'restart' starts over");
      return;
    }
    if (result.ending != Ending::kCompileError) show_keys();
  }

  /// Shows which keys changed, if that can be known.
  void show_keys() {
    if (!plan_.is_private()) {
      view_.say(kept_text(plan_.mode(), debugger_.result().ending));
      return;
    }
    auto connection = place_.connect();
    bool changed = false;
    const bool utf8 = invocation_.out.look().utf8;
    for (const auto& change : key_watch_->changes(connection)) {
      if (change.changed) view_.say("  " + text_of(change, utf8));
      changed = changed || change.changed;
    }
    if (!changed) view_.say("no key was changed");
  }

  /// Calls Redis after the end of the script; none if no server keeps the state that it left.
  std::optional<ldb::Call> call_afterwards(const std::vector<std::string>& words) {
    if (!plan_.is_private() || !place_.is_there()) return std::nullopt;
    auto connection = place_.connect();
    connection.set_timeout(std::chrono::seconds(2));
    const std::vector<std::string_view> views(words.begin(), words.end());
    try {
      return ldb::call_of(words, connection.call(views));
    } catch (const redis::Error& error) {
      return ldb::Call{.words = words, .error = error.what()};
    }
  }

  /// Reports what happens to a script that is left before its end.
  void show_leaving() {
    if (!plan_.sync || !debugger_.running()) return;
    warn("the script continues to its end in the server, and what it writes is kept",
         invocation_.command);
  }

  /// Reports commands of a file or a pipe that failed: the user may not have seen their messages.
  ExitStatus status_of_commands() const {
    if (is_typed_ || wrong_count_ == 0) return ExitStatus::kDone;
    const auto file = plan_.reads_commands_from_input() ? "" : " of " + plan_.commands;
    warn(fmt::format("{} of the commands failed; the first is line {}{}: {}", wrong_count_,
                     first_wrong_, file, quoted_and_masked(wrong_line_)),
         invocation_.command);
    return ExitStatus::kUsage;
  }

  ExitStatus status() const {
    if (debugger_.running()) return ExitStatus::kDone;
    const auto& result = debugger_.result();
    return result.ending == Ending::kAborted ? ExitStatus::kDone : status_of(result);
  }

  const Plan& plan_;
  Invocation& invocation_;
  Place& place_;
  ldb::Debuggee debuggee_;
  bool stops_clock_;  ///< TIME replies `now_`, not only the script's arguments
  std::optional<std::chrono::microseconds> now_;
  bool is_typed_;
  std::optional<BreakKey> key_;
  ldb::Debugger debugger_;
  View view_;
  Commands commands_;
  std::vector<stored::SavedKey> first_state_;  ///< what `restart` restores on a private server
  std::optional<KeyWatch> key_watch_;
  std::int64_t wrong_count_ = 0;  ///< commands that failed
  std::int64_t first_wrong_ = 0;  ///< the line of the first command that failed
  std::string wrong_line_;
};

}  // namespace

ExitStatus run_by_hand(const Plan& plan, Invocation& invocation, Place& place) {
  return Repl(plan, invocation, place).run();
}

}  // namespace rlctl::cli::debug
