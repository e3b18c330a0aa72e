#pragma once

#include <span>
#include <string>

#include "cli/commands/burst/assertions.h"
#include "cli/commands/burst/report.h"

namespace rlctl::cli {

/// The assertions as a JUnit report, which CI servers read: a suite for each run, and in it a case
/// for each assertion, and for a comparison one more in the first suite. The time of both is how
/// long the traffic of the run lasted, by its clock, so that under the virtual clock the same run
/// gives the same report.
[[nodiscard]] std::string junit_report(const BurstReport& report,
                                       std::span<const Assertion> assertions);

}  // namespace rlctl::cli
