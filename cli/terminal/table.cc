#include "cli/terminal/table.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace rlctl::cli {

namespace {

/// The end of the longest prefix of `text` that fits and can be a line; at least the first word.
std::size_t end_of_line(std::string_view text, std::size_t columns, Breaks breaks) {
  if (display_width(text) <= columns) return text.size();
  std::size_t at_comma = 0, at_blank = 0;
  for (auto blank = text.find(' '); blank != text.npos; blank = text.find(' ', blank + 1)) {
    const bool fits = display_width(text.substr(0, blank)) <= columns;
    if (!fits && at_blank > 0) break;
    const bool follows_number = blank > 0 && is_digit(text[blank - 1]);
    if (breaks == Breaks::kBlanks && follows_number && at_blank > 0) continue;
    at_blank = blank;
    if (!fits) break;
    if (breaks == Breaks::kCommas && blank > 0 &&
        (text[blank - 1] == ',' || text[blank - 1] == ';'))
      at_comma = blank;
  }
  if (at_blank == 0) return text.size();
  return at_comma > 0 ? at_comma : at_blank;
}

/// The cell itself if it is plain, otherwise its escaped copy in `storage`.
std::string_view shown_cell(std::string_view cell, std::string& storage) {
  if (is_plain(cell, Printed::kLine)) return cell;
  return storage = printable(cell, Printed::kLine);
}

}  // namespace

Columns::Columns(std::span<const Cells> rows, Numbers numbers) : Columns(numbers) {
  for (const auto& row : rows) widen(row);
}

void Columns::widen(std::span<const std::string> row) {
  widths_.resize(std::max(widths_.size(), row.size()));
  std::string storage;
  for (std::size_t i = 0; i < row.size(); ++i) {
    widths_[i] = std::max(widths_[i], display_width(shown_cell(row[i], storage)));
  }
}

std::size_t Columns::width(std::size_t begin, std::size_t end) const noexcept {
  std::size_t width = 0;
  for (std::size_t i = 0; i < std::min(widths_.size(), end); ++i) {
    if (widths_[i] == 0 || (i > 0 && i < begin)) continue;
    width += widths_[i] + (width > 0 ? kGap : 0);
  }
  return width;
}

std::size_t Columns::end_of_fitting(std::size_t begin, std::size_t columns) const noexcept {
  auto end = begin + 1;
  while (end < widths_.size() && width(begin, end + 1) <= columns) ++end;
  return end;
}

bool Columns::is_number(std::size_t column) const noexcept {
  if (numbers_ == Numbers::kNone) return false;
  if (numbers_ == Numbers::kAllButLastTwo) return column + 2 < widths_.size();
  if (column == 0) return false;
  return column + 1 < widths_.size() || numbers_ == Numbers::kAfterFirst;
}

std::string Columns::line(const Cells& row, std::size_t begin, std::size_t end) const {
  std::string line, storage;
  std::size_t used = 0, column = 0;
  end = std::min(row.size(), end);
  for (std::size_t i = 0; i < end; ++i) {
    if (widths_[i] == 0 || (i > 0 && i < begin)) continue;
    const auto cell = shown_cell(row[i], storage);
    if (const auto width = display_width(cell); width > 0) {
      const auto place = is_number(i) ? column + widths_[i] - width : column;
      pad(line, used, place);
      line += cell;
      used = place + width;
    }
    column += widths_[i] + kGap;
  }
  return line;
}

std::vector<std::string> filled_lines(std::string_view text, std::size_t columns, Breaks breaks) {
  std::vector<std::string> lines;
  do {
    const auto end = end_of_line(text, columns, breaks);
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  } while (!text.empty());
  return lines;
}

void append_filled(std::string& out, std::string_view text, std::size_t indent,
                   std::size_t columns) {
  bool is_first = true;
  for (const auto& line : filled_lines(text, columns - std::min(columns, indent))) {
    if (!is_first) out.append(indent, ' ');
    out.append(line).append("\n");
    is_first = false;
  }
}

void append_rows(std::string& out, std::span<const Cells> rows) {
  const Columns columns(rows, Numbers::kNone);
  for (const auto& row : rows) out.append(columns.line(row)).append("\n");
}

}  // namespace rlctl::cli
