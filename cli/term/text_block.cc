#include "cli/term/text_block.h"

#include <algorithm>

namespace rlctl::cli {
namespace {

/// Where the third column begins, behind the label.
constexpr std::size_t kAbout = 23;
/// Narrower terminals have two columns.
constexpr std::size_t kNarrow = 60;
constexpr std::size_t kGap = 2;
constexpr std::size_t kIndent = 2;

/// The end of the longest beginning of `text` that fits and can stand alone: behind a comma where
/// there is one, else at a blank, else the first word.
std::size_t end_of_line(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return text.size();
  std::size_t at_comma = 0, at_blank = 0;
  for (auto blank = text.find(' '); blank != text.npos; blank = text.find(' ', blank + 1)) {
    const bool fits = display_width(text.substr(0, blank)) <= columns;
    if (!fits && at_blank > 0) break;
    at_blank = blank;
    if (!fits) break;
    if (blank > 0 && (text[blank - 1] == ',' || text[blank - 1] == ';')) at_comma = blank;
  }
  if (at_blank == 0) return text.size();
  return at_comma > 0 ? at_comma : at_blank;
}

using Cells = std::vector<std::string>;

std::vector<std::size_t> widths_of(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(cells[i]));
    }
  }
  return widths;
}

std::size_t width_of_line(const std::vector<std::size_t>& widths) {
  std::size_t width = 0;
  for (const auto column : widths) width += column > 0 ? column + kGap : 0;
  return width;
}

/// The first and the last cell to the left, those between to the right.
std::string in_columns(const Cells& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  std::size_t used = 0, column = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] == 0) continue;
    const auto width = display_width(cells[i]);
    const bool to_left = i == 0 || i + 1 == cells.size();
    if (width > 0) {
      const auto begin = to_left ? column : column + widths[i] - width;
      pad(line, used, begin);
      line += cells[i];
      used = begin + width;
    }
    column += widths[i] + kGap;
  }
  return line;
}

}  // namespace

std::size_t TextBlock::room() const noexcept {
  return look_.columns > kLabel ? look_.columns - kLabel : 1;
}

void TextBlock::append_wrapped(std::string_view text, std::size_t indent) {
  const auto room = look_.columns > indent ? look_.columns - indent : 1;
  while (!text.empty()) {
    const auto end = end_of_line(text, room);
    out_.append(indent, ' ').append(text.substr(0, end)).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void TextBlock::row(std::string_view label, std::string_view main, std::string_view about) {
  if (label.empty() && main.empty()) return append_wrapped(about, kLabel);
  out_ += tone(label, Tone::kLabel);
  pad(out_, label.size(), kLabel);
  out_ += main;
  const auto used = display_width(main);
  const auto column = std::max(kAbout, used + kGap);
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
  if (lines.empty()) return;
  const auto widths = widths_of(lines);
  const bool beside = width_of_line(widths) <= look_.columns;
  for (const auto& cells : lines) {
    if (beside) {
      item(in_columns(cells, widths));
    } else {
      stack(cells);
    }
  }
}

/// The first cell, and below it the others, as many on a line as fit.
void TextBlock::stack(const Cells& cells) {
  item(cells.front());
  std::string line;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].empty()) continue;
    const auto width = 2 * kIndent + display_width(line) + kGap + display_width(cells[i]);
    if (!line.empty() && width > look_.columns) {
      append_wrapped(line + ",", 2 * kIndent);
      line.clear();
    }
    line += line.empty() ? cells[i] : ", " + cells[i];
  }
  append_wrapped(line, 2 * kIndent);
}

}  // namespace rlctl::cli
