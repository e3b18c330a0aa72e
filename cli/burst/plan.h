#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/burst/clock.h"
#include "cli/burst/options.h"
#include "cli/command.h"
#include "limiter/limit.h"
#include "replay/recording.h"
#include "traffic/pattern.h"
#include "traffic/script.h"
#include "traffic/suggestion.h"

namespace rlctl::cli {

/// What `rlctl burst` is to do.
struct BurstPlan {
  const traffic::Pattern* pattern = nullptr;         ///< null: the traffic is a log's
  traffic::PatternRequest request = {};              ///< of the pattern
  std::optional<replay::ReplayOptions> replay = {};  ///< the log, instead of a pattern
  std::optional<traffic::DeniedShare> suggest = {};  ///< find the limit that denies at most so many
  std::vector<limiter::Limit> limits = {};           ///< with the burst that was asked for
  std::vector<traffic::Candidate> candidates = {};   ///< each with the limits as it takes them
  std::shared_ptr<const traffic::ForeignLimiter> script = {};  ///< the first candidate; or none
  std::optional<RealClock> real = {};                          ///< none: the virtual clock
  std::vector<std::string> command = {};                       ///< see BurstReport
  std::optional<std::int64_t> adversary_budget = {};           ///< search, with so many requests
  bool model = false;                                          ///< without a server
};

/// What the options mean together with the operands. Throws UsageError where that cannot be run, so
/// that nothing is started for it.
[[nodiscard]] BurstPlan make_burst_plan(const BurstOptions& options, const Invocation& invocation);

}  // namespace rlctl::cli
