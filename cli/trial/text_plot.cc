#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/report/text.h"
#include "cli/trial/text.h"

// The plot of a document in characters.

namespace rlctl::cli::trial {
namespace {

using Bins = std::vector<simulation::Timeline::Bin>;

constexpr std::string_view kAllowed = "allowed", kDenied = "denied";
constexpr std::string_view kLimit = " limit";
/// A wider plot would not show more.
constexpr std::size_t kMaxColumns = 200;
constexpr std::size_t kMinColumns = 10;
/// Rows of a chart up to the limit (fewer with many runs), and the most rows above it.
constexpr int kRows = 2, kRowsOfMany = 1, kMaxRowsAbove = 12;
constexpr std::size_t kManyRuns = 3;

/// Filled eighths of a row from `bottom` to `top`; at least one for a value above `bottom`.
std::size_t level_in(double value, double bottom, double top) {
  const auto share = (value - bottom) / (top - bottom);
  return static_cast<std::size_t>(
      std::clamp(std::ceil(share * kGlyphLevels - 1e-9), 0.0, static_cast<double>(kGlyphLevels)));
}

class TextPlot {
 public:
  /// All arguments must outlive this.
  TextPlot(std::string& out, const Plot& plot, const Look& look)
      : out_(out), plot_(plot), look_(look), glyphs_(glyphs(look.utf8)) {
    auto most = plot.limit;
    for (const auto& panel : plot.panels) {
      for (const auto& step : panel.curve) most = std::max(most, step.units);
      has_later_ |= !panel.later.empty();
    }
    gutter_ = std::max(gutter_, std::to_string(most).size());
    const auto taken = gutter_ + 2;
    const auto columns = look.columns > taken + kMinColumns ? look.columns - taken : kMinColumns;
    axis_ = plot.axis(std::min(columns, kMaxColumns) - (has_later_ ? 1 : 0));
    for (const auto& panel : plot.panels) {
      for (const auto& bin : bins_.emplace_back(bins_in_columns(panel, axis_))) {
        highest_ = std::max({highest_, bin.allowed, bin.denied});
      }
    }
    if (plot.panels.size() >= kManyRuns) rows_ = kRowsOfMany;
  }

  void append() {
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) {
      if (i > 0) out_ += '\n';
      report::TextWriter(out_, look_)(plot_.panels[i].heading);
      append_chart(plot_.panels[i]);
      append_counts(bins_[i]);
    }
    append_axis();
    append_notes();
  }

 private:
  /// The curve; each row is a fixed part of the limit.
  void append_chart(const Panel& panel) {
    if (panel.curve.empty()) return;
    const auto within = highest_in_columns(panel.curve, axis_);
    const auto limit = static_cast<double>(plot_.limit);
    const auto height = limit / rows_;
    const auto most = static_cast<double>(*std::max_element(within.begin(), within.end()));
    const int above =
        std::clamp(static_cast<int>(std::ceil((most - limit) / height)), 0, kMaxRowsAbove);
    for (int row = above; row > 0; --row) {
      const auto bottom = limit + (row - 1) * height;
      // The top row covers the rest, however much a limiter allows.
      const auto top = row == kMaxRowsAbove ? std::max(most, bottom + height) : bottom + height;
      append_chart_row(within, bottom, top, row == above ? fmt::format("{:.0f}", top) : "",
                       Tone::kBad);
    }
    std::string text;
    for (std::size_t i = kLimit.size(); i < axis_.columns; ++i) text += glyphs_.line;
    line(std::to_string(plot_.limit), glyphs_.crossing, tone(text.append(kLimit), Tone::kWarning));
    for (int row = rows_; row > 0; --row) {
      const auto mark = row == 1 && !panel.later.empty() ? later_mark() : "";
      append_chart_row(within, (row - 1) * height, row * height, row == 1 ? "0" : "", Tone::kPlain,
                       mark);
    }
  }

  /// In a column of its own, after those of the axis.
  std::string_view later_mark() const { return look_.utf8 ? "→" : ">"; }

  void append_chart_row(const std::vector<std::int64_t>& within, double bottom, double top,
                        std::string_view label, Tone row_tone, std::string_view mark = {}) {
    std::string text;
    for (const auto count : within) {
      text += glyphs_.heights[level_in(static_cast<double>(count), bottom, top)];
    }
    if (mark.empty()) text.erase(text.find_last_not_of(' ') + 1);
    line(label, glyphs_.side, tone(text, row_tone) + tone(mark, Tone::kWarning));
  }

  void append_counts(const Bins& bins) {
    std::string allowed, denied;
    const auto level = [this](std::int64_t count) {
      return level_in(static_cast<double>(count), 0, static_cast<double>(highest_));
    };
    for (const auto& bin : bins) {
      allowed += bin.allowed == 0 ? glyphs_.nothing : glyphs_.heights[level(bin.allowed)];
      denied += glyphs_.denied[level(bin.denied)];
    }
    line(kAllowed, glyphs_.side, tone(allowed, Tone::kGood));
    line(kDenied, glyphs_.side, tone(denied, Tone::kBad));
  }

  void append_axis() {
    const auto ticks = ticks_of(axis_, plot_.window, axis_.columns);
    std::vector<std::string_view> marks(axis_.columns, glyphs_.line);
    std::string labels;
    for (const auto& tick : ticks) {
      const bool first = &tick == &ticks.front(), last = &tick == &ticks.back();
      const auto column = std::min(static_cast<std::size_t>(tick.at), axis_.columns - 1);
      if (!first) marks[column] = last ? glyphs_.end : glyphs_.tick;
      if (tick.text.empty()) continue;
      pad(labels, display_width(labels), text_begin(axis_, tick, axis_.columns));
      labels += tick.text;
    }
    std::string axis;
    for (const auto mark : marks) axis += mark;
    line("", glyphs_.corner, tone(axis, Tone::kDim));
    line("", " ", labels);
  }

  void append_notes() {
    report::TextWriter write(out_, look_);
    if (plot_.has_curve()) write(Fact{"chart", plot_.curve, {"against the limit"}});
    write(Fact{"rows",
               plot_.counted,
               {"a column is " + column_text(axis_), fmt::format("the highest {}", highest_)}});
    for (const auto& panel : plot_.panels) {
      if (panel.later.empty()) continue;
      write(Fact{
          "later", panel.heading.name.words, {fmt::format("{} {}", later_mark(), panel.later)}});
    }
    if (axis_.recorded_at) write(Fact{"times", plot_.times});
  }

  void line(std::string_view label, std::string_view side, const std::string& text) {
    pad(out_, display_width(label), gutter_);
    out_.append(tone(label, Tone::kDim)).append(" ").append(tone(side, Tone::kDim));
    out_.append(text).append("\n");
  }

  std::string tone(std::string_view text, Tone tone) const {
    return toned(text, tone, look_.colour);
  }

  std::string& out_;
  const Plot& plot_;
  const Look& look_;
  const Glyphs& glyphs_;
  std::size_t gutter_ = kAllowed.size();
  TimeAxis axis_ = {};
  std::vector<Bins> bins_ = {};  ///< of each panel
  std::int64_t highest_ = 1;     ///< the most requests in a column
  bool has_later_ = false;
  int rows_ = kRows;
};

}  // namespace

void append_plot(std::string& out, const Plot& plot, const Look& look) {
  TextPlot(out, plot, look).append();
}

}  // namespace rlctl::cli::trial
