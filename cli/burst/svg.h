#pragma once

#include <string>

#include "cli/burst/report.h"

namespace rlctl::cli {

/// A report as a picture that stands by itself, an SVG document: a panel for each algorithm, all on
/// one time axis and one scale; light or dark as the reader's screen is. No scripts, no fonts of
/// its own.
[[nodiscard]] std::string burst_svg(const BurstReport& report);

}  // namespace rlctl::cli
