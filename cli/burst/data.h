#pragma once

#include <string>
#include <string_view>

#include "cli/burst/report.h"
#include "limiter/decision.h"
#include "traffic/traffic.h"

namespace rlctl::cli {

// A report as programs read it.

/// One JSON object and a line end.
void append_burst_json(std::string& out, const BurstReport& report);

/// A row for each run, below the names of the columns. What is not known is empty.
void append_burst_csv(std::string& out, const BurstReport& report);

/// One decision of the run of this name, a JSON object and a line end.
void append_decision_json(std::string& out, std::string_view run, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision);

}  // namespace rlctl::cli
