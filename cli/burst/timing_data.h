#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "cli/burst/report.h"
#include "traffic/timing.h"

namespace rlctl::cli {

// What only the real clock tells, for programs. Under the virtual clock all of it is null, in CSV
// empty: the times of a server mean nothing where the clock is not its own.

/// "server_us_per_call":…, to "latency_us":… of a run, without a comma at the end.
void append_timing_json(std::string& out, const std::optional<traffic::Timing>& timing);

/// Columns, each with a comma before it.
void append_timing_csv_names(std::string& out);
void append_timing_csv(std::string& out, const BurstReport& report, const BurstRun& run);

/// What may not be known: `unknown` then, null in JSON, nothing in CSV.
template <typename Value>
std::string known(const std::optional<Value>& value, std::string_view unknown) {
  return value ? fmt::format("{}", *value) : std::string(unknown);
}

}  // namespace rlctl::cli
