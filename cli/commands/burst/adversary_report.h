#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adversary/finding.h"
#include "cli/commands/burst/data.h"
#include "cli/terminal/terminal.h"
#include "limiter/limit.h"
#include "traffic/script.h"

namespace rlctl::cli::burst {

/// The result of the search against one limiter.
struct AdversaryRun {
  const traffic::Candidate* candidate = nullptr;  ///< of the plan
  /// The placeholder that gives a foreign script a time that is rounded by more than the tick, but
  /// by little compared with the window; else null.
  const traffic::Placeholder* rounded_by = nullptr;
  adversary::SearchResult result = {};
  traffic::RepliesSeen replies = {};
  std::optional<std::string> hint = {};  ///< see reply_hint()
};

/// The results of `rlctl burst adversary`, for every output format.
struct AdversaryReport {
  const Plan& plan;
  std::chrono::microseconds base{0};    ///< the origin of all times: the start of a window
  std::vector<AdversaryRun> runs = {};  ///< in the order of the candidates
  bool interrupted = false;             ///< the last search is incomplete, or some are missing

  [[nodiscard]] const limiter::Limit& limit() const { return plan.limits.front(); }
  [[nodiscard]] const SearchPlan& search() const { return *plan.search; }
  [[nodiscard]] std::int64_t largest_cost() const {
    return *std::max_element(search().costs.begin(), search().costs.end());
  }
  /// The units in a finding's worst window, as a multiple of the limit.
  [[nodiscard]] double ratio_of(const adversary::Finding& finding) const {
    return static_cast<double>(finding.score.worst) / static_cast<double>(limit().limit);
  }
};

void append_adversary_text(std::string& all, const AdversaryReport& report, const Look& look);
/// One JSON object and a line end.
void append_adversary_json(std::string& out, const AdversaryReport& report);

/// The finding of a run that is worth replaying, as a log for --replay, with `time key cost` on
/// each line: too much allowed, else a wrong denial by a clock that does not step back, else the
/// most allowed. The log begins with the command that replays it.
[[nodiscard]] std::string schedule_log(const AdversaryReport& report, const AdversaryRun& run);

/// A run's findings in the form of measured traffic, for assertions and pictures.
[[nodiscard]] Run as_run(const AdversaryReport& report, const AdversaryRun& run);

}  // namespace rlctl::cli::burst
