#include "cli/commands/debug/stepper.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "cli/commands/debug/setup.h"
#include "cli/commands/debug/view.h"
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

std::vector<std::string> Stepper::missing_lines() {
  const auto& result = debugger().result();
  auto missing = missing_words(plan_, result.ending, result.reply);
  return missing.empty() ? std::vector<std::string>() : std::vector{std::move(missing)};
}

std::vector<std::string> Stepper::key_lines(const KeyStates& after, bool utf8) const {
  std::vector<std::string> lines;
  for (const auto& change : changes(debuggee_.keys, before_, after)) {
    if (change.changed) lines.push_back("  " + text_of(change, utf8));
  }
  if (lines.empty()) lines.emplace_back("no key was changed");
  return lines;
}

ExitStatus Stepper::status() {
  if (debugger().running()) return ExitStatus::kDone;
  const auto& result = debugger().result();
  return result.ending == debugger::Ending::kAborted ? ExitStatus::kDone : status_of(result);
}

EngineStepper::EngineStepper(const Plan& plan, const EngineKeys& keys,
                             debugger::EngineDebugger::Options options)
    : Stepper(plan),
      first_(keys),
      keys_(keys.keyspace),
      debugger_(debuggee_, keys_, std::move(options)) {}

debugger::Halt EngineStepper::begin() {
  before_ = look(plan_, keys_);
  return debugger_.start();
}

bool EngineStepper::reset() {
  auto debuggee = debuggee_;
  read_again(plan_, debuggee);
  const Interrupt never;
  simulation::Engine engine(never);
  debuggee.source = accepted_source(engine, debuggee).source;
  require_compiles(debuggee);
  debugger_.leave();
  keys_ = first_.keyspace;
  if (debuggee.source == debuggee_.source) return false;
  debuggee_ = std::move(debuggee);
  debugger_.read_source();
  return true;
}

std::vector<std::string> EngineStepper::end(bool utf8) {
  auto lines = missing_lines();
  if (debugger_.result().ending == debugger::Ending::kCompileError) return lines;
  for (auto& line : key_lines(look(plan_, keys_), utf8)) lines.push_back(std::move(line));
  if (auto text = other_keys_text(first_, debugger_.result()); !text.empty()) {
    lines.push_back("warning: " + text);
  }
  return lines;
}

}  // namespace rlctl::cli::debug
