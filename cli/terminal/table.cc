#include "cli/terminal/table.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace rlctl::cli {

// ---- Tables ----

namespace {

/// Where lines are broken: at blanks, but not between a number and its unit, or at blanks after
/// commas where possible.
enum class Breaks { kBlanks, kCommas };

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

/// The first column and the columns from `begin` to `end`, as rows.
std::vector<Cells> rows_of(const std::vector<Cells>& columns, std::size_t begin, std::size_t end) {
  std::vector<Cells> rows(columns.front().size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row].push_back(columns.front()[row]);
    for (auto i = begin; i < end; ++i) rows[row].push_back(columns[i][row]);
  }
  return rows;
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

void Columns::widen(const Cells& row) {
  widths_.resize(std::max(widths_.size(), row.size()));
  std::string storage;
  for (std::size_t i = 0; i < row.size(); ++i) {
    widths_[i] = std::max(widths_[i], display_width(shown_cell(row[i], storage)));
  }
}

std::size_t Columns::width() const noexcept {
  std::size_t width = 0;
  for (const auto column : widths_) {
    if (column > 0) width += column + (width > 0 ? kGap : 0);
  }
  return width;
}

bool Columns::is_number(std::size_t column) const noexcept {
  if (numbers_ == Numbers::kNone) return false;
  if (column == 0) return numbers_ == Numbers::kAllButLast;
  return column + 1 < widths_.size() || numbers_ == Numbers::kAfterFirst;
}

std::string Columns::line(const Cells& row) const {
  std::string line, storage;
  std::size_t used = 0, column = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (widths_[i] == 0) continue;
    const auto cell = shown_cell(row[i], storage);
    if (const auto width = display_width(cell); width > 0) {
      const auto begin = is_number(i) ? column + widths_[i] - width : column;
      pad(line, used, begin);
      line += cell;
      used = begin + width;
    }
    column += widths_[i] + kGap;
  }
  return line;
}

std::vector<std::string> filled_lines(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  do {
    const auto end = end_of_line(text, columns, Breaks::kBlanks);
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

void Table::add(std::string_view title, Cells cells) {
  cells.emplace(cells.begin(), title);
  columns_.push_back(std::move(cells));
}

void Table::append(std::string& out, const Look& look) const {
  for (std::size_t begin = 1, end = 1; begin < columns_.size(); begin = end) {
    auto fits = [&] {
      return Columns(rows_of(columns_, begin, end + 1), Numbers::kAfterFirst).width() <=
             look.columns;
    };
    do ++end;
    while (end < columns_.size() && fits());
    if (begin > 1) out += '\n';
    const auto rows = rows_of(columns_, begin, end);
    const Columns columns(rows, Numbers::kAfterFirst);
    out.append(toned(columns.line(rows.front()), Tone::kDim, look.colour)).append("\n");
    for (const auto& row : std::span(rows).subspan(1)) out.append(columns.line(row)).append("\n");
  }
}

// ---- Facts ----

namespace {

/// The position of the third column, counted from the end of the label.
constexpr std::size_t kAbout = 23;
/// On terminals narrower than this, there are only two columns.
constexpr std::size_t kNarrow = 60;
constexpr std::size_t kGapOfRow = 2;
constexpr std::size_t kIndent = 2;

}  // namespace

std::size_t TextBlock::room() const noexcept {
  return look_.columns > kLabel ? look_.columns - kLabel : 1;
}

void TextBlock::append_wrapped(std::string_view written, std::size_t indent) {
  const auto escaped = printable(written, Printed::kLine);
  std::string_view text = escaped;
  const auto room = look_.columns > indent ? look_.columns - indent : 1;
  while (!text.empty()) {
    const auto end = end_of_line(text, room, Breaks::kCommas);
    out_.append(indent, ' ').append(text.substr(0, end)).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void TextBlock::row(std::string_view label, std::string_view main, std::string_view about) {
  if (label.empty() && main.empty()) return append_wrapped(about, kLabel);
  out_ += tone(label, Tone::kLabel);
  pad(out_, label.size(), kLabel);
  const auto shown = printable(main, Printed::kLine), remark = printable(about, Printed::kLine);
  about = remark;
  const auto used = display_width(shown);
  if (used > room()) {
    append_filled(out_, shown, kLabel, look_.columns);
    return append_wrapped(about, kLabel);
  }
  out_ += shown;
  const auto column = std::max(kAbout, used + kGapOfRow);
  const bool beside = look_.columns >= kNarrow && column + display_width(about) <= room();
  if (!about.empty() && beside) {
    pad(out_, used, column);
    out_ += about;
    about = {};
  }
  out_ += '\n';
  append_wrapped(about, kLabel);
}

void TextBlock::item(std::string_view text) {
  append_wrapped(text, kIndent);
}

void TextBlock::table(const std::vector<Cells>& lines) {
  const Columns columns(lines, Numbers::kBetweenFirstAndLast);
  const bool beside = kIndent + columns.width() <= look_.columns;
  for (const auto& cells : lines) {
    if (beside) {
      item(columns.line(cells));
    } else {
      stack(cells);
    }
  }
}

/// Writes the first cell and below it the others, as many per line as fit.
void TextBlock::stack(const Cells& cells) {
  item(cells.front());
  std::string line;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].empty()) continue;
    const auto width = 2 * kIndent + display_width(line) + kGapOfRow + display_width(cells[i]);
    if (!line.empty() && width > look_.columns) {
      append_wrapped(line + ",", 2 * kIndent);
      line.clear();
    }
    line += line.empty() ? cells[i] : ", " + cells[i];
  }
  append_wrapped(line, 2 * kIndent);
}

}  // namespace rlctl::cli
