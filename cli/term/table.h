#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/term/terminal.h"

namespace rlctl::cli {

// Tables of text. Cells may be toned(); data in them has been escaped.

using Cells = std::vector<std::string>;

/// Which columns hold numbers, and so are aligned to the right.
enum class Numbers { kNone, kAfterFirst, kBetweenFirstAndLast };

/// Columns as wide as their widest cells, with two blanks between. A column without any text takes
/// no room. Rows may have fewer cells than others.
class Columns {
 public:
  Columns(std::span<const Cells> rows, Numbers numbers);

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// A row as a line, without blanks or a line end after it.
  [[nodiscard]] std::string line(const Cells& row) const;

 private:
  [[nodiscard]] bool is_number(std::size_t column) const noexcept;

  std::vector<std::size_t> widths_;
  Numbers numbers_;
  std::size_t width_ = 0;
};

/// Appends the rows as lines, all cells to the left.
void append_rows(std::string& out, std::span<const Cells> rows);

/// A table with a title above each column. If it is wider than the terminal, it becomes several,
/// one below the other, each of which begins with the first column.
class Table {
 public:
  /// The first column is aligned to the left, the others to the right. All have as many cells.
  void add(std::string_view title, Cells cells);
  void append(std::string& out, const Look& look) const;

 private:
  std::vector<Cells> columns_;  ///< each begins with its title
};

/// Facts for people, in columns: a label, a value, and a remark about it:
///
///     used       5 of 5                 next free in 12.041 s, empty in 59.310 s
///
/// If a line would be wider than the terminal, its last part moves below; it is broken after
/// commas, else at blanks. Nothing is cut: a single word, such as a key, may be too wide. Texts may
/// be toned(), and data in them has been escaped.
class TextBlock {
 public:
  TextBlock(std::string& out, const Look& look) : out_(out), look_(look) {}

  /// How far labels reach.
  static constexpr std::size_t kLabel = 11;
  /// Columns to the right of the labels.
  [[nodiscard]] std::size_t room() const noexcept;
  [[nodiscard]] const Look& look() const noexcept { return look_; }
  [[nodiscard]] std::string tone(std::string_view text, Tone tone) const {
    return toned(text, tone, look_.colour);
  }

  void row(std::string_view label, std::string_view main, std::string_view about = {});
  /// A sentence without a label.
  void note(std::string_view text) { row({}, {}, text); }
  /// A line of a list, under the label.
  void item(std::string_view text);
  /// Lines of a list, each of the same number of cells, in columns: the first and the last to the
  /// left, those between to the right. If that is too wide, the other cells are written below the
  /// first. Cells may be empty.
  void table(const std::vector<Cells>& lines);

 private:
  void append_wrapped(std::string_view text, std::size_t indent);
  void stack(const Cells& cells);

  std::string& out_;
  const Look& look_;
};

}  // namespace rlctl::cli
