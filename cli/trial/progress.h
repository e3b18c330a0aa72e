#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traffic/real_run.h"

// The progress of a trial, as a line of at most some columns, which drops the least important parts
// first.

namespace rlctl::cli::trial {

/// A run under the real clock, and how long it will take.
struct RunInProgress {
  std::string_view name = {};
  std::size_t number = 0, of = 1;      ///< from 0
  std::optional<double> seconds = {};  ///< if known
  std::int64_t requests = 0;           ///< roughly
};

/// A search in progress.
struct SearchInProgress {
  std::string_view name = {};      ///< the limiter's
  std::size_t number = 0, of = 1;  ///< from 0
  std::string tried = {};          ///< "6,000 of 50,000 requests"
  std::int64_t count = 0;          ///< what `tried` counts: requests or schedules
  double share = 0;                ///< done, 0 to 1; from 1 on, findings are being made smaller
  std::int64_t worst = 0;          ///< the most units within a window so far, or leases at once
  std::string_view worst_is = "worst";
  double seconds = 0;  ///< since the search began
};

std::string search_progress_text(const SearchInProgress& search, std::size_t columns);
std::string real_progress_text(const RunInProgress& run, const traffic::RealProgress& progress,
                               std::size_t columns);

}  // namespace rlctl::cli::trial
