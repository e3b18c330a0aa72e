#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"

// What the JSON of burst and adversary have in common.

namespace rlctl::cli::trial {

struct Report;

/// An object of this name, whose fields `write` writes, or null.
template <typename Write>
void write_object(JsonWriter& json, std::string_view name, bool is_known, const Write& write) {
  json.name(name);
  if (!is_known) {
    json.null();
    return;
  }
  json.begin_object();
  write();
  json.end_object();
}

/// What a foreign script may not report.
template <typename Reported>
std::optional<Reported> reported(Reported value, Reported unknown) {
  return value != unknown ? std::optional(value) : std::nullopt;
}

/// Writes the field `events`: the single requests of each run, and their decisions, in columns.
/// Writes nothing if the requests were not kept, as those of a search, which JSON has as schedules.
void write_events(JsonWriter& json, const Report& report);

}  // namespace rlctl::cli::trial
