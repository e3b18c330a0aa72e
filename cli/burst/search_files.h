#pragma once

#include <span>
#include <vector>

#include "cli/burst/assertions.h"
#include "cli/burst/options.h"
#include "cli/burst/plan.h"
#include "cli/burst/report.h"
#include "cli/command.h"
#include "cli/term/output.h"

namespace rlctl::cli {

/// The picture and the JUnit report of a search.
class SearchFiles {
 public:
  /// Opens the files. Throws UsageError if more than one output goes to standard output.
  SearchFiles(const BurstOptions& options, Invocation& invocation);

  [[nodiscard]] bool to_stdout() const noexcept { return svg_.to_stdout() || junit_.to_stdout(); }
  /// The runs have the schedules that were found as their traffic.
  void write(const BurstPlan& plan, std::vector<BurstRun> runs,
             std::span<const Assertion> assertions);

 private:
  Destination svg_, junit_;
};

}  // namespace rlctl::cli
