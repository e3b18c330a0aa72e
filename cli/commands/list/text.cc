#include "cli/commands/list/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/report/usage_json.h"
#include "cli/terminal/table.h"
#include "state/state.h"

namespace rlctl::cli::list {
namespace {

using std::chrono::microseconds;

struct Column {
  std::string_view title;
  std::size_t least_width;
  std::size_t least_room = 0;  ///< it is left out on narrower terminals
};

// Each leaves the key some twenty-five columns at least.
constexpr std::size_t kMedium = 65, kWide = 90, kWider = 100, kVeryWide = 125, kWidest = 140;
/// The numbers are right-aligned, the algorithm is not.
constexpr std::array kColumns{Column{"used", 6},
                              Column{"of", 11},
                              Column{"full", 5},
                              Column{"next free", 10, kMedium},
                              Column{"empty in", 10, kVeryWide},
                              Column{"ttl", 9, kWide},
                              Column{"bytes", 8, kVeryWide},
                              Column{"algorithm", 22, kWider}};
constexpr std::size_t kRatioColumn = 2, kTtlColumn = 5, kAlgorithmColumn = kColumns.size() - 1;

using RowCells = std::array<std::string, kColumns.size()>;

constexpr std::string_view kUnknown = "-";

/// The longest name of an algorithm, "throttled-py: sliding-window-counter", for which the widest
/// terminals have room.
std::size_t longest_algorithm() {
  static const auto kLongest = [] {
    std::size_t width = 0;
    for (const auto& form : state::state_forms()) width = std::max(width, form.label().size());
    return width;
  }();
  return kLongest;
}

std::string number_text(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : std::string(kUnknown);
}

std::string limit_text(const Row& row) {
  if (!row.limit && !row.window) return std::string(kUnknown);
  auto text = row.limit ? std::to_string(*row.limit) : "?";
  if (row.window_is_inferred) text += "/~";
  if (row.window && !row.window_is_inferred) text += "/";
  if (row.window) text += format_duration(*row.window);
  return text;
}

/// Rounded down, so that only what is full shows as 100 %.
std::string ratio_text(const Row& row) {
  const auto ratio = row.ratio();
  return ratio ? fmt::format("{:.0f}%", std::floor(*ratio * 100)) : std::string(kUnknown);
}

std::string next_free_text(const Row& row) {
  if (!row.next_free) return std::string(kUnknown);
  if (*row.next_free == microseconds{0}) return "now";
  return *row.next_free == limiter::kNever ? "never" : wait_text(*row.next_free);
}

std::string reset_text(const Row& row) {
  if (!row.reset_after) return std::string(kUnknown);
  return *row.reset_after == limiter::kNever ? "never" : wait_text(*row.reset_after);
}

std::string algorithm_text(std::string_view library, std::string_view algorithm) {
  if (library == state::kOurLibrary) return std::string(algorithm);
  if (library.empty()) return "?";
  return std::string(library).append(": ").append(algorithm);
}

Tone tone_of_ratio(const Row& row) {
  constexpr double kNearlyFull = 0.8;
  const auto ratio = row.ratio().value_or(0);
  return ratio >= 1 ? Tone::kBad : ratio >= kNearlyFull ? Tone::kWarning : Tone::kPlain;
}

RowCells cells_of(const Row& row) {
  return {number_text(row.used),  limit_text(row),
          ratio_text(row),        next_free_text(row),
          reset_text(row),        row.ttl ? ttl_text(*row.ttl) : "none",
          number_text(row.bytes), algorithm_text(row.library, row.algorithm)};
}

/// The cells of a line, each followed by two spaces.
void append_cells(std::string& out, const RowCells& cells, std::span<const Tone> tones,
                  std::span<const std::size_t> widths, const Look& look) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] == 0) continue;
    const auto width = display_width(cells[i]);
    if (i != kAlgorithmColumn) pad(out, width, widths[i]);
    out += toned(cells[i], tones[i], look.colour);
    if (i == kAlgorithmColumn) pad(out, width, widths[i]);
    out += "  ";
  }
}

