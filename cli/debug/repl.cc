#include "cli/debug/repl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/debug/commands.h"
#include "cli/debug/keys.h"
#include "cli/debug/view.h"
#include "cli/failure.h"
#include "cli/term/line_editor.h"
#include "cli/term/signals.h"
#include "cli/term/terminal.h"
#include "ldb/debugger.h"
#include "ldb/walk.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

using ldb::Ending;

constexpr std::string_view kPrompt = "debug> ";

class Repl {
 public:
  Repl(const DebugPlan& plan, Invocation& invocation, DebugPlace& place,
       const ldb::Debuggee& debuggee, std::optional<std::chrono::microseconds> now);

  [[nodiscard]] ExitStatus run();

 private:
  [[nodiscard]] ldb::Debugger::Options debugger_options();
  [[nodiscard]] std::unique_ptr<LineSource> open_lines();
  void begin();
  void begin_again();
  [[nodiscard]] bool answer(const std::string& line);
  void show_end();
  void show_keys();
  [[nodiscard]] std::optional<ldb::Call> call_afterwards(const std::vector<std::string>& words);
  void show_leaving();
  [[nodiscard]] ExitStatus status_of_commands() const;
  [[nodiscard]] ExitStatus status() const;

  const DebugPlan& plan_;
  Invocation& invocation_;
  DebugPlace& place_;
  const ldb::Debuggee& debuggee_;
  bool stops_clock_;  ///< TIME answers `now_`, and not the script's arguments alone
  std::optional<std::chrono::microseconds> now_;
  bool is_typed_;
  std::optional<BreakKey> key_;
  ldb::Debugger debugger_;
  DebugView view_;
  DebugCommands commands_;
  std::vector<redis::DumpedKey> first_state_;  ///< of a private server
  std::optional<KeyWatch> key_watch_;
  std::int64_t wrong_count_ = 0;  ///< commands that could not be done
  std::int64_t first_wrong_ = 0;  ///< the line of the first of them
  std::string wrong_line_;
};

bool reads_terminal(const DebugPlan& plan) {
  const bool is_input = plan.commands.empty() || plan.commands == "-";
  return is_input && is_terminal(STDIN_FILENO);
}

/// What the script takes for the time. Where nobody said, and the server is ours, it is that of the
/// beginning, so that a run that begins again comes to the same.
std::optional<std::chrono::microseconds> clock_of(
    const DebugPlace& place, const std::optional<std::chrono::microseconds>& now) {
  return now || !place.is_private() ? now : system_time();
}

/// Without a deadline of ours where we do not know the server's: Ctrl-C ends it.
ldb::Session::Limits limits_at(const DebugPlace& place) {
  ldb::Session::Limits limits;
  if (!place.is_private()) limits.run = std::chrono::hours(24);
  return limits;
}

Repl::Repl(const DebugPlan& plan, Invocation& invocation, DebugPlace& place,
           const ldb::Debuggee& debuggee, std::optional<std::chrono::microseconds> now)
    : plan_(plan),
      invocation_(invocation),
      place_(place),
      debuggee_(debuggee),
      stops_clock_(freezes_time(plan) || !now),
      now_(clock_of(place, now)),
      is_typed_(reads_terminal(plan)),
      debugger_(
          debuggee, place.mode(), [this] { return place_.connect(); }, debugger_options()),
      view_(invocation.out.buffer(), look_of(invocation.out.fd()), debuggee),
      commands_(debugger_, view_, debuggee.keys,
                [this](const auto& words) { return call_afterwards(words); }) {}

ldb::Debugger::Options Repl::debugger_options() {
  ldb::Debugger::Options options;
  if (stops_clock_) options.now = now_;
  options.may_hang = place_.is_private();
  options.wants_stop = [this] { return key_ && key_->pressed(); };
  options.limits = limits_at(place_);
  return options;
}

std::unique_ptr<LineSource> Repl::open_lines() {
  const auto file = plan_.commands.empty() ? "-" : plan_.commands;
  const bool is_seen = is_typed_ && is_terminal(STDOUT_FILENO);
  if (is_seen && may_draw(STDOUT_FILENO)) {
    return typed_lines(
        std::string(kPrompt), state_file("history"),
        [this](std::string_view line) { return commands_.complete(line); }, *key_,
        invocation_.interrupt);
  }
  return lines_of(file, is_seen ? std::string(kPrompt) : "", invocation_.interrupt);
}

// ---- A run ----

void Repl::begin() {
  if (place_.is_private()) {
    auto connection = place_.connect();
    key_watch_.emplace(connection, plan_, debuggee_.keys, now_);
  }
  view_.halt(debugger_.start(), debugger_.breakpoints());
  if (debugger_.running()) return;
  if (const auto problem = problem_of(debugger_.result())) throw ProblemError(*problem);
  show_end();
}

