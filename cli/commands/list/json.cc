#include "cli/commands/list/report.h"
#include "cli/report/usage.h"

namespace rlctl::cli::list {
namespace {

using namespace json_type;

constexpr JsonField<KeyState> kKeyFields[] = {report::kKeyJson};
constexpr JsonObject<KeyState> kKey("limiter", "A key", kKeyFields);

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

constexpr const JsonObjectInfo* kObjects[] = {&kKey, &kTotal};

}  // namespace

constinit const JsonOutput kJson{
    "One object for each key, or with --totals for each algorithm and each policy. Unknown values "
    "are null.",
    kObjects};

void append_json(std::string& out, const KeyState& key) {
  kKey.append_line(out, key);
}

void Totals::append_json(std::string& out) const {
  for (const auto& [name, sum] : algorithms_)
    kTotal.append_line(out, {name.first, name.second, {}, sum});
  for (const auto& [name, sum] : policies_) kTotal.append_line(out, {{}, {}, name, sum});
}

}  // namespace rlctl::cli::list