/// A number in a table of counts. On a terminal a dot stands for 0, so that the others stand out.
std::string count_text(std::int64_t count, const Look& look) {
  if (count != 0 || !look.colour) return std::to_string(count);
  return toned(look.utf8 ? "·" : ".", Tone::kDim, true);
}

}  // namespace

Look look_of_rows(const Output& out) {
  Look look = out.look();
  if (!is_terminal(out.fd())) look.columns = SIZE_MAX;
  return look;
}

RowTable::RowTable(const Look& look) : look_(look) {
  for (const auto& column : kColumns) {
    widths_.push_back(look.columns < column.least_room ? 0 : column.least_width);
  }
  if (look.columns >= kWidest) widths_[kAlgorithmColumn] = longest_algorithm();
}

void RowTable::widen(std::span<const Row> rows) {
  for (const auto& row : rows) {
    const auto cells = cells_of(row);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (widths_[i] > 0) widths_[i] = std::max(widths_[i], display_width(cells[i]));
    }
  }
}

void RowTable::append_titles(std::string& out) const {
  RowCells titles;
  std::array<Tone, kColumns.size()> tones;
  std::ranges::transform(kColumns, titles.begin(), &Column::title);
  tones.fill(Tone::kDim);
  append_cells(out, titles, tones, widths_, look_);
  out.append(toned("key", Tone::kDim, look_.colour)).append("\n");
}

void RowTable::append_row(std::string& out, const Row& row, LongKey long_key) const {
  const auto begin = out.size();
  std::array<Tone, kColumns.size()> tones{};
  tones[kRatioColumn] = tone_of_ratio(row);
  if (!row.ttl) tones[kTtlColumn] = Tone::kBad;
  append_cells(out, cells_of(row), tones, widths_, look_);
  auto key = escaped_text(row.key);
  if (long_key == LongKey::kWithoutMiddle) {
    const auto taken = display_width(std::string_view(out).substr(begin));
    key = without_middle(key, look_.columns - std::min(taken, look_.columns),
                         look_.utf8 ? "…" : "..");
  }
  out.append(key).append("\n");
}

void append_json(std::string& out, const Row& row) {
  JsonWriter json(out);
  json.begin_object()
      .bytes_field("key", row.key)
      .known_field("library", row.library)
      .known_field("algorithm", row.algorithm)
      .known_field("policy", row.policy);
  append_usage(json, row);
  json.field("window_inferred", row.window_is_inferred)
      .field("ratio", row.ratio())
      .field("next_free_us", row.next_free)
      .end_object();
  out += '\n';
}

// ---- Totals ----

void Totals::Sum::add(const Row& row) {
  ++keys;
  if (row.ratio().value_or(0) >= 1) ++full;
  if (!row.ttl) ++without_ttl;
  // Where one is not known, neither is the sum.
  if (bytes) bytes = row.bytes ? std::optional(*bytes + *row.bytes) : std::nullopt;
}

void Totals::add(const Row& row) {
  all_.add(row);
  algorithms_[{row.library, row.algorithm}].add(row);
  if (!row.policy.empty()) policies_[row.policy].add(row);
}

void Totals::append_text(std::string& out, const Look& look) const {
  std::vector<Cells> rows{{"", "keys", "full", "no ttl", "bytes"}};
  const auto add = [&](std::string name, const Sum& sum) {
    rows.push_back({std::move(name), count_text(sum.keys, look), count_text(sum.full, look),
                    count_text(sum.without_ttl, look), number_text(sum.bytes)});
  };
  for (const auto& [name, sum] : algorithms_) add(algorithm_text(name.first, name.second), sum);
  for (const auto& [name, sum] : policies_) add("policy " + escaped_text(name), sum);
  if (algorithms_.size() != 1) add("all", all_);
  const Columns columns(rows, Numbers::kAfterFirst);
  bool is_first = true;
  for (const auto& row : rows) {
    const auto tone = std::exchange(is_first, false) ? Tone::kDim : Tone::kPlain;
    out.append(toned(columns.line(row), tone, look.colour)).append("\n");
  }
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
