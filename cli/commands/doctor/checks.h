#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/commands/doctor/facts.h"

namespace rlctl::cli {

/// The values are the exit statuses, as those of PluginState.
enum class Health { kOk = 0, kWarning = 1, kFailure = 2 };

struct CheckResult {
  Health health = Health::kOk;
  std::string detail = {};  ///< what was seen
  std::string fix = {};     ///< what to do about it; empty if nothing is to do
};

/// One line of the report.
struct CheckRow {
  std::string_view name;
  /// None if the check does not apply.
  std::optional<CheckResult> (*check)(const Examination& examination);
};

/// All checks, in the order of the report. The first one is the connection's.
[[nodiscard]] std::span<const CheckRow> check_rows();

}  // namespace rlctl::cli
