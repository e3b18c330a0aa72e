#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "limiter/limit.h"
#include "traffic/outcome.h"
#include "traffic/pattern.h"

namespace rlctl::cli {

/// What one limiter made of the traffic, with names where traffic::Outcome has numbers of keys.
/// Names are data: who shows them escapes them.
struct BurstRun {
  std::string name = {};  ///< of the limiter: an algorithm's
  traffic::Outcome outcome = {};
  std::string worst_key = {};  ///< empty where nothing was allowed
  std::vector<std::pair<std::string, std::int64_t>> top_denied = {};  ///< key, requests
};

/// All that `rlctl burst` has to tell, in any form.
struct BurstReport {
  const traffic::Pattern* pattern = nullptr;
  traffic::PatternRequest request = {};     ///< its limit is the first of `limits`
  std::vector<limiter::Limit> limits = {};  ///< with the burst that was asked for
  std::vector<std::string> command = {};    ///< the words of what repeats it, not quoted
  std::vector<BurstRun> runs = {};          ///< in the order asked for
  bool interrupted = false;  ///< the last run is of the traffic's beginning, or some are missing
};

/// The command as it may be pasted into a shell, in one line.
[[nodiscard]] std::string command_line(const std::vector<std::string>& words);
/// A word as a shell takes it back: in single quotes where it must be.
[[nodiscard]] std::string shell_quoted(const std::string& word);
/// "2.00"; with more digits where these would make it 1 and it is not.
[[nodiscard]] std::string ratio_text(double ratio);

}  // namespace rlctl::cli
