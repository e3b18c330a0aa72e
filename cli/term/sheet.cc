#include "cli/term/sheet.h"

#include <algorithm>

#include "cli/term/style.h"

namespace rlctl::cli {
namespace {

constexpr std::size_t kColumnGap = 2;

std::size_t width_of(const Sheet::Column& column) {
  std::size_t width = display_width(column.title);
  for (const auto& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

/// The text right-aligned in its column, behind what stands there.
void append_cell(std::string& line, std::string_view cell, std::size_t width) {
  line.append(kColumnGap, ' ');
  pad(line, display_width(cell), width);
  line += cell;
}

/// A table of the first column and those from `begin` to `end`.
void append_part(std::string& out, const std::vector<Sheet::Column>& columns, std::size_t begin,
                 std::size_t end, const Look& look) {
  const auto& names = columns.front();
  const auto first = width_of(names);
  std::string line = names.title;
  pad(line, display_width(line), first);
  for (auto i = begin; i < end; ++i) append_cell(line, columns[i].title, width_of(columns[i]));
  line.erase(line.find_last_not_of(' ') + 1);
  out.append(toned(line, Tone::kDim, look.colour)).append("\n");
  for (std::size_t row = 0; row < names.cells.size(); ++row) {
    line = names.cells[row];
    pad(line, display_width(line), first);
    for (auto i = begin; i < end; ++i) {
      append_cell(line, columns[i].cells[row], width_of(columns[i]));
    }
    out.append(line).append("\n");
  }
}

}  // namespace

void Sheet::append(std::string& out, const Look& look) const {
  const auto first = width_of(columns_.front());
  std::size_t begin = 1;
  while (begin < columns_.size()) {
    auto end = begin;
    auto width = first;
    do {
      width += kColumnGap + width_of(columns_[end++]);
    } while (end < columns_.size() && width + kColumnGap + width_of(columns_[end]) <= look.columns);
    if (begin > 1) out += '\n';
    append_part(out, columns_, begin, end, look);
    begin = end;
  }
}

}  // namespace rlctl::cli
