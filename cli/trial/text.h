#pragma once

#include <string>

#include "cli/trial/document.h"

namespace rlctl::cli::trial {

/// Appends a plot as wide as the terminal: for each run its heading, a chart of its curve against
/// the limit, and rows of allowed and denied requests, all on one time axis and one scale.
void append_plot(std::string& out, const Plot& plot, const Look& look);

}  // namespace rlctl::cli::trial
