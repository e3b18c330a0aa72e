#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/trial/report.h"
#include "cli/trial/wording.h"

// What a report says about the findings of a search for requests.

namespace rlctl::cli::trial {

/// What a search skips, after a number of schedules.
inline constexpr std::string_view kUndecided =
    "whose result depends on the exact moment a key expires";
/// What an exhaustive search has found out.
struct Proof {
  std::optional<std::int64_t> tried = {};  ///< schedules; none after another search
  std::int64_t undecided = 0;
  bool is_interrupted = false, fails = false;
  std::string claim = {};  ///< what no schedule does, unless the limiter fails
};
/// A sentence about what an exhaustive search has proved, and for which schedules; empty after any
/// other search.
std::string proof_text(const Plan& plan, const Proof& proof);
/// "10 within 59.999 s, which a clock of 1 ms, as in {now_ms}, cannot tell from 60 s"; empty if
/// rounding lets nothing more through.
std::string rounding_text(const SearchFindings& search);
/// What a random search left out; empty if nothing.
std::string left_out_text(const rlctl::adversary::SearchResult& result);
Text finding_verdict(const rlctl::adversary::Finding& finding, const SearchFindings& search);
/// What a search found as a whole; `run` is one of the report's.
Judgement judge_search(const Report& report, const Run& run);

}  // namespace rlctl::cli::trial
