#include "cli/inspect/json.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace rlctl::cli {
namespace {

using limiter::Inspection;
using std::chrono::microseconds;

/// No entry of a log takes more bytes: a time of 16 digits and a count of 10.
constexpr std::size_t kBytesOfEntry = 48;

void append_field_name(std::string& out, std::string_view name) {
  out.append(",\"").append(name).append("\":");
}

void append_field(std::string& out, std::string_view name, std::optional<std::int64_t> value) {
  append_field_name(out, name);
  if (value) {
    append_number(out, *value);
  } else {
    out += "null";
  }
}

void append_field(std::string& out, std::string_view name, std::optional<microseconds> value) {
  append_field(out, name, value ? std::optional(value->count()) : std::nullopt);
}

void append_inferred(std::string& out, const Inspection& inspection) {
  append_field_name(out, "inferred");
  out += '[';
  auto append = [&, first = true](std::string_view name, bool known) mutable {
    if (!known || !inspection.window_is_inferred) return;
    out.append(first ? "\"" : ",\"").append(name).append("\"");
    first = false;
  };
  append("window_us", inspection.window.has_value());
  append("used", inspection.used.has_value());
  append("remaining", inspection.remaining.has_value());
  append("next_free_us", inspection.next_free.has_value());
  append("reset_after_us", inspection.reset_after.has_value());
  out += ']';
}

void append_entries(std::string& out, const Inspection& inspection) {
  const bool leases =
      inspection.is_limiter() && inspection.state.form->keeping == limiter::Keeping::kLeases;
  append_field_name(out, "entries");
  out.reserve(out.size() + inspection.entries.size() * kBytesOfEntry + 64);
  out += '[';
  for (std::size_t i = 0; i < inspection.entries.size(); ++i) {
    const auto& entry = inspection.entries[i];
    out += i == 0 ? "{\"at_us\":" : ",{\"at_us\":";
    append_number(out, entry.at.count());
    append_field(out, "count", entry.count);
    if (leases) {
      append_field_name(out, "holder");
      append_json_string(out, entry.holder);
    }
    out += '}';
  }
  out += ']';
}

}  // namespace

void append_inspection_json(std::string& out, const Inspection& inspection) {
  out += "{\"key\":";
  append_json_string(out, inspection.key);
  append_field_name(out, "type");
  append_json_string(out, inspection.content.type);
  append_field_name(out, "algorithm");
  if (inspection.is_limiter()) {
    append_json_string(out, inspection.state.form->name);
  } else {
    out += "null";
  }
  append_field(out, "limit", inspection.limit);
  append_field(out, "window_us", inspection.window);
  append_field(out, "burst", inspection.burst);
  append_inferred(out, inspection);
  append_field(out, "used", inspection.used);
  append_field(out, "remaining", inspection.remaining);
  append_field(out, "next_free_us", inspection.next_free);
  append_field(out, "reset_after_us", inspection.reset_after);
  append_field(out, "ttl_us", inspection.ttl);
  append_field(out, "bytes", inspection.bytes);
  append_field(out, "stored", inspection.stored);
  append_field(out, "now_us", inspection.now);
  append_field_name(out, "changed_while_read");
  out += inspection.changed_while_read ? "true" : "false";
  append_entries(out, inspection);
  out += "}\n";
}

}  // namespace rlctl::cli
