#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adversary/search.h"
#include "cli/burst/plan.h"
#include "cli/burst/report.h"
#include "cli/term/terminal.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::cli {

/// The result of the search against one limiter.
struct AdversaryRun {
  std::string name = {};                          ///< raw
  const limiter::Algorithm* algorithm = nullptr;  ///< null: someone's own script
  adversary::SearchResult result = {};
  std::chrono::microseconds tick{1};  ///< times are multiples of it
  std::string_view told_by = {};      ///< "now_ms": the placeholder that rounds so; none: in µs
};

/// The results of `rlctl burst adversary`, for every form of output.
struct AdversaryReport {
  BurstPlan plan = {};
  std::chrono::microseconds base{0};    ///< the origin of times: a window begins there
  std::vector<AdversaryRun> runs = {};  ///< in the order of the candidates
  bool interrupted = false;             ///< the last search had not ended, or some are missing

  [[nodiscard]] const limiter::Limit& limit() const { return plan.limits.front(); }
  /// The worst of a finding, as a multiple of the limit.
  [[nodiscard]] double ratio_of(const adversary::Finding& finding) const {
    return static_cast<double>(finding.score.worst) / static_cast<double>(limit().limit);
  }
};

/// For people.
void append_adversary_text(std::string& out, const AdversaryReport& report, const Look& look);
/// One JSON object and a line end.
void append_adversary_json(std::string& out, const AdversaryReport& report);
/// The finding that tells most about a run, as a log that can be replayed: `time key cost` in a
/// line. It begins with the command for that.
[[nodiscard]] std::string schedule_log(const AdversaryReport& report, const AdversaryRun& run,
                                       const std::vector<std::string>& replay_command);

/// The finding as if its traffic had been measured: the subject of assertions.
[[nodiscard]] BurstRun as_burst_run(const AdversaryReport& report, const AdversaryRun& run);

}  // namespace rlctl::cli
