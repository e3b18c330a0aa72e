#include "cli/term/table.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/term/style.h"

namespace rlctl::cli {
namespace {

constexpr std::size_t kGapOfColumns = 2;

/// The first column, and those from `begin` to `end`, row by row.
std::vector<Cells> rows_of(const std::vector<Cells>& columns, std::size_t begin, std::size_t end) {
  std::vector<Cells> rows(columns.front().size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row].push_back(columns.front()[row]);
    for (auto i = begin; i < end; ++i) rows[row].push_back(columns[i][row]);
  }
  return rows;
}

}  // namespace

Columns::Columns(std::span<const Cells> rows, Numbers numbers) : numbers_(numbers) {
  for (const auto& row : rows) {
    widths_.resize(std::max(widths_.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths_[i] = std::max(widths_[i], display_width(row[i]));
    }
  }
  for (const auto column : widths_) {
    if (column > 0) width_ += column + (width_ > 0 ? kGapOfColumns : 0);
  }
}

bool Columns::is_number(std::size_t column) const noexcept {
  if (column == 0 || numbers_ == Numbers::kNone) return false;
  return numbers_ == Numbers::kAfterFirst || column + 1 < widths_.size();
}

std::string Columns::line(const Cells& row) const {
  std::string line;
  std::size_t used = 0, column = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (widths_[i] == 0) continue;
    if (const auto width = display_width(row[i]); width > 0) {
      const auto begin = is_number(i) ? column + widths_[i] - width : column;
      pad(line, used, begin);
      line += row[i];
      used = begin + width;
    }
    column += widths_[i] + kGapOfColumns;
  }
  return line;
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

}  // namespace rlctl::cli
