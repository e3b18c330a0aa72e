#include "cli/commands/list/report.h"
#include "cli/report/usage.h"

namespace rlctl::cli::list {
namespace {

using namespace json_type;

constexpr JsonField<Row> kRowFields[] = {
    {"key", kBytes, "The key in Redis.", [](const Row& row) { return JsonBytes{row.key}; }},
    {"library", kLibrary,
     "The library that wrote the key, rlctl for the bundled scripts; null if it is not known.",
     [](const Row& row) { return known_text(row.library); }},
    {"algorithm", kStoredAlgorithm, "", [](const Row& row) { return known_text(row.algorithm); }},
    {"policy", kTextOrNull, "The policy in the configuration to which the key belongs, or null.",
     [](const Row& row) { return known_text(row.policy); }},
    {"part_of", kTextOrNull, "The key to whose state this one belongs, which has the figures.",
     [](const Row& row) { return known_text(row.part_of); }},
    {report::kUsageJson,
     [](const Row& row) {
       return report::UsageFigures{row.usage, row.ratio};
     }},
};
constexpr JsonObject<Row> kRow("limiter", "A key", kRowFields);

constexpr JsonField<Totals::Line> kTotalFields[] = {
    {"library", kLibrary, "", [](const auto& line) { return known_text(line.library); }},
    {"algorithm", kStoredAlgorithm, "The algorithm; null if this is the sum of a policy.",
     [](const auto& line) { return known_text(line.algorithm); }},
    {"policy", kTextOrNull, "The policy; null if this is the sum of an algorithm.",
     [](const auto& line) { return known_text(line.policy); }},
    {"keys", kCount, "The number of keys.", [](const auto& line) { return line.sum.keys; }},
    {"full", kCount, "The number of keys of which nothing remains.",
     [](const auto& line) { return line.sum.full; }},
    {"no_ttl", kCount, "The number of keys that never expire.",
     [](const auto& line) { return line.sum.without_ttl; }},
    {"bytes", kCountOrNull, "The memory that the keys use; null if the server does not report it.",
     [](const auto& line) { return line.sum.bytes; }},
};
constexpr JsonObject<Totals::Line> kTotal("total",
                                          "The sum of the keys of an algorithm or a policy",
                                          kTotalFields);

constexpr const JsonObjectInfo* kObjects[] = {&kRow, &kTotal};

}  // namespace

constinit const JsonOutput kJson{
    "One object for each key, or with --totals for each algorithm and each policy. Unknown values "
    "are null.",
    kObjects};

void append_json(std::string& out, const Row& row) {
  kRow.append_line(out, row);
}

void Totals::append_json(std::string& out) const {
  for (const auto& [name, sum] : algorithms_)
    kTotal.append_line(out, {name.first, name.second, {}, sum});
  for (const auto& [name, sum] : policies_) kTotal.append_line(out, {{}, {}, name, sum});
}

}  // namespace rlctl::cli::list
