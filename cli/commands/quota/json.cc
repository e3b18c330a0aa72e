#include "base/json.h"
#include "base/text.h"
#include "cli/commands/quota/report.h"
#include "cli/report/usage_json.h"

namespace rlctl::cli::quota {

static void append_problem(JsonWriter& json, const std::optional<Problem>& problem) {
  std::string text = "null";
  if (problem) {
    text.clear();
    append_problem_json(text, *problem);
  }
  json.name("error").raw(text);
}

void append_json(std::string& out, std::span<const LimitStatus> statuses,
                 const std::optional<Problem>& failure) {
  const auto status_text = [](PluginState state) { return lower_case(name_of(state)); };
  JsonWriter json(out);
  json.begin_object()
      .field("status", status_text(failure ? PluginState::kUnknown : worst_of(statuses).state))
      .name("limits")
      .begin_array();
  for (const auto& status : statuses) {
    const auto& inspection = status.inspection;
    json.begin_object()
        .bytes_field("key", inspection.key)
        .field("status", status_text(status.state))
        .field("exists",
               status.was_read ? std::optional(inspection.exists()) : std::optional<bool>())
        .known_field("policy", status.policy)
        .known_field("algorithm", status.algorithm);
    append_usage_fields(json, inspection);
    const bool is_closed = inspection.is_closed_by_reservations();
    json.field("burst", inspection.burst)
        .field("ratio", inspection.ratio())
        .known_field("reason", is_closed ? limiter::kAllReservationsHeld : "");
    append_problem(json, status.problem);
    json.end_object();
  }
  json.end_array();
  append_problem(json, failure);
  json.end_object();
  out += '\n';
}

}  // namespace rlctl::cli::quota
