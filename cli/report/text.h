#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cli/report/document.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

// Reports for terminals.

namespace rlctl::cli::report {

/// Appends the parts of a report, one below the other. If a fact is wider than the terminal, its
/// remarks move below, broken after commas if possible, else at spaces; so is a value that has no
/// room of its own. Cells of lines that have no room are written below the first. A table that is
/// too wide is split into several, one below the other, which all begin with the first column.
/// Nothing is cut: a single long word, such as a key, may be too wide. Each text is escaped, so
/// that no line end of a name begins a line.
class TextWriter {
 public:
  /// Both arguments must outlive this.
  TextWriter(std::string& out, const Look& look) : out_(out), look_(look) {}

  void operator()(const Fact& fact);
  void operator()(const Sentence& sentence);
  /// The verdict stands beside the name if there is room, and otherwise below it.
  void operator()(const Heading& heading);
  void operator()(const Rows& table);
  void operator()(const Lines& lines);

 private:
  std::string shown(const Text& text) const { return toned(text.words, text.tone, look_.colour); }
  std::string shown_remarks(const Fact& fact) const;
  void append_wrapped(std::string_view written, std::size_t indent);
  void append_below(const Cells& cells);

  std::string& out_;
  const Look& look_;
};

/// The columns to the right of labels.
std::size_t room_beside_labels(const Look& look) noexcept;
/// The width of the column of labels.
inline constexpr std::size_t kLabelWidth = 11;

/// The parts as text.
std::string text_of(std::span<const Part> parts, const Look& look);

/// A table whose rows are written while others are still to be found. All columns are of numbers
/// but the last two, of which the last may be of any width.
class GrowingTable {
 public:
  /// Each column is as wide as this at first; one without a width and without text is left out.
  /// The look must outlive this.
  GrowingTable(Row titles, std::vector<std::size_t> widths, const Look& look);

  /// Appends the rows in columns that hold these and all rows before, the first of all below the
  /// titles.
  void append(std::string& out, std::vector<Row> rows);

 private:
  Row titles_;
  Columns columns_;
  bool has_titles_ = false;  ///< above the rows that were written
  const Look& look_;
};

}  // namespace rlctl::cli::report
