#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/trial/document.h"
#include "cli/trial/report.h"

// How a report is worded in a document, whatever the command: its head, verdicts and remarks.

namespace rlctl::cli::trial {

/// A document without sections and without a plot. Its facts are these about the traffic, then the
/// limits, the limiters, the clock, and whether the report was ended early. `about` is said beside
/// the limits, or below those of leases.
Document begin_document(const Report& report, std::vector<HeadFact> traffic,
                        const std::string& about);
/// The traffic as a fact: its name, and what it is.
HeadFact traffic_fact(const Report& report);
/// A run's name, escaped.
std::string shown_name(const Run& run);

/// The origin of times that are relative to a window.
inline constexpr std::string_view kFromWindow = "from the beginning of a window";
inline constexpr std::string_view kAllowsNothing = "allows nothing";
/// The verdict on the most units that a limiter allowed within any window, to `key` if there are
/// several. One that allows nothing has kept the limit, but has not succeeded.
Text worst_verdict(std::int64_t allowed, double ratio, const std::string& within,
                   const std::string& key = {});
/// The verdict on a limiter about which a search has found out nothing.
Text nothing_is_known(const std::string& why);

/// Whether a server confirmed what scripts in this process decided; the report has a confirmation.
Fact confirmation_fact(const Report& report);

/// The label of why a limiter treated the traffic so, which a picture leaves out.
inline constexpr std::string_view kWhy = "why";
/// What was found about a run, or what the limiter's author should do, which a picture leaves out.
struct Remark {
  Sentence sentence;
  bool is_advice = false;
};
/// A run in words: the verdict on it, and remarks.
struct Judgement {
  Text verdict = {};
  std::vector<Remark> remarks = {};
};
Judgement judge(const Report& report, const Run& run);
/// The judgement of each run.
std::vector<Judgement> judge_runs(const Report& report);
/// The name of a run, and the verdict on it.
Heading heading_of(const Run& run, const Judgement& judgement);

}  // namespace rlctl::cli::trial
