#pragma once

#include <algorithm>
#include <cstddef>
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
enum class Numbers { kNone, kAllButLast, kAfterFirst, kBetweenFirstAndLast };

/// Columns as wide as their widest cells, two spaces apart. A column without text takes no room.
/// Rows may differ in their number of cells.
class Columns {
 public:
  static constexpr std::size_t kGap = 2;

  /// Without rows: widen() makes room for each.
  explicit Columns(Numbers numbers, std::vector<std::size_t> min_widths = {})
      : widths_(std::move(min_widths)), numbers_(numbers) {}
  Columns(std::span<const Cells> rows, Numbers numbers);

  void widen(const Cells& row);
  std::size_t width() const noexcept;
  /// A row as a line, without trailing spaces or a line end.
  std::string line(const Cells& row) const;

 private:
  bool is_number(std::size_t column) const noexcept;

  std::vector<std::size_t> widths_;
  Numbers numbers_;
};

/// A text as lines of at most `columns`, broken at blanks, but not between a number and its unit.
std::vector<std::string> filled_lines(std::string_view text, std::size_t columns);
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

/// A table with a title above each column. If it is wider than the terminal, it is split into
/// several, one below the other, which all begin with the first column.
class Table {
 public:
  /// Adds a column: the first is left-aligned, the others right-aligned. All have as many cells.
  void add(std::string_view title, Cells cells);
  void append(std::string& out, const Look& look) const;

 private:
  std::vector<Cells> columns_;
};

/// Facts for people, in columns: a label, a value, and a remark:
///
///     used       5 of 5                 next free in 12.041 s, empty in 59.310 s
///
/// If a line is wider than the terminal, its remark moves below, broken after commas if possible,
/// else at spaces; so is a value that has no room of its own. Nothing is cut: a single long word,
/// such as a key, may be too wide. Texts may be toned(); each is escaped, so that no line end of a
/// name begins a line.
class TextBlock {
 public:
  /// Both arguments must outlive this.
  TextBlock(std::string& out, const Look& look) : out_(out), look_(look) {}

  /// The width of the label column.
  static constexpr std::size_t kLabel = 11;
  /// The number of columns to the right of the labels.
  std::size_t room() const noexcept;
  const Look& look() const noexcept { return look_; }
  std::string tone(std::string_view text, Tone tone) const {
    return toned(text, tone, look_.colour);
  }

  void row(std::string_view label, std::string_view main, std::string_view about = {});
  /// A sentence without a label.
  void note(std::string_view text, Tone tone = Tone::kPlain) {
    row({}, {}, toned(text, tone, look_.colour));
  }
  /// A line of a list, below the label.
  void item(std::string_view text);
  /// Lines of a list, all with the same number of cells, in columns: the first and the last
  /// left-aligned, the others right-aligned. If they are too wide, the other cells are written
  /// below the first. Cells may be empty.
  void table(const std::vector<Cells>& lines);

 private:
  void append_wrapped(std::string_view written, std::size_t indent);
  void stack(const Cells& cells);

  std::string& out_;
  const Look& look_;
};

}  // namespace rlctl::cli
