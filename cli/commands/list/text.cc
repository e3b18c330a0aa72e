#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/list/report.h"
#include "cli/report/usage.h"
#include "stored/forms.h"

namespace rlctl::cli::list {
namespace {

constexpr std::string_view kUnknown = "-";

std::string number_text(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : std::string(kUnknown);
}

std::string limit_text(const Row& row) {
  const auto& usage = row.usage;
  if (!usage.limit && !usage.window) return std::string(kUnknown);
  auto text = usage.limit ? std::to_string(*usage.limit) : "?";
  if (!usage.window) return text;
  if (usage.calendar != nullptr) return text.append("/").append(usage.calendar->text());
  return text.append(usage.window_is_inferred ? "/~" : "/").append(format_duration(*usage.window));
}

/// Rounded down, so that only what is full shows as 100 %.
std::string ratio_text(const Row& row) {
  return row.ratio ? fmt::format("{:.0f}%", std::floor(*row.ratio * 100)) : std::string(kUnknown);
}

std::string time_text(const std::optional<microseconds>& time) {
  if (!time) return std::string(kUnknown);
  return *time == limiter::kNever ? "never" : wait_text(*time);
}

std::string next_free_text(const Row& row) {
  return row.usage.next_free == microseconds{0} ? "now" : time_text(row.usage.next_free);
}

std::string algorithm_text(std::string_view library, std::string_view algorithm) {
  if (library == stored::kOurLibrary) return std::string(algorithm);
  if (library.empty()) return "?";
  if (algorithm.empty()) return std::string(library);
  return std::string(library).append(": ").append(algorithm);
}

struct Column {
  std::string_view title;
  std::size_t min_width;
  std::size_t min_room;  ///< it is left out on narrower terminals
  std::string (*text)(const Row& row);
  Tone (*tone)(const Row& row) = [](const Row&) { return Tone::kPlain; };
};

// Each leaves the key some twenty-five columns at least.
constexpr std::size_t kMedium = 65, kWide = 90, kWider = 100, kVeryWide = 125, kWidest = 140;

/// Of another key's name, so much is shown.
constexpr std::size_t kLongestOwner = 60;

/// All but the last hold numbers.
constexpr std::array kColumns{
    Column{"used", 6, 0, [](const Row& row) { return number_text(row.usage.used); }},
    Column{"of", 11, 0, limit_text},
    Column{"full", 5, 0, ratio_text,
           [](const Row& row) { return report::tone_of_use(row.ratio, Tone::kPlain); }},
    Column{"next free", 10, kMedium, next_free_text},
    Column{"empty in", 10, kVeryWide,
           [](const Row& row) { return time_text(row.usage.reset_after); }},
    Column{"ttl", 9, kWide,
           [](const Row& row) {
             return row.usage.ttl ? wait_text(*row.usage.ttl, Rounding::kTenths) : "none";
           },
           [](const Row& row) { return row.usage.ttl ? Tone::kPlain : Tone::kBad; }},
    Column{"bytes", 8, kVeryWide, [](const Row& row) { return number_text(row.usage.bytes); }},
    Column{"algorithm", 22, kWider,
           [](const Row& row) {
             if (!row.part_of.empty()) return "part of " + escape(row.part_of, kLongestOwner);
             return algorithm_text(row.library, row.algorithm);
           }},
};

/// The titles of the columns and of the key.
Cells titles() {
  Cells titles;
  for (const auto& column : kColumns) titles.emplace_back(column.title);
  titles.emplace_back("key");
  return titles;
}

std::vector<std::size_t> widths_on(const Look& look) {
  std::vector<std::size_t> widths;
  for (const auto& column : kColumns) {
    widths.push_back(look.columns < column.min_room ? 0 : column.min_width);
  }
  if (look.columns >= kWidest) {
    constexpr std::string_view kLong = "throttled-py: sliding-window-counter";
    widths.back() = std::max(widths.back(), kLong.size());
  }
  widths.push_back(1);
  return widths;
}

/// All cells but the key.
Cells cells_of(const Row& row, const Look& look) {
  Cells cells;
  cells.reserve(kColumns.size() + 1);
  for (const auto& column : kColumns) {
    auto& cell = cells.emplace_back();
    if (look.columns < column.min_room) continue;
    cell = column.text(row);
    if (look.colour) cell = toned(cell, column.tone(row), true);
  }
  return cells;
}

/// A number in a table of counts. On a terminal a dot stands for 0, so that the others stand out.
report::Text count_text(std::int64_t count, const Look& look) {
  if (count != 0 || !look.colour) return std::to_string(count);
  return {look.utf8 ? "·" : ".", Tone::kDim};
}

}  // namespace

Look look_of_rows(const Output& out) {
  Look look = out.look();
  if (!is_terminal(out.fd())) look.columns = SIZE_MAX;
  return look;
}

RowTable::RowTable(const Look& look) : look_(look), table_(titles(), widths_on(look), look) {}

void RowTable::widen(std::span<const Row> rows) {
  for (const auto& row : rows) table_.widen(cells_of(row, look_));
}

void RowTable::append(std::string& out, const Row& row, LongKey long_key) const {
  auto cells = cells_of(row, look_);
  auto& key = cells.emplace_back(key_text(row.key, look_));
  if (long_key == LongKey::kWithoutMiddle) {
    key = without_middle(key, table_.room_for_last(), look_.utf8 ? "…" : "..");
  }
  table_.append(out, cells);
}

// ---- Totals ----

void Totals::Sum::add(const Row& row) {
  ++keys;
  if (row.ratio.value_or(0) >= 1) ++full;
  if (!row.usage.ttl) ++without_ttl;
  // Where one is not known, neither is the sum.
  if (bytes) bytes = row.usage.bytes ? std::optional(*bytes + *row.usage.bytes) : std::nullopt;
  if (!row.usage.limit) ++without_limit;
  const auto& difference = row.usage.limits_differ;
  if (!difference.empty() && differing++ == 0) first_difference = difference;
}

void Totals::add(const Row& row) {
  if (!row.part_of.empty()) return;  // counted with that key
  all_.add(row);
  algorithms_[{row.library, row.algorithm}].add(row);
  if (!row.policy.empty()) policies_[row.policy].add(row);
}

void Totals::append_text(std::string& out, const Look& look) const {
  report::Rows table{.rows = {{"", "keys", "full", "no ttl", "bytes"}}};
  const auto add = [&](const std::string& name, const Sum& sum) {
    table.rows.push_back({name, count_text(sum.keys, look), count_text(sum.full, look),
                          count_text(sum.without_ttl, look), number_text(sum.bytes)});
  };
  for (const auto& [name, sum] : algorithms_) add(algorithm_text(name.first, name.second), sum);
  for (const auto& [name, sum] : policies_) add("policy " + escaped_text(name), sum);
  if (algorithms_.size() != 1) add("all", all_);
  const Look unlimited{.columns = SIZE_MAX, .colour = look.colour, .utf8 = look.utf8};
  report::TextWriter(out, unlimited)(table);
}

}  // namespace rlctl::cli::list
