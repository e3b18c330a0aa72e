#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/burst/options.h"

namespace rlctl::cli {

inline constexpr std::string_view kAdversarySummary =
    "a search for the schedule under which a limiter allows the most";
/// Without --limit: what it finds is then read at a glance, and small limits have the same flaws.
inline constexpr std::string_view kAdversaryLimit = "5/60s";

/// With --replay an operand is a file.
/// Throws UsageError where there is none of this name, and --replay: it means the search.
[[nodiscard]] bool asks_adversary(const BurstOptions& options,
                                  const std::vector<std::string>& operands);

/// A search takes one key and one limit. Throws UsageError.
void require_searchable(const BurstOptions& options);
/// How many requests a search may take. Throws UsageError where it is not a number.
[[nodiscard]] std::int64_t parse_budget(const BurstOptions& options);

}  // namespace rlctl::cli
