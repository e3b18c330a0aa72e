#include "cli/trial/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "cli/terminal/table.h"

// Documents for a terminal.

namespace rlctl::cli::trial {
namespace {

/// The text with an x in place of the sign of multiplication after a number.
std::string with_plain_times(std::string text) {
  constexpr std::string_view kTimes = "×";
  for (auto at = text.find(kTimes); at != text.npos; at = text.find(kTimes, at + 1)) {
    if (at > 0 && is_digit(text[at - 1])) text.replace(at, kTimes.size(), "x");
  }
  return text;
}

std::string shown(const Text& text, const Look& look) {
  return toned(text.words, text.tone, look.colour);
}

/// Appends the parts of a document, one below the other.
class TextWriter {
 public:
  /// The arguments must outlive this.
  TextWriter(std::string& out, const Document& document, const Look& look)
      : out_(out), document_(document), look_(look), block_(out, look) {}

  void operator()(const Fact& fact) { block_.row(fact.label, shown(fact.main, look_), fact.about); }

  void operator()(const Sentence& sentence) {
    if (sentence.pictured == Pictured::kOnlyThere) return;
    out_ += toned(sentence.label, Tone::kLabel, look_.colour);
    pad(out_, sentence.label.size(), TextBlock::kLabel);
    append_filled(out_, sentence.words, TextBlock::kLabel, look_.columns);
  }

  void operator()(const Heading& heading) { append_heading(out_, heading, look_); }

  void operator()(const Rows& all) {
    const auto rows = std::span(all.rows).first(std::min(all.rows.size() - 1, all.most) + 1);
    Table table;
    for (std::size_t column = 0; column < rows.front().size(); ++column) {
      Cells cells;
      for (const auto& row : rows.subspan(1)) cells.push_back(shown(row[column], look_));
      table.add(rows.front()[column].words, std::move(cells));
    }
    table.append(out_, look_);
    const auto left = all.rows.size() - rows.size();
    if (left > 0) block_.item(fmt::format("and {} more; --json lists all", left));
  }

  void operator()(const PlotPlace&) { append_plot(out_, document_.plot, look_); }

 private:
  std::string& out_;
  const Document& document_;
  const Look& look_;
  TextBlock block_;
};

}  // namespace

void append_heading(std::string& out, const Heading& heading, const Look& look) {
  const auto& [name, verdict] = heading;
  out += shown(name, look);
  const auto width = display_width(name.words) + Columns::kGap + display_width(verdict.words);
  if (verdict.words.empty()) {
    out += '\n';
  } else if (width <= look.columns) {
    out.append("  ").append(shown(verdict, look)).append("\n");
  } else {
    out += '\n';
    TextBlock(out, look).item(shown(verdict, look));
  }
}

std::string write_text(const Document& document, const Look& look) {
  std::string out;
  TextWriter write(out, document, look);
  for (const auto& fact : document.facts) write(fact);
  for (const auto& section : document.sections) {
    out += '\n';
    for (const auto& part : section) std::visit(write, part);
  }
  out += '\n';
  for (const auto& line : command_lines(document.command, look.columns)) out += line + '\n';
  return look.utf8 ? out : without_micro_sign(with_plain_times(std::move(out)), look.utf8);
}

}  // namespace rlctl::cli::trial
