#pragma once

#include "base/json.h"
#include "stored/inspection.h"

namespace rlctl::cli {

/// Writes the fields that describe how much of a limit is used, the same in all commands. Unknown
/// values are null.
inline void append_usage_fields(JsonWriter& json, const stored::Usage& usage) {
  json.field("limit", usage.limit).field("window_us", usage.window);
  if (usage.calendar != nullptr) json.field("calendar", usage.calendar->text());
  json.known_field("limits_differ", usage.limits_differ)
      .field("used", usage.used)
      .field("remaining", usage.remaining)
      .field("reset_after_us", usage.reset_after)
      .field("ttl_us", usage.ttl)
      .field("bytes", usage.bytes);
}

}  // namespace rlctl::cli
