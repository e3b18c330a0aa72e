#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/burst/clock.h"
#include "limiter/limit.h"
#include "replay/recording.h"
#include "traffic/foreign_script.h"
#include "traffic/outcome.h"
#include "traffic/pattern.h"
#include "traffic/suggestion.h"

namespace rlctl::cli {

/// What a search has found besides the traffic under which most is allowed.
struct SearchFindings {
  double most_stepping_back = 0;    ///< as a multiple of the limit
  std::int64_t wrongly_denied = 0;  ///< requests
};

/// What one limiter made of the traffic, with names where traffic::Outcome has numbers of keys.
/// Names are data: who shows them escapes them.
struct BurstRun {
  std::string name = {};  ///< of the limiter: an algorithm's
  traffic::Outcome outcome = {};
  std::optional<SearchFindings> search = {};  ///< where the traffic is what a search has found
  /// What its times are told from. Under the real clock one run comes after the other, so that each
  /// has got its own: when its traffic began, or the window before the edge around which it is. Of
  /// a log when the first request came. Else 0: all have the same times.
  std::chrono::microseconds begin{0};
  std::string worst_key = {};  ///< empty where nothing was allowed
  std::vector<std::pair<std::string, std::int64_t>> top_denied = {};  ///< key, requests
  std::optional<std::int64_t> burst = {};              ///< that a suggestion was made for, if any
  std::optional<traffic::Suggestion> suggestion = {};  ///< see BurstReport::suggest
};

/// All that `rlctl burst` has to tell, in any form.
struct BurstReport {
  const traffic::Pattern* pattern = nullptr;  ///< null: the traffic is the recording's
  traffic::PatternRequest request = {};  ///< of the pattern; its limit is the first of `limits`
  std::shared_ptr<const replay::Recording> recording = {};  ///< or none
  std::optional<traffic::DeniedShare> suggest = {};         ///< what limits were suggested for
  std::vector<limiter::Limit> limits = {};                  ///< with the burst that was asked for
  std::shared_ptr<const traffic::ForeignLimiter> script = {};  ///< the first run's; or none
  std::vector<std::string> command = {};  ///< the words of what repeats it, not quoted
  std::vector<BurstRun> runs = {};        ///< in the order asked for
  std::optional<RealClock> real = {};     ///< none: the virtual clock
  std::exception_ptr error = {};          ///< that ended it: the runs are those before; else null
  bool interrupted = false;  ///< the last run is of the traffic's beginning, or some are missing
};

/// The same in lines that may be pasted together, of so many columns where that can be: an option
/// stays with its value.
[[nodiscard]] std::vector<std::string> command_lines(const std::vector<std::string>& words,
                                                     std::size_t columns);
/// "boundary"; "replay" where the traffic is a log's.
[[nodiscard]] std::string_view traffic_name(const BurstReport& report);
/// For how many keys it is.
[[nodiscard]] std::int64_t traffic_keys(const BurstReport& report);
/// What the traffic is, in a few words.
[[nodiscard]] std::string traffic_text(const BurstReport& report);
/// "2.00"; with more digits where these would make it 1 and it is not.
[[nodiscard]] std::string ratio_text(double ratio);

}  // namespace rlctl::cli
