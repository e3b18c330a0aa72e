#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/terminal.h"

namespace rlctl::cli {

// Tables of text. Cells may contain toned() text; each is escaped, so that it stays one line.

using Cells = std::vector<std::string>;

/// Which columns hold numbers, which are right-aligned.
enum class Numbers { kNone, kAllButLastTwo, kAfterFirst, kBetweenFirstAndLast };

/// Columns as wide as their widest cells, two spaces apart. A column without text takes no room.
/// Rows may differ in their number of cells.
class Columns {
 public:
  static constexpr std::size_t kGap = 2;

  /// Without rows: widen() makes room for each.
  explicit Columns(Numbers numbers, std::vector<std::size_t> min_widths = {})
      : widths_(std::move(min_widths)), numbers_(numbers) {}
  Columns(std::span<const Cells> rows, Numbers numbers);

  void widen(std::span<const std::string> row);
  /// The width of the first column and of those from `begin` to `end`.
  std::size_t width(std::size_t begin = 1, std::size_t end = SIZE_MAX) const noexcept;
  /// The end of the columns from `begin` on that fit beside the first one into `columns` of the
  /// terminal; at least one does.
  std::size_t end_of_fitting(std::size_t begin, std::size_t columns) const noexcept;
  /// The first cell and those from `begin` to `end` as a line, without trailing spaces or a line
  /// end.
  std::string line(const Cells& row, std::size_t begin = 1, std::size_t end = SIZE_MAX) const;

 private:
  bool is_number(std::size_t column) const noexcept;

  std::vector<std::size_t> widths_;
  Numbers numbers_;
};

/// Where lines are broken: at blanks, but not between a number and its unit, or at blanks after
/// commas where possible.
enum class Breaks { kBlanks, kCommas };
/// A text as lines of at most `columns`.
std::vector<std::string> filled_lines(std::string_view text, std::size_t columns,
                                      Breaks breaks = Breaks::kBlanks);
/// Appends a text as filled_lines(), and a line end. Each line begins
/// at column `indent`, where the first one already is.
void append_filled(std::string& out, std::string_view text, std::size_t indent,
                   std::size_t columns);

/// A row of a section of a help text.
struct HelpRow {
  std::string name, summary;
};
/// A section of a help text: the title, then a line for each row, which has a name and a summary.
/// The names have a column of at least this width.
template <typename Rows>
std::string help_section(std::string_view title, const Rows& rows, std::size_t width = 0) {
  for (const auto& row : rows) width = std::max(width, row.name.size() + 2);
  std::string out = "\n";
  out.append(title).append(":\n");
  for (const auto& row : rows) {
    out.append("  ").append(row.name).append(width - row.name.size(), ' ');
    out.append(row.summary).append("\n");
  }
  return out;
}

/// Appends the rows as lines, all cells left-aligned.
void append_rows(std::string& out, std::span<const Cells> rows);

}  // namespace rlctl::cli
