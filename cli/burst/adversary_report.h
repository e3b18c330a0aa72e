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

/// What the search against one limiter gave.
struct AdversaryRun {
  std::string name = {};                          ///< raw
  const limiter::Algorithm* algorithm = nullptr;  ///< null: someone's own script
  adversary::SearchResult result = {};
  std::chrono::microseconds tick{1};  ///< times are multiples of it
  std::string_view told_by = {};      ///< "now_ms": by what a script is told so; none: in µs
};

/// All that `rlctl burst adversary` has to tell, in any form.
struct AdversaryReport {
  limiter::Limit limit = {};
  std::int64_t cost = 1;
  std::uint64_t seed = 1;
  std::int64_t budget = 0;                ///< requests for each limiter
  std::chrono::microseconds base{0};      ///< what times are told from: a window begins there
  std::vector<std::string> command = {};  ///< the words of what repeats it, not quoted
  std::shared_ptr<const traffic::ForeignLimiter> script = {};  ///< the first run's, if any
  std::vector<AdversaryRun> runs = {};                         ///< in the order asked for
  bool interrupted = false;  ///< the last search had not ended, or some are missing
};

/// For a person.
void append_adversary_text(std::string& out, const AdversaryReport& report, const Look& look);
/// One JSON object and a line end.
void append_adversary_json(std::string& out, const AdversaryReport& report);
/// The finding that says most about a run, as a log: `time key cost` in a line, which can be
/// replayed. It begins with the command that does so.
[[nodiscard]] std::string schedule_log(const AdversaryReport& report, const AdversaryRun& run,
                                       const std::vector<std::string>& replay_command);

/// The finding as if it were a traffic that was measured: what assertions are about.
[[nodiscard]] BurstRun as_burst_run(const AdversaryReport& report, const AdversaryRun& run);

}  // namespace rlctl::cli
