#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "cli/terminal/table.h"
#include "cli/trial/document.h"

// Documents as pictures. The head, the panels and the command follow one another from the top to
// the bottom; two panels are side by side.

namespace rlctl::cli::trial {
namespace {

// In px; viewers scale the picture. The style uses no variables: not every viewer supports them.
constexpr double kWidth = 800, kMargin = 20;
constexpr double kBetween = 24;  ///< the space between two panels side by side
constexpr double kScale = 56;    ///< the width of the numbers beside a chart
constexpr double kTitleLine = 22, kLine = 16, kCaptionLine = 17;
constexpr double kNameHeight = 26;  ///< the name and the space above the chart
constexpr double kChart = 110, kBelowChart = 10, kCounts = 44, kBelowPanel = 22, kAxis = 36;
// The widths of average letters of each size, and more.
constexpr double kTitleLetter = 11, kNameLetter = 7.5, kLetter = 6.3, kCodeLetter = 8;
constexpr std::size_t kMaxSvgColumns = 120;
/// The highest value has a label if it is this many times the limit.
constexpr double kLabelledAbove = 1.25;
/// Leaves room above the highest value.
constexpr double kHeadroom = 1.08;

constexpr std::string_view kStyle = R"svg(<style>
  .paper { fill: #ffffff; }
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
         font-size: 13px; fill: #1c2024; }
  .title { font-size: 18px; font-weight: 600; }
  .name { font-weight: 600; }
  .soft { fill: #5b6470; font-size: 12px; }
  .command { fill: #5b6470; font-family: ui-monospace, "DejaVu Sans Mono", monospace;
             font-size: 12px; white-space: pre; }
  .over { fill: #b93a0b; font-weight: 600; }
  .end { text-anchor: end; }
  .middle { text-anchor: middle; }
  .grid { stroke: #d5dae0; fill: none; }
  .allowed { fill: #1f6fb4; }
  .denied { fill: url(#hatch); stroke: #c2410c; stroke-width: 0.75; }
  .hatching { stroke: #c2410c; stroke-width: 1.6; }
  .within { fill: none; stroke: #1f6fb4; stroke-width: 2; stroke-linejoin: round; }
  .area { fill: #1f6fb4; fill-opacity: 0.15; }
  .worst { fill: #c2410c; fill-opacity: 0.12; stroke: #c2410c; stroke-width: 0.75; }
  .limit { stroke: #c2410c; stroke-width: 1.5; stroke-dasharray: 6 4; fill: none; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #15191e; }
    text { fill: #e8ebee; }
    .soft, .command { fill: #a0a9b3; }
    .over { fill: #ff9256; }
    .grid { stroke: #3a424b; }
    .allowed { fill: #62aef0; }
    .denied, .hatching, .limit { stroke: #ff9256; }
    .worst { fill: #ff9256; stroke: #ff9256; }
    .within { stroke: #62aef0; }
    .area { fill: #62aef0; fill-opacity: 0.2; }
  }
</style>
<defs>
  <pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse"
           patternTransform="rotate(45)"><path class="hatching" d="M0 0V4"/></pattern>
</defs>
)svg";

/// How many letters fit into a width, and the reverse.
std::size_t letters_in(double width, double letter) {
  return static_cast<std::size_t>(width / letter);
}
double length(std::size_t count, double each) {
  return static_cast<double>(count) * each;
}

/// The facts that a picture shows, in one text: "half the limit; seed 1; virtual time".
std::string facts_text(const std::vector<HeadFact>& facts) {
  std::string out;
  const auto add = [&out](const std::string& words) {
    if (!words.empty()) out += (out.empty() ? "" : "; ") + words;
  };
  for (const auto& [fact, pictured] : facts) {
    if (pictured == Pictured::kNothing) continue;
    if (pictured == Pictured::kAll) add(fact.main.words);
    for (const auto& remark : fact.about) add(remark.words);
  }
  return out;
}

class Drawing {
 public:
  explicit Drawing(const Document& document)
      : document_(document),
        plot_(document.plot),
        axis_(plot_.axis(kMaxSvgColumns)),
        side_by_side_(plot_.panels.size() == 2),
        most_within_(static_cast<double>(plot_.limit)) {
    if (side_by_side_) set_half(0);
    ticks_ = ticks_of(axis_, plot_.window, letters_in(right_ - left_, kLetter));
    for (const auto& panel : plot_.panels) {
      for (const auto& step : panel.curve) {
        if (step.at < axis_.to) most_within_ = std::max(most_within_, as_double(step.units));
      }
      for (const auto& bin : bins_.emplace_back(bins_in_columns(panel, axis_))) {
        most_at_once_ = std::max(most_at_once_, as_double(bin.allowed + bin.denied));
      }
      most_words_ = std::max(most_words_, words_of(panel).size());
    }
  }

  std::string draw() {
    head();
    panels();
    const auto columns = letters_in(kWidth - 2 * kMargin, kCodeLetter);
    for (const auto& line : command_lines(document_.command, columns)) {
      text(kMargin, y_ += kCaptionLine, "command", line);
    }
    return opening(y_ + kMargin) + out_ + "</svg>\n";
  }

 private:
  template <typename... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  void text(double x, double y, std::string_view classes, std::string_view content) {
    print("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, classes, xml(content));
  }

  std::string opening(double height) const {
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-labelledby=\"title\">\n"
        "<title id=\"title\">{2}</title>\n{3}"
        "<rect class=\"paper\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n",
        kWidth, height, xml(document_.title), kStyle);
  }

  // ---- The head ----

  void head() {
    const auto width = kWidth - 2 * kMargin;
    y_ = 28 - kTitleLine;
    for (const auto& line : filled_lines(document_.title, letters_in(width, kTitleLetter))) {
      text(kMargin, y_ += kTitleLine, "title", line);
    }
    y_ += 4;
    for (const auto& line : filled_lines(facts_text(document_.facts), letters_in(width, kLetter))) {
      text(kMargin, y_ += kLine, "soft", line);
    }
    y_ += 22;
    legend();
    y_ += 18;
  }

  /// The signs with their words, one after the other, on as many lines as they need.
  void legend() {
    struct Sign {
      std::string_view kind;
      double width;  ///< of a line or of a box; 0 without a sign
      std::string words;
    };
    constexpr double kLineSign = 24, kBoxSign = 14;
    std::vector<Sign> signs;
    if (plot_.has_curve()) {
      signs = {{"within", kLineSign, plot_.curve}, {"limit", kLineSign, "limit"}};
    }
    signs.push_back({"allowed", kBoxSign, "allowed"});
    signs.push_back({"denied", kBoxSign, "denied"});
    if (!plot_.marked.empty()) signs.push_back({"worst", kBoxSign, plot_.marked});
    signs.push_back({"", 0, fmt::format("bars: {} in {}", plot_.counted, column_text(axis_))});
    double x = kMargin;
    for (const auto& [kind, width, words] : signs) {
      const auto begin = width > 0 ? width + 6 : 0;  // of the words
      const auto end = begin + length(display_width(words), kLetter);
      if (x + end > kWidth - kMargin) {
        x = kMargin;
        y_ += kLine;
      }
      if (width == kLineSign) {
        print("<path class=\"{}\" d=\"M{:.1f} {:.1f}h24\"/>\n", kind, x, y_ - 4);
      } else if (width == kBoxSign) {
        print("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"10\"/>\n", kind,
              x, y_ - 9);
      }
      text(x + begin, y_, "soft", words);
      x += end + 20;
    }
  }

  // ---- The panels ----

  /// The next panel is the left one of two, or the right one.
  void set_half(std::size_t i) {
    const auto width = (kWidth - 2 * kMargin - kBetween) / 2;
    start_ = kMargin + length(i, width + kBetween);
    left_ = start_ + kScale;
    right_ = start_ + width;
  }

  void panels() {
    const auto top = y_;
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) {
      if (side_by_side_) {
        set_half(i);
        y_ = top;
      }
      panel(plot_.panels[i], bins_[i]);
      if (side_by_side_ || i + 1 == plot_.panels.size()) axis();
      y_ += kBelowPanel;
    }
    y_ += kAxis;
  }

  void panel(const Panel& panel, const std::vector<simulation::Timeline::Bin>& bins) {
    const auto& [name, verdict] = panel.heading;
    text(start_, y_ + 14, "name",
         cut_to_width(name.words, letters_in(right_ - start_, kNameLetter)));
    if (fits_beside(panel.heading)) {
      text(right_, y_ + 14, std::string(kind_of(verdict)) + " end", verdict.words);
    }
    const auto words = words_of(panel);
    for (std::size_t i = 0; i < words.size(); ++i) {
      text(start_, y_ + 14 + length(i + 1, kLine), words[i].first, words[i].second);
    }
    // Charts that are side by side begin at one height.
    y_ += kNameHeight + length(side_by_side_ ? most_words_ : words.size(), kLine);
    const auto counts_top = y_ + (plot_.has_curve() ? kChart + kBelowChart : 0);
    const auto bottom = counts_top + kCounts;
    for (const auto& tick : ticks_) {
      print("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x_of(tick.at), y_, bottom);
    }
    if (panel.marked) mark(*panel.marked, bottom);
    if (plot_.has_curve()) chart(panel);
    counts(bins, counts_top);
    y_ = bottom;
  }

  static std::string_view kind_of(const Text& verdict) {
    return verdict.tone == Tone::kBad ? "over" : "verdict";
  }

  bool fits_beside(const Heading& heading) const {
    const auto width = display_width(heading.name.words) + display_width(heading.verdict.words);
    return !side_by_side_ && width < letters_in(right_ - start_, kNameLetter);
  }

  /// The classes and texts of the lines between the name and the chart.
  std::vector<std::pair<std::string_view, std::string>> words_of(const Panel& panel) const {
    std::vector<std::pair<std::string_view, std::string>> lines;
    const auto add = [&](std::string_view kind, std::string_view words, double letter) {
      for (auto& line : filled_lines(words, letters_in(right_ - start_, letter))) {
        lines.emplace_back(kind, std::move(line));
      }
    };
    const auto& verdict = panel.heading.verdict;
    if (!fits_beside(panel.heading)) add(kind_of(verdict), verdict.words, kNameLetter);
    for (const auto& words : panel.words) add("soft", words, kLetter);
    return lines;
  }

  /// The columns from the first moment to the last.
  void mark(const std::pair<std::chrono::microseconds, std::chrono::microseconds>& marked,
            double bottom) {
    const auto from = x_of(std::floor(place_of(axis_, marked.first)));
    const auto to = x_of(std::floor(place_of(axis_, marked.second)) + 1);
    print("<rect class=\"worst\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>\n",
          from, y_, to - from, bottom - y_);
  }

  /// The steps as a line from the left to the right. What happens within one px is a stroke up to
  /// the highest of it.
  std::string line_of(const std::vector<Step>& steps, const auto& y_of) const {
    double drawn = 0;
    auto line = fmt::format("M{:.0f} {:.1f}", left_, y_of(drawn));
    for (auto step = steps.begin(); step != steps.end() && step->at < axis_.to;) {
      const auto x = px_of(step->at);
      auto highest = step->units, last = highest;
      for (; step != steps.end() && px_of(step->at) == x; ++step) {
        last = step->units;
        highest = std::max(highest, last);
      }
      if (x > left_) line += fmt::format("H{:.0f}", x);
      for (const auto units : {as_double(highest), as_double(last)}) {
        if (units == drawn) continue;
        line += fmt::format("V{:.1f}", y_of(units));
        drawn = units;
      }
    }
    return line + fmt::format("H{:.0f}", right_);
  }

  void chart(const Panel& panel) {
    const auto bottom = y_ + kChart;
    const auto limit = static_cast<double>(plot_.limit);
    const auto y_of = [&](double units) {
      return bottom - kChart * units / (most_within_ * kHeadroom);
    };
    if (!panel.curve.empty()) {
      const auto line = line_of(panel.curve, y_of);
      print("<path class=\"area\" d=\"{}V{:.1f}H{:.0f}Z\"/>\n", line, bottom, left_);
      print("<path class=\"within\" d=\"{}\"/>\n", line);
    }
    // Above the limit, which the curve of a limiter that delays does not exceed.
    if (!panel.later.empty()) text(right_ - 4, y_of(limit) - 5, "soft end", panel.later + " →");
    grid_line(bottom);
    print("<path class=\"limit\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, y_of(limit), right_);
    scale(y_of(limit), std::to_string(plot_.limit));
    scale(bottom, "0");
    if (most_within_ > limit * kLabelledAbove) {
      scale(y_of(most_within_), fmt::format("{:.0f}", most_within_));
    }
  }

  /// A number beside a chart.
  void scale(double y, std::string_view number) { text(left_ - 8, y + 4, "soft end", number); }

  void grid_line(double y) {
    print("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, y, right_);
  }

  void counts(const std::vector<simulation::Timeline::Bin>& bins, double top) {
    const auto bottom = top + kCounts;
    const auto bar = [&](std::string_view kind, std::size_t column, double from, double count) {
      if (count == 0) return;
      const auto height = kCounts * count / most_at_once_;
      const auto left = x_of(static_cast<double>(column));
      const auto width = (x_of(static_cast<double>(column + 1)) - left) * 0.86;
      print("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
            kind, left, bottom - kCounts * from / most_at_once_ - height, width, height);
    };
    for (std::size_t i = 0; i < bins.size(); ++i) {
      bar("allowed", i, 0, as_double(bins[i].allowed));
      bar("denied", i, as_double(bins[i].allowed), as_double(bins[i].denied));
    }
    grid_line(bottom);
    scale(top + 6, fmt::format("{:.0f}", most_at_once_));
  }

  void axis() {
    for (const auto& tick : ticks_) {
      const bool last = &tick == &ticks_.back();
      const std::string_view place = &tick == &ticks_.front() ? "" : last ? " end" : " middle";
      if (tick.text.empty()) continue;
      text(x_of(tick.at), y_ + 18, std::string("soft").append(place), tick.text);
    }
    text((left_ + right_) / 2, y_ + 36, "soft middle", "time " + plot_.times);
  }

  double x_of(double column) const {
    return left_ + (right_ - left_) * column / static_cast<double>(axis_.columns);
  }

  /// A time in whole px.
  double px_of(std::chrono::microseconds time) const {
    return std::round(std::max(x_of(place_of(axis_, time)), left_));
  }

  const Document& document_;
  const Plot& plot_;
  TimeAxis axis_;
  bool side_by_side_;  ///< two panels, each in half of the width
  std::vector<Tick> ticks_ = {};
  std::vector<std::vector<simulation::Timeline::Bin>> bins_ = {};  ///< of each panel
  double most_within_ = 1, most_at_once_ = 1;
  std::size_t most_words_ = 0;  ///< the most lines between a name and a chart
  /// Where the current panel's words begin, where its chart begins, and where both end.
  double start_ = kMargin, left_ = kMargin + kScale, right_ = kWidth - kMargin;
  double y_ = 0;  ///< what is above has been drawn
  std::string out_;
};

}  // namespace

std::string draw_svg(const Document& document) {
  return Drawing(document).draw();
}

}  // namespace rlctl::cli::trial
