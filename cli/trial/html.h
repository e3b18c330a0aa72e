#pragma once

#include <string>

#include "cli/trial/report.h"

namespace rlctl::cli::trial {

/// The report as a page: one HTML document that loads nothing, in which a window of the limit's
/// length is dragged over the requests. Without JavaScript it has the picture (picture.h) and the
/// tables. The plan must have asked for it, since it needs Run::events.
std::string draw_page(const Report& report);

}  // namespace rlctl::cli::trial
