// `rlctl debug --ldb`: a script in Redis's own debugger, as `redis-cli --ldb` runs it.
//
// A line goes from here to the table of commands (commands.cc), which moves or asks the debugger
// (src/ldb/redis_debugger.h) and writes its answers with LdbText. This file keeps what lasts longer
// than one run of the script: where it runs, its first state, and the breakpoints' debugger.
// Nothing is added to the script: what Redis's debugger does not tell is refused by name.

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/commands/debug/command_lines.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/ldb/commands.h"
#include "cli/commands/debug/ldb/text.h"
#include "cli/commands/debug/pieces.h"
#include "cli/commands/debug/place.h"
#include "cli/commands/debug/plan.h"
#include "cli/commands/debug/setup.h"
#include "cli/errors/failure.h"
#include "ldb/redis_debugger.h"
#include "script/script.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;
using After = LdbCommands::After;

class LdbRun {
 public:
  LdbRun(const Plan& plan, Invocation& invocation)
      : plan_(plan),
        invocation_(invocation),
        place_(plan, invocation),
        debuggee_(plan.debuggee),
        lines_(plan, invocation),
        debugger_([this] { return lines_.wants_stop(); }),
        text_(invocation.out.buffer(), invocation.out.look(), debuggee_),
        commands_{.debugger = debugger_,
                  .text = text_,
                  .keys = debuggee_.keys,
                  .may_hang = plan.is_private()} {
    accept_source();
    if (!has_setup(plan)) return;
    auto connection = place_.connect();
    prepare(plan, connection);
  }

  ExitStatus run() {
    lines_.open([this](std::string_view line) { return commands_.complete(line); });
    begin();
    invocation_.out.flush();
    if (!does_not_compile()) answer_commands();
    const auto of_commands = lines_.report_wrong();
    const auto of_script = script_status();
    return of_script == ExitStatus::kDone ? of_commands : of_script;
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

  void accept_source() {
    auto connection = place_.connect();
    script::ScriptServer server(connection);
    auto accepted = accepted_source(server, debuggee_);
    debuggee_.source = std::move(accepted.source);
    text_.read_source();
    warn_of_change(plan_, accepted.change, invocation_.command);
  }

  void begin() {
    require_whole_in_fork();
    if (plan_.is_private()) {
      if (!first_state_) first_state_ = place_.keep();
      auto connection = place_.connect();
      before_ = look(plan_, connection, debuggee_.keys, plan_.now);
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

  /// Runs the script as its file is now, on a private server from the original state.
  void restart() {
    auto debuggee = debuggee_;
    try {
      read_again(plan_, debuggee);
    } catch (const UsageError& error) {
      return commands_.wrong(std::string("restart: ") + error.what());
    }
    show_leaving();
    if (plan_.is_private()) place_.replace(*first_state_, [](redis::Connection&) {});
    if (debuggee.source != debuggee_.source) {
      debuggee_ = std::move(debuggee);
      text_.read_source();
      text_.say(debuggee_.name + " has changed");
    }
    begin();
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
    const auto after = look(plan_, connection, debuggee_.keys, plan_.now);
    for (const auto& change : changes(debuggee_.keys, before_, after)) {
      if (!change.changed) continue;
      has_changed = true;
      text_.say("  " + text_of(change, invocation_.out.look().utf8));
    }
    if (!has_changed) text_.say("no key was changed");
  }

  // ---- Commands ----

  void answer_commands() {
    try {
      lines_.answer_all([this](const std::string& line) { return answer(line); });
    } catch (...) {
      show_leaving();
      throw;
    }
    show_leaving();
  }

  CommandLines::Answer answer(const std::string& line) {
    const auto after = commands_.run(line);
    if (after == After::kEnded) show_end();
    if (after == After::kRestart) restart();
    return {.was_wrong = commands_.was_wrong, .goes_on = after != After::kQuit};
  }

  /// The exit status that the last run of the script deserves; kDone if the user left or aborted
  /// it.
  ExitStatus script_status() const {
    if (debugger_.running()) return ExitStatus::kDone;
    const auto& session = debugger_.session();
    return session.ending() == Ending::kAborted ? ExitStatus::kDone
                                                : status_of(session.ending(), session.reply());
  }

  const Plan& plan_;
  Invocation& invocation_;
  Place place_;
  debugger::Debuggee debuggee_;
  CommandLines lines_;
  ldb::RedisDebugger debugger_;
  LdbText text_;
  LdbCommands commands_;
  /// The keys before the first run, which restart() restores on a private server.
  std::optional<std::vector<stored::SavedKey>> first_state_;
  KeyStates before_;  ///< the last run
};

}  // namespace

ExitStatus run_ldb(const Plan& plan, Invocation& invocation) {
  return LdbRun(plan, invocation).run();
}

}  // namespace rlctl::cli::debug