/// From the state of the first time, where that is ours to make.
void Repl::begin_again() {
  show_leaving();
  debugger_.leave();
  key_watch_.reset();
  place_.replace(first_state_);
  begin();
}

/// Which keys were changed, where that can be known.
void Repl::show_keys() {
  if (!place_.is_private()) {
    view_.say(kept_text(place_.mode(), debugger_.result().ending));
    return;
  }
  auto connection = place_.connect();
  bool changed = false;
  const bool utf8 = look_of(invocation_.out.fd()).utf8;
  for (const auto& change : key_watch_->changes(connection)) {
    if (change.changed) view_.say("  " + text_of(change, utf8));
    changed = changed || change.changed;
  }
  if (!changed) view_.say("no key was changed");
}

/// Where the keys are as the script left them.
std::optional<ldb::Call> Repl::call_afterwards(const std::vector<std::string>& words) {
  if (!place_.is_private() || !place_.is_there()) return std::nullopt;
  auto connection = place_.connect();
  connection.set_timeout(std::chrono::seconds(2));
  const std::vector<std::string_view> views(words.begin(), words.end());
  try {
    return ldb::call_of(words, connection.call(views));
  } catch (const redis::Error& error) {
    return ldb::Call{.words = words, .error = error.what()};
  }
}

void Repl::show_end() {
  const auto& result = debugger_.result();
  view_.result(result);
  if (result.ending == Ending::kCutOff || result.ending == Ending::kLost) {
    // A server of ours may never answer again.
    if (place_.is_private()) place_.discard();
    view_.say("the session is over; 'restart' begins again");
    return;
  }
  if (result.ending != Ending::kCompileError) show_keys();
}

/// What a file of commands, or a pipe, had in it that could not be done: nobody may have looked.
ExitStatus Repl::status_of_commands() const {
  if (is_typed_ || wrong_count_ == 0) return ExitStatus::kDone;
  const auto file = plan_.commands.empty() || plan_.commands == "-" ? "" : " of " + plan_.commands;
  warn(fmt::format("{} of the commands could not be done; the first is line {}{}: {}", wrong_count_,
                   first_wrong_, file, in_quotes(wrong_line_)),
       invocation_.command);
  return ExitStatus::kUsage;
}

/// What becomes of a script that is left before its end.
void Repl::show_leaving() {
  if (place_.is_private() || place_.mode() != ldb::Mode::kSync || !debugger_.running()) return;
  warn("the script runs on to its end in the server, and what it writes is kept",
       invocation_.command);
}

ExitStatus Repl::status() const {
  if (debugger_.running()) return ExitStatus::kDone;
  const auto& result = debugger_.result();
  return result.ending == Ending::kAborted ? ExitStatus::kDone : status_of(result);
}

// ---- Commands ----

/// False where there are to be no more.
bool Repl::answer(const std::string& line) {
  if (!key_) key_.emplace();
  auto& out = invocation_.out.buffer();
  const auto begin = out.size();
  const auto after = commands_.run(line);
  // The terminal has shown ^C.
  if (is_typed_ && key_->pressed()) out.insert(begin, "\n");
  if (after == AfterCommand::kEnded) show_end();
  if (after == AfterCommand::kRestart) begin_again();
  // Whatever it was to stop does not run any more.
  if (is_typed_) {
    key_->clear();
  } else {
    key_.reset();
  }
  invocation_.out.flush();
  return after != AfterCommand::kQuit;
}

ExitStatus Repl::run() {
  if (is_typed_) key_.emplace();
  const auto lines = open_lines();
  if (place_.is_private()) first_state_ = place_.keep();
  begin();
  invocation_.out.flush();
  if (debugger_.result().ending == Ending::kCompileError && !debugger_.running()) return status();
  try {
    for (std::int64_t number = 1; auto line = lines->next(); ++number) {
      const bool goes_on = answer(*line);
      if (commands_.was_wrong() && wrong_count_++ == 0) {
        first_wrong_ = number;
        wrong_line_ = *line;
      }
      if (!goes_on) break;
    }
  } catch (const redis::Error&) {
    show_leaving();
    throw;
  } catch (const Interrupted&) {
    show_leaving();
    throw;
  }
  show_leaving();
  const auto of_commands = status_of_commands();
  const auto of_script = status();
  return of_script == ExitStatus::kDone ? of_commands : of_script;
}

}  // namespace

ExitStatus run_by_hand(const DebugPlan& plan, Invocation& invocation, DebugPlace& place,
                       const ldb::Debuggee& debuggee,
                       std::optional<std::chrono::microseconds> now) {
  return Repl(plan, invocation, place, debuggee, now).run();
}

}  // namespace rlctl::cli
