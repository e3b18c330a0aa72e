#pragma once

#include <string>

#include "cli/trial/document.h"

// The parts of a text that text.cc and text_plot.cc both write.

namespace rlctl::cli::trial {

/// The verdict stands beside the name if there is room, and otherwise below it.
void append_heading(std::string& out, const Heading& heading, const Look& look);
/// A plot as wide as the terminal: for each run its heading, a chart of its curve against the
/// limit, and rows of allowed and denied requests, all on one time axis and one scale.
void append_plot(std::string& out, const Plot& plot, const Look& look);

}  // namespace rlctl::cli::trial
