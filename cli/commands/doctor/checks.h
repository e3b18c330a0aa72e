#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cli/commands/doctor/facts.h"
#include "cli/report/findings.h"

namespace rlctl::cli::doctor {

using report::Finding;
using report::Severity;

/// One line of the report.
struct CheckRow {
  std::string_view name;
  /// None if the check does not apply.
  std::optional<Finding> (*check)(const Examination& examination);
};

/// All checks, in the order of the report. The first one is the connection's.
[[nodiscard]] std::span<const CheckRow> check_rows();

}  // namespace rlctl::cli::doctor
