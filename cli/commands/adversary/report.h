#pragma once

#include <string>

#include "base/json_object.h"
#include "cli/trial/document.h"
#include "cli/trial/report.h"

namespace rlctl::cli::adversary {

/// What people are told: the schedules tried, how each limiter answered them, and the command that
/// repeats the search.
trial::Document make_document(const trial::Report& report);
extern const JsonOutput kJson;
/// The report as a JSON object, which has the schedules whether or not it is `with_events`. Unknown
/// values are null.
void write_json(JsonWriter& json, const trial::Report& report, bool with_events);
/// The finding of a search's only run that is worth replaying, as a log for --replay, with `time
/// key cost` on each line: too much allowed, else a wrong denial by a clock that does not step
/// back, else the most allowed. The log begins with the command that replays it.
std::string schedule_log(const trial::Report& report);

}  // namespace rlctl::cli::adversary
