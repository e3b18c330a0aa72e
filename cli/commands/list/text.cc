#include <array>
#include <vector>

#include "base/text.h"
#include "cli/commands/list/report.h"
#include "stored/forms.h"

namespace rlctl::cli::list {
namespace {

using report::Text;

std::string number_text(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : "";
}

std::string label_of(std::string_view library, std::string_view algorithm) {
  return stored::Form{.name = algorithm, .library = library}.label();
}

struct Column {
  std::string_view title;
  std::size_t min_width;
  std::size_t min_room;  ///< it is left out on narrower terminals
  Text (*text)(const KeyState& key);
};

// Each leaves the key some twenty-five columns at least.
constexpr std::size_t kMedium = 65, kWide = 90, kWider = 100, kVeryWide = 125;

/// Of another key's name, so much is shown.
constexpr std::size_t kLongestOwner = 60;

/// All but the last hold numbers.
constexpr std::array kColumns{
    Column{"used", 6, 0, [](const KeyState& key) -> Text { return report::used_text(key.usage); }},
    Column{"of", 11, 0, [](const KeyState& key) -> Text { return report::limit_text(key.usage); }},
    Column{"full", 5, 0,
           [](const KeyState& key) -> Text {
             return {report::ratio_text(key.ratio), report::tone_of_use(key.ratio, Tone::kPlain)};
           }},
    Column{"next free", 10, kMedium,
           [](const KeyState& key) -> Text {
             return report::time_text(key.usage, key.usage.next_free);
           }},
    Column{"resets in", 10, kVeryWide,
           [](const KeyState& key) -> Text {
             return report::time_text(key.usage, key.usage.reset_after);
           }},
    Column{"ttl", 9, kWide,
           [](const KeyState& key) -> Text {
             return {report::ttl_text(key.usage), key.usage.ttl ? Tone::kPlain : Tone::kBad};
           }},
    Column{"bytes", 8, kVeryWide,
           [](const KeyState& key) -> Text { return number_text(key.usage.bytes); }},
    Column{"algorithm", 22, kWider,
           [](const KeyState& key) -> Text {
             if (!key.part_of.empty()) return "part of " + escape(key.part_of, kLongestOwner);
             return label_of(key.library, key.algorithm);
           }},
};

Text known(Text text) {
  return text.words.empty() ? "-" : std::move(text);
}

}  // namespace

Look look_of_table(const Output& out) {
  Look look = out.look();
  if (!is_terminal(out.fd())) look.columns = SIZE_MAX;
  return look;
}

report::GrowingTable make_table(const Look& look) {
  report::Row titles;
  std::vector<std::size_t> widths;
  for (const auto& column : kColumns) {
    titles.emplace_back(column.title);
    widths.push_back(look.columns < column.min_room ? 0 : column.min_width);
  }
  titles.emplace_back("key");
  widths.push_back(1);
  return {std::move(titles), std::move(widths), look};
}

std::vector<report::Row> rows_of(std::span<const KeyState> keys, const Look& look) {
  std::vector<report::Row> rows;
  for (const auto& key : keys) {
    auto& row = rows.emplace_back();
    row.reserve(kColumns.size() + 1);
    for (const auto& column : kColumns) {
      row.push_back(look.columns < column.min_room ? Text() : known(column.text(key)));
    }
    row.emplace_back(key_text(key.key, look));
  }
  return rows;
}

// ---- Totals ----

void Totals::Sum::add(const KeyState& key) {
  ++keys;
  if (key.ratio.value_or(0) >= 1) ++full;
  if (!key.usage.ttl) ++without_ttl;
  // Where one is not known, neither is the sum.
  if (bytes) bytes = key.usage.bytes ? std::optional(*bytes + *key.usage.bytes) : std::nullopt;
  if (!key.usage.limit) ++without_limit;
  const auto& difference = key.usage.limits_differ;
  if (!difference.empty() && differing++ == 0) first_difference = difference;
}

void Totals::add(const KeyState& key) {
  if (!key.part_of.empty()) return;  // counted with that key
  all_.add(key);
  algorithms_[{key.library, key.algorithm}].add(key);
  if (!key.policy.empty()) policies_[key.policy].add(key);
}

void Totals::append_text(std::string& out, const Look& look) const {
  report::Rows table{.rows = {{"", "keys", "full", "no ttl", "bytes"}}};
  const auto add = [&](const std::string& name, const Sum& sum) {
    table.rows.push_back({name, std::to_string(sum.keys), std::to_string(sum.full),
                          std::to_string(sum.without_ttl), known(number_text(sum.bytes))});
  };
  for (const auto& [name, sum] : algorithms_) add(label_of(name.first, name.second), sum);
  for (const auto& [name, sum] : policies_) add("policy " + escaped_text(name), sum);
  if (algorithms_.size() != 1) add("all", all_);
  report::TextWriter(out, look)(table);
}

}  // namespace rlctl::cli::list
