#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/burst/options.h"
#include "cli/commands/burst/search_plan.h"
#include "limiter/limit.h"
#include "replay/recording.h"
#include "traffic/pattern.h"
#include "traffic/script.h"
#include "traffic/suggestion.h"

namespace rlctl::cli {

/// How traffic is sent under the real clock: on a schedule, or without one in a closed loop.
struct RealClock {
  std::size_t clients = 1;  ///< connections; requests use them in turn
  /// In a closed loop: the requests in flight per connection.
  std::optional<std::size_t> pipeline = {};
  /// In a closed loop: the duration, unless the traffic ends earlier.
  std::optional<std::chrono::microseconds> duration = {};

  [[nodiscard]] bool is_closed_loop() const noexcept { return pipeline.has_value(); }
};

/// What `rlctl burst` will do.
struct BurstPlan {
  const traffic::Pattern* pattern = nullptr;         ///< null: a log or a search
  traffic::PatternRequest request = {};              ///< of the pattern
  std::optional<replay::ReplayOptions> replay = {};  ///< the log, instead of a pattern
  std::optional<traffic::DeniedShare> suggest =
      {};                                   ///< find the limit that denies at most this share
  std::vector<limiter::Limit> limits = {};  ///< with the requested burst
  std::vector<traffic::Candidate> candidates = {};  ///< each with its own limits; scripts first
  bool is_comparison = false;                       ///< of the decisions of two candidates
  bool has_configured_script = false;               ///< one of them is from the configuration
  std::optional<RealClock> real = {};               ///< none: the virtual clock
  std::vector<std::string> command = {};            ///< repeats this plan
  std::vector<std::string> replay_command = {};     ///< replays a search's schedule
  std::optional<SearchPlan> search = {};            ///< instead of traffic
  std::optional<std::string> title = {};            ///< of a picture; none: from the traffic
  bool model = false;                               ///< the models decide, without a server
};

/// The plan for these options and operands. Throws UsageError if it cannot run, before anything
/// starts.
[[nodiscard]] BurstPlan make_burst_plan(const BurstOptions& typed, const Invocation& invocation);

}  // namespace rlctl::cli
