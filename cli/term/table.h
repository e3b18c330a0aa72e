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

/// A table with a title above each column. Where it is wider than the terminal it becomes several,
/// one below the other, each of which begins with the first column.
class Table {
 public:
  /// The first column is aligned to the left, the others to the right. All have as many cells.
  void add(std::string_view title, Cells cells);
  void append(std::string& out, const Look& look) const;

 private:
  std::vector<Cells> columns_;  ///< each begins with its title
};

}  // namespace rlctl::cli
