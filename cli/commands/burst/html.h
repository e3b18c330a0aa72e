#pragma once

#include <string>

#include "cli/commands/burst/report.h"

namespace rlctl::cli::burst {

/// The report as a page: one HTML document that loads nothing, in which a window of the limit's
/// length is dragged over the requests. Without JavaScript it has the picture (picture.h) and the
/// tables. The plan must have asked for it, since it needs Run::events.
std::string draw_page(const Report& report);

}  // namespace rlctl::cli::burst
