#pragma once

#include <string>

#include "cli/burst/report.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {

/// Appends for each run which limit would have denied so few, and what the limits around it would
/// have done; nothing where no limit was to be suggested.
void append_suggestions(std::string& out, const BurstReport& report, const Look& look);

/// "suggestion":… of a run, null where none was asked for, without a comma at the end.
void append_suggestion_json(std::string& out, const BurstReport& report, const BurstRun& run);

}  // namespace rlctl::cli
