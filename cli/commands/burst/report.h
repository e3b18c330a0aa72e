#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/trial/document.h"
#include "cli/trial/report.h"

namespace rlctl::cli::burst {

/// What people are told: the traffic and the limits, what each limiter did, and the command that
/// repeats the run.
trial::Document make_document(const trial::Report& report);
/// The fields of the JSON object. Unknown values are null.
void write_json(JsonWriter& json, const trial::Report& report);
/// One decision of the run with this name, about request `number` (from 1) of its traffic: a JSON
/// object and a line end.
void append_decision_json(std::string& out, const trial::Plan& plan, std::string_view run,
                          std::int64_t number, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision);

}  // namespace rlctl::cli::burst
