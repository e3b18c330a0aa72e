#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_object.h"
#include "cli/trial/document.h"
#include "cli/trial/report.h"

namespace rlctl::cli::burst {

/// What people are told: the traffic and the limits, what each limiter did, and the command that
/// repeats the run.
trial::Document make_document(const trial::Report& report);
extern const JsonOutput kJson;
/// The report as a JSON object. Unknown values are null. `with_events`: with the single requests
/// and decisions, as files have them.
void write_json(JsonWriter& json, const trial::Report& report, bool with_events);
/// One decision of the run with this name, about request `number` (from 1) of its traffic: a JSON
/// object and a line end.
void append_decision_json(std::string& out, const trial::Plan& plan, std::string_view run,
                          std::int64_t number, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision);
/// The formats of logs: a JSON object and a line end.
void append_formats_json(std::string& out);

}  // namespace rlctl::cli::burst
