#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/burst/report.h"

namespace rlctl::cli {

/// A number that a run gives, by the name by which something can be asserted of it.
struct BurstMeasure {
  std::string name;
  std::function<std::optional<double>(const BurstRun&)> of;  ///< none where it is not known
  bool needs_real_clock = false;
  std::int64_t needs_answers = 0;  ///< it is not known of fewer
};

[[nodiscard]] std::vector<BurstMeasure> burst_measures();
/// Those that say something of a search.
[[nodiscard]] std::vector<BurstMeasure> search_measures();

}  // namespace rlctl::cli
