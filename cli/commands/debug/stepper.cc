#include "cli/commands/debug/stepper.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "cli/commands/debug/setup.h"
#include "cli/commands/debug/view.h"
#include "limiter/check.h"
#include "redis/error.h"
#include "script/reply.h"
#include "simulation/engine.h"

namespace rlctl::cli::debug {
namespace {

/// Throws UsageError if the script does not compile.
void require_compiles(const debugger::Debuggee& debuggee) {
  const auto error = debugger::find_compile_error(debuggee);
  if (!error) return;
  throw UsageError(fmt::format("does not compile, line {}: {}", error->line, error->message));
}

}  // namespace

Stepper::Stepper(const Plan& plan, const EngineKeys& keys, debugger::Debugger::Options options)
    : plan_(plan),
      first_(keys),
      debuggee_(plan.debuggee),
      keys_(keys.keyspace),
      debugger_(debuggee_, keys_, std::move(options)) {}

debugger::Halt Stepper::begin() {
  before_ = look(plan_, keys_);
  return debugger_.start();
}

bool Stepper::reset() {
  auto debuggee = debuggee_;
  read_again(plan_, debuggee);
  const Interrupt never;
  simulation::Engine engine(never);
  debuggee.source = accepted_source(engine, debuggee).source;
  require_compiles(debuggee);
  rewind();
  if (debuggee.source == debuggee_.source) return false;
  debuggee_ = std::move(debuggee);
  debugger_.read_source();
  return true;
}

void Stepper::rewind() {
  debugger_.leave();
  keys_ = first_.keyspace;
}

bool Stepper::was_denied() const {
  const auto& result = debugger_.result();
  if (result.ending != debugger::Ending::kReturned) return false;
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
  if (result.ending == debugger::Ending::kCompileError) return end;
  for (const auto& change : changes(debuggee_.keys, before_, look(plan_, keys_))) {
    if (change.changed) end.keys.push_back("  " + text_of(change, utf8));
  }
  if (end.keys.empty()) end.keys.emplace_back("no key was changed");
  return end;
}

ExitStatus Stepper::status() const {
  if (debugger_.running()) return ExitStatus::kDone;
  const auto& result = debugger_.result();
  return result.ending == debugger::Ending::kAborted ? ExitStatus::kDone : status_of(result);
}

}  // namespace rlctl::cli::debug
