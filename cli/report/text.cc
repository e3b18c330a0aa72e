#include "cli/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace rlctl::cli::report {
namespace {

/// The position of remarks, counted from the end of the label.
constexpr std::size_t kAbout = 23;
/// On terminals narrower than this, there are only two columns.
constexpr std::size_t kNarrow = 60;
constexpr std::size_t kIndent = 2;

Cells cells_of(Row row, bool colour) {
  Cells cells;
  cells.reserve(row.size());
  for (auto& [words, tone] : row) {
    cells.push_back(colour ? toned(words, tone, true) : std::move(words));
  }
  return cells;
}

}  // namespace

std::size_t room_beside_labels(const Look& look) noexcept {
  return look.columns > kLabelWidth ? look.columns - kLabelWidth : 1;
}

// ---- Facts and sentences ----

void TextWriter::append_wrapped(std::string_view written, std::size_t indent) {
  if (written.empty()) return;
  const auto room = look_.columns > indent ? look_.columns - indent : 1;
  for (const auto& line : filled_lines(printable(written, Printed::kLine), room, Breaks::kCommas)) {
    out_.append(indent, ' ').append(line).append("\n");
  }
}

std::string TextWriter::shown_remarks(const Fact& fact) const {
  std::string all;
  for (const auto& remark : fact.about) {
    if (remark.words.empty()) continue;
    all.append(all.empty() ? "" : ", ").append(shown(remark));
  }
  return printable(all, Printed::kLine);
}

void TextWriter::operator()(const Fact& fact) {
  const auto remarks = shown_remarks(fact);
  if (fact.label.empty() && fact.main.words.empty()) return append_wrapped(remarks, kLabelWidth);
  out_ += shown({fact.label, Tone::kLabel});
  pad(out_, fact.label.size(), kLabelWidth);
  const auto main = printable(shown(fact.main), Printed::kLine);
  const auto used = display_width(main), room = room_beside_labels(look_);
  if (used > room) {
    append_filled(out_, main, kLabelWidth, look_.columns);
    return append_wrapped(remarks, kLabelWidth);
  }
  out_ += main;
  const auto column = std::max(kAbout, used + Columns::kGap);
  const bool is_beside = look_.columns >= kNarrow && column + display_width(remarks) <= room;
  if (!is_beside || remarks.empty()) {
    out_ += '\n';
    return append_wrapped(remarks, kLabelWidth);
  }
  pad(out_, used, column);
  out_.append(remarks).append("\n");
}

void TextWriter::operator()(const Sentence& sentence) {
  out_ += shown({sentence.label, Tone::kLabel});
  pad(out_, sentence.label.size(), kLabelWidth);
  append_filled(out_, sentence.words, kLabelWidth, look_.columns);
}

void TextWriter::operator()(const Heading& heading) {
  const auto& [name, verdict] = heading;
  out_ += shown(name);
  const auto width = display_width(name.words) + Columns::kGap + display_width(verdict.words);
  const bool is_beside = width <= look_.columns && !verdict.words.empty();
  if (is_beside) out_.append(Columns::kGap, ' ').append(shown(verdict));
  out_ += '\n';
  if (!is_beside) append_wrapped(shown(verdict), kIndent);
}

// ---- Tables ----

void TextWriter::operator()(const Rows& table) {
  const auto below = std::min(table.rows.size() - 1, table.most);
  std::vector<Cells> rows;
  for (const auto& row : std::span(table.rows).first(below + 1)) {
    rows.push_back(cells_of(row, look_.colour));
  }
  const Columns columns(rows, Numbers::kAfterFirst);
  for (std::size_t begin = 1, end = 1; begin < rows.front().size(); begin = end) {
    end = columns.end_of_fitting(begin, look_.columns);
    if (begin > 1) out_ += '\n';
    for (const auto& row : rows) {
      const auto tone = &row == &rows.front() ? Tone::kDim : Tone::kPlain;
      out_.append(toned(columns.line(row, begin, end), tone, look_.colour)).append("\n");
    }
  }
  const auto left = table.rows.size() - rows.size();
  if (left > 0) append_wrapped(fmt::format("and {} more; --json lists all", left), kIndent);
}

void TextWriter::operator()(const Lines& lines) {
  Columns columns(Numbers::kBetweenFirstAndLast);
  // There may be many lines: their cells are not kept.
  for (const auto& line : lines.lines) columns.widen(cells_of(line, look_.colour));
  const bool fit = kIndent + columns.width() <= look_.columns;
  for (const auto& line : lines.lines) {
    const auto cells = cells_of(line, look_.colour);
    fit ? append_wrapped(columns.line(cells), kIndent) : append_below(cells);
  }
}

/// Writes the first cell and below it the others, as many per line as fit.
void TextWriter::append_below(const Cells& cells) {
  append_wrapped(cells.front(), kIndent);
  std::string line;
  for (const auto& cell : std::span(cells).subspan(1)) {
    if (cell.empty()) continue;
    const auto width = 2 * kIndent + display_width(line) + Columns::kGap + display_width(cell);
    if (!line.empty() && width > look_.columns) {
      append_wrapped(line + ",", 2 * kIndent);
      line.clear();
    }
    line += line.empty() ? cell : ", " + cell;
  }
  append_wrapped(line, 2 * kIndent);
}

std::string text_of(std::span<const Part> parts, const Look& look) {
  std::string out;
  TextWriter write(out, look);
  for (const auto& part : parts) std::visit(write, part);
  return without_micro_sign(std::move(out), look.utf8);
}

// ---- Tables that grow ----

GrowingTable::GrowingTable(Row titles, std::vector<std::size_t> widths, const Look& look)
    : titles_(std::move(titles)),
      columns_(Numbers::kAllButLastTwo, std::move(widths)),
      look_(look) {
  for (auto& title : titles_) title.tone = Tone::kDim;
}

void GrowingTable::append(std::string& out, std::vector<Row> rows) {
  std::vector<Cells> lines;
  for (auto& row : rows) {
    lines.push_back(cells_of(std::move(row), look_.colour));
    columns_.widen(std::span(lines.back()).first(titles_.size() - 1));
  }
  if (!std::exchange(has_titles_, true)) {
    lines.insert(lines.begin(), cells_of(titles_, look_.colour));
  }
  for (const auto& line : lines) out.append(columns_.line(line)).append("\n");
}

}  // namespace rlctl::cli::report
