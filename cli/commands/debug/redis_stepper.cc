#include "cli/commands/debug/redis_stepper.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/error.h"
#include "cli/commands/debug/setup.h"
#include "cli/commands/debug/view.h"
#include "cli/errors/failure.h"
#include "cli/terminal/terminal.h"
#include "script/script.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;

void require_whole_in_fork(const Plan& plan, const debugger::Debuggee& debuggee) {
  if (plan.mode() != ldb::Mode::kForked || !ldb::is_padded_in_fork(debuggee)) return;
  throw UsageError(
      fmt::format("--attach: a fork of the server may lose parts of a script as long as {}, which "
                  "has {} bytes",
                  debuggee.name, debuggee.source.size()),
      "omit --attach to use a private server with the same keys, or add --sync");
}

/// Describes what happened to the script's writes on a server that is not private. A script cannot
/// be ended if it catches the error meant to end it, or is inside one long call.
std::string kept_text(ldb::Mode mode, Ending ending) {
  const bool is_cut_off = ending == Ending::kCutOff;
  if (mode == ldb::Mode::kForked) {
    return std::string("in a fork: nothing was kept") +
           (is_cut_off ? "; the fork runs on if the script catches errors" : "");
  }
  return std::string("what was written is kept") +
         (is_cut_off
              ? "; the script KEEPS RUNNING in the server: SCRIPT KILL ends it unless it has "
                "written; SHUTDOWN NOSAVE always does"
              : "");
}

}  // namespace

RedisStepper::RedisStepper(const Plan& plan, Invocation& invocation,
                           std::function<bool()> wants_stop)
    : Stepper(plan),
      invocation_(invocation),
      place_(plan, invocation),
      debugger_(debuggee_, {.open_session = [this] { return open_session(); },
                            .wants_stop = std::move(wants_stop),
                            .may_hang = plan.is_private()}) {
  auto connection = place_.connect();
  accept_source(debuggee_, connection);
  debugger_.read_source();
  if (has_setup(plan)) prepare(plan, connection);
  if (plan.is_private()) first_state_ = place_.keep();
}

void RedisStepper::accept_source(debugger::Debuggee& debuggee,
                                 redis::Connection& connection) const {
  script::ScriptServer server(connection);
  auto accepted = accepted_source(server, debuggee);
  debuggee.source = std::move(accepted.source);
  warn_of_change(plan_, accepted.change, invocation_.command);
}

ldb::Session RedisStepper::open_session() {
  ldb::Session::Limits limits;
  // A private server looks at its clock often, but not within one call of a function in C. The
  // time limit of another server is not known, and the user ends the wait.
  limits.run = plan_.is_private() ? limits.step : std::chrono::hours(24);
  return {place_.connect(), plan_.mode(), limits};
}

debugger::Halt RedisStepper::begin() {
  if (!place_.is_there()) throw UsageError("the session is over; 'restart' starts over");
  require_whole_in_fork(plan_, debuggee_);
  if (plan_.is_private()) {
    auto connection = place_.connect();
    before_ = look(plan_, connection);
  }
  auto halt = debugger_.start();
  if (debugger_.running()) return halt;
  const auto& result = debugger_.result();
  if (const auto problem = problem_of(result)) {
    throw ProblemError(*problem);
  }
  return halt;
}

bool RedisStepper::reset() {
  auto debuggee = debuggee_;
  read_again(plan_, debuggee);
  leave();
  if (plan_.is_private()) place_.replace(first_state_);
  auto connection = place_.connect();
  accept_source(debuggee, connection);
  if (debuggee.source == debuggee_.source) return false;
  debuggee_ = std::move(debuggee);
  debugger_.read_source();
  return true;
}

void RedisStepper::leave() {
  if (plan_.sync && debugger_.running()) {
    warn("the script continues to its end in the server, and what it writes is kept",
         invocation_.command);
  }
  debugger_.leave();
}

std::vector<std::string> RedisStepper::end(bool utf8) {
  auto lines = missing_lines();
  const auto ending = debugger_.result().ending;
  if (ending == Ending::kCutOff || ending == Ending::kLost) {
    // A private server may never answer again.
    if (plan_.is_private()) place_.discard();
    lines.emplace_back("the session is over; 'restart' starts over");
  }
  if (ending == Ending::kCompileError || ending == Ending::kLost) return lines;
  if (!plan_.is_private()) {
    lines.push_back(kept_text(plan_.mode(), ending));
  } else if (place_.is_there()) {
    auto connection = place_.connect();
    const auto after = look(plan_, connection);
    for (auto& line : key_lines(after, utf8)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace rlctl::cli::debug
