#include <optional>
#include <string_view>

#include "base/json.h"
#include "cli/inspect/inspect.h"

namespace rlctl::cli {
namespace {

using limiter::Inspection;

/// No entry of a log takes more bytes: a time of 16 digits and a count of 10.
constexpr std::size_t kBytesOfEntry = 48;

void append_inferred(JsonWriter& json, const Inspection& inspection) {
  json.name("inferred").begin_array();
  const auto append = [&](std::string_view name, const auto& value) {
    if (value && inspection.window_is_inferred) json.value(name);
  };
  append("window_us", inspection.window);
  append("used", inspection.used);
  append("remaining", inspection.remaining);
  append("next_free_us", inspection.next_free);
  append("reset_after_us", inspection.reset_after);
  json.end_array();
}

void append_entries(JsonWriter& json, const Inspection& inspection) {
  const bool leases =
      inspection.is_limiter() && inspection.state.form->keeping == limiter::Keeping::kLeases;
  json.name("entries").begin_array();
  for (const auto& entry : inspection.entries) {
    json.begin_object().field("at_us", entry.at).field("count", entry.count);
    if (leases) json.field("holder", entry.holder);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void append_inspection_json(std::string& out, const Inspection& inspection) {
  out.reserve(out.size() + inspection.entries.size() * kBytesOfEntry + 512);
  JsonWriter json(out);
  json.begin_object()
      .field("key", inspection.key)
      .field("type", inspection.content.type)
      .field("algorithm",
             inspection.is_limiter() ? std::optional(inspection.state.form->name) : std::nullopt)
      .field("limit", inspection.limit)
      .field("window_us", inspection.window)
      .field("burst", inspection.burst);
  append_inferred(json, inspection);
  json.field("used", inspection.used)
      .field("remaining", inspection.remaining)
      .field("next_free_us", inspection.next_free)
      .field("reset_after_us", inspection.reset_after)
      .field("ttl_us", inspection.ttl)
      .field("bytes", inspection.bytes)
      .field("stored", inspection.stored)
      .field("now_us", inspection.now)
      .field("changed_while_read", inspection.changed_while_read);
  append_entries(json, inspection);
  json.end_object();
  out += '\n';
}

}  // namespace rlctl::cli
