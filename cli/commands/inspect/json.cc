#include "base/json.h"
#include "cli/commands/inspect/report.h"
#include "cli/report/usage_json.h"

namespace rlctl::cli::inspect {

using stored::Inspection;

static void append_inferred(JsonWriter& json, const Inspection& inspection) {
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

void append_json(std::string& out, const Inspection& inspection) {
  // The most bytes that an entry of a log takes: a time of 16 digits and a count of 10.
  constexpr std::size_t kBytesOfEntry = 48;
  out.reserve(out.size() + inspection.entries.size() * kBytesOfEntry + 512);
  const auto* form = inspection.state.form;
  const bool has_leases = form != nullptr && form->layout == stored::Layout::kLeases;
  JsonWriter json(out);
  json.begin_object()
      .bytes_field("key", inspection.key)
      .field("type", inspection.content.type)
      .known_field("library", form == nullptr ? "" : form->library)
      .known_field("algorithm", form == nullptr ? "" : form->name);
  append_usage_fields(json, inspection);
  json.field("burst", inspection.burst).field("next_free_us", inspection.next_free);
  append_inferred(json, inspection);
  const auto& state = inspection.state;
  if (state.fraction && state.counts.empty()) {
    json.field("number", state.fraction);
  } else {
    json.field("number", state.left);
  }
  json.known_field("part_of", state.part_of)
      .known_field("banned_by", state.ban ? state.ban->key : "")
      .known_field("unknown", state.unknown)
      .field("spent", inspection.spent)
      .field("held", inspection.held)
      .field("stored", inspection.stored)
      .field("now_us", inspection.now)
      .field("changed_while_read", inspection.changed_while_read);
  json.name("entries").begin_array();
  for (const auto& entry : inspection.entries) {
    json.begin_object().field("at_us", entry.at).field("count", entry.count);
    if (has_leases) json.bytes_field("holder", entry.holder);
    json.end_object();
  }
  json.end_array();
  json.name("reservations").begin_array();
  for (const auto& reservation : inspection.reservations) {
    json.begin_object()
        .bytes_field("id", reservation.id)
        .field("state", limiter::to_text(reservation.state))
        .field("units", reservation.stored.units)
        .field("until_us", reservation.stored.held_until)
        .field("forgotten_at_us", reservation.stored.forgotten_at)
        .end_object();
  }
  json.end_array().end_object();
  out += '\n';
}

}  // namespace rlctl::cli::inspect
