#include "base/json.h"
#include "cli/commands/list/report.h"
#include "cli/report/usage_json.h"

namespace rlctl::cli::list {

void append_json(std::string& out, const Row& row) {
  JsonWriter json(out);
  json.begin_object()
      .bytes_field("key", row.key)
      .known_field("library", row.library)
      .known_field("algorithm", row.algorithm)
      .known_field("policy", row.policy)
      .known_field("part_of", row.part_of);
  append_usage_fields(json, row.usage);
  json.field("window_inferred", row.usage.window_is_inferred)
      .field("ratio", row.ratio)
      .field("next_free_us", row.usage.next_free)
      .end_object();
  out += '\n';
}

void Totals::append_json(std::string& out) const {
  const auto append = [&out](std::string_view library, std::string_view algorithm,
                             std::string_view policy, const Sum& sum) {
    JsonWriter(out)
        .begin_object()
        .known_field("library", library)
        .known_field("algorithm", algorithm)
        .known_field("policy", policy)
        .field("keys", sum.keys)
        .field("full", sum.full)
        .field("no_ttl", sum.without_ttl)
        .field("bytes", sum.bytes)
        .end_object();
    out += '\n';
  };
  for (const auto& [name, sum] : algorithms_) append(name.first, name.second, {}, sum);
  for (const auto& [name, sum] : policies_) append({}, {}, name, sum);
}

}  // namespace rlctl::cli::list
