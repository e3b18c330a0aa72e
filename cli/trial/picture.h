#pragma once

#include <span>
#include <vector>

#include "cli/trial/document.h"
#include "cli/trial/report.h"
#include "cli/trial/wording.h"

// The plot of a report: a panel for each run, all on one time axis and one scale.

namespace rlctl::cli::trial {

/// `judgements` are those of the runs.
Plot make_plot(const Report& report, std::span<const Judgement> judgements);

/// Whether the curve shows the units allowed to one of several keys: the key of the worst window.
/// The requests that are counted are those of all keys.
bool draws_one_key(const Report& report);

/// The units allowed within the window that ends at a time, which is what a limit bounds: the first
/// step is at the beginning of the timeline, and the others are where the number changes. Counts
/// whole bins of the timeline, so never more than was allowed. Empty if the bins are too coarse for
/// the window.
std::vector<Step> steps_within_window(const simulation::Timeline& timeline,
                                      std::chrono::microseconds window);

}  // namespace rlctl::cli::trial
