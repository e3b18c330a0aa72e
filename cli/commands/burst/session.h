#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "cli/app/command.h"
#include "cli/commands/burst/report.h"

namespace rlctl::cli::burst {

/// Called for each decision, with the names of the run and of the key.
using OnNamedDecision = std::function<void(std::string_view run, std::string_view key,
                                           const traffic::Arrival&, const limiter::Decision&)>;

/// Reads the plan's log, and warns about lines that it cannot read; null if the plan has no log.
/// Throws what replay::Recording throws, and UsageError if a limiter of the plan does not accept
/// the highest cost in the log.
[[nodiscard]] std::shared_ptr<const replay::Recording> read_recording(const Plan& plan,
                                                                      const Invocation& invocation);

/// Sends the traffic of a report's plan through each of its limiters in turn, or searches against
/// each, and adds the runs to the report. Removes the keys after each run, even if an error or
/// Ctrl-C ends it; after Ctrl-C the report covers the decisions so far. `on_decision` may be empty.
/// `has_assertions`: the runs tell what assertions need; `draws`: what a picture needs.
void run_plan(Report& report, Invocation& invocation, const OnNamedDecision& on_decision,
              bool has_assertions, bool draws);

}  // namespace rlctl::cli::burst
