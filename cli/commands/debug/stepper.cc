#include "cli/commands/debug/stepper.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/time.h"
#include "cli/commands/debug/view.h"
#include "limiter/check.h"
#include "lua/scopes.h"
#include "lua/substitute.h"
#include "redis/error.h"
#include "script/reply.h"
#include "script/script.h"

namespace rlctl::cli::debug {
namespace {

/// Throws UsageError if the script does not compile. May change the source into a form that the
/// server accepts.
void require_compiles(redis::Connection& connection, ldb::Debuggee& debuggee) {
  if (lua::read_shebang(debuggee.source)) {
    try {
      script::ScriptServer server(connection);
      debuggee.source = script::load_accepted(server, debuggee.source, debuggee.name).source;
    } catch (const redis::Error&) {
      // find_compile_error() tells the reason.
    }
  }
  const auto error = ldb::find_compile_error(connection, debuggee);
  if (!error) return;
  throw UsageError(fmt::format("does not compile, line {}: {}", error->line, error->message));
}

}  // namespace

Stepper::Stepper(const Plan& plan, Place& place, std::function<bool()> wants_stop,
                 OnMessage on_message, bool stops_at_errors)
    : plan_(plan),
      place_(place),
      debuggee_(plan.debuggee),
      // On a private server, a restarted run has the same result.
      now_(plan.now || !plan.is_private() ? plan.now : system_time()),
      debugger_(
          debuggee_, plan.mode(), [this] { return place_.connect(); },
          options(std::move(wants_stop), std::move(on_message), stops_at_errors)) {}

ldb::Debugger::Options Stepper::options(std::function<bool()> wants_stop, OnMessage on_message,
                                        bool stops_at_errors) const {
  ldb::Debugger::Options options;
  // TIME replies now_, not only the script's arguments.
  if (plan_.freezes_time() || !plan_.now) options.now = now_;
  options.may_hang = plan_.is_private();
  options.stops_at_errors = stops_at_errors;
  options.wants_stop = std::move(wants_stop);
  options.on_message = std::move(on_message);
  // A private server stops a script often, but not within one call of a function in C.
  options.limits.run = options.limits.step;
  // The time limit of another server is not known, and the user ends the wait.
  if (!plan_.is_private()) options.limits.run = std::chrono::hours(24);
  return options;
}

ldb::Halt Stepper::begin() {
  if (plan_.is_private()) {
    if (!first_state_) first_state_ = place_.keep();
    auto connection = place_.connect();
    key_watch_.emplace(connection, plan_, debuggee_.keys, now_);
  }
  auto halt = debugger_.start();
  if (debugger_.running()) return halt;
  if (const auto problem = problem_of(debugger_.result())) throw ProblemError(*problem);
  return halt;
}

bool Stepper::reset() {
  auto debuggee = debuggee_;
  read_again(plan_, debuggee);
  // A script in the server itself leaves it no time for others.
  if (runs_on_if_left()) {
    if (!lua::find_scopes(debuggee.source)) throw UsageError("the script does not compile");
  } else {
    place_.replace(first_state_.value_or(std::vector<stored::SavedKey>()),
                   [&](redis::Connection& connection) { require_compiles(connection, debuggee); });
  }
  debugger_.leave();
  if (debuggee.source == debuggee_.source) return false;
  debugger_.forget_source();
  debuggee_ = std::move(debuggee);
  return true;
}

void Stepper::rewind() {
  place_.replace(first_state_.value_or(std::vector<stored::SavedKey>()), [](auto&) {});
  debugger_.leave();
}

bool Stepper::was_denied() const {
  const auto& result = debugger_.result();
  if (result.ending != ldb::Ending::kReturned) return false;
  const auto& foreign = plan_.foreign;
  try {
    if (foreign != nullptr) {
      if (result.reply->is_error()) return script::is_denial(*result.reply, foreign->reading);
      return !script::read_reply(*result.reply, foreign->reading, plan_.values, foreign->name)
                  .allowed;
    }
    return !result.reply->is_error() &&
           !limiter::Checker::parse(*result.reply, plan_.algorithm).allowed;
  } catch (const redis::Error&) {
    return false;  // not a decision
  }
}

RunEnd Stepper::end(bool utf8) {
  const auto& result = debugger_.result();
  RunEnd end{.missing = missing_words(plan_, result.ending, result.reply)};
  if (result.ending == ldb::Ending::kCutOff || result.ending == ldb::Ending::kLost) {
    // A private server may never answer again.
    if (plan_.is_private()) place_.discard();
    end.is_over = true;
    return end;
  }
  if (result.ending == ldb::Ending::kCompileError) return end;
  if (!plan_.is_private()) {
    end.keys.push_back(kept_text(plan_.mode(), result.ending));
    return end;
  }
  auto connection = place_.connect();
  for (const auto& change : key_watch_->changes(connection)) {
    if (change.changed) end.keys.push_back("  " + text_of(change, utf8));
  }
  if (end.keys.empty()) end.keys.emplace_back("no key was changed");
  return end;
}

ExitStatus Stepper::status() const {
  if (debugger_.running()) return ExitStatus::kDone;
  const auto& result = debugger_.result();
  return result.ending == ldb::Ending::kAborted ? ExitStatus::kDone : status_of(result);
}

std::optional<ldb::Call> Stepper::call_afterwards(const std::vector<std::string>& words) {
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

}  // namespace rlctl::cli::debug
