#include "cli/trial/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "base/time.h"
#include "cli/trial/holder_report.h"

namespace rlctl::cli::trial {
namespace {

// In px; viewers scale the picture. The style uses no variables: not every viewer supports them.
constexpr double kWidth = 800, kMargin = 20;
constexpr double kBetween = 24;  ///< the space between two panels side by side
constexpr double kScale = 56;    ///< the width of the numbers beside a chart
constexpr double kHeader = 88;   ///< title of one line, traffic, legend
constexpr double kTitleLine = 22, kWhyLine = 16;
constexpr double kNameHeight = 26;  ///< the algorithm, above its panel
constexpr double kChart = 110, kBelowChart = 10, kCounts = 44, kBelow = 22;
constexpr double kAxis = 44, kCaptionLine = 17;
constexpr double kSoftLetter = 6.5;  ///< the width of an average letter of class soft, and more
constexpr std::size_t kMaxSvgColumns = 120;
constexpr std::size_t kCaptionLetters = 92;
constexpr std::size_t kNameLetters = 44;  // beside the verdict, or alone in half of the width
constexpr std::size_t kWhyLetters = 120, kHalfWhyLetters = 58;
constexpr std::size_t kTitleLetters = 68;
constexpr std::size_t kTitleLines = 3;
constexpr std::size_t kKeyLetters = 24;                           // in the verdict
constexpr std::size_t kAxisLetters = 100, kHalfAxisLetters = 46;  // along an axis
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
)svg";
/// The rules that differ in the dark.
constexpr std::string_view kDarkStyle = R"svg(
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
)svg";
constexpr std::string_view kDefinitions = R"svg(<defs>
  <pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse"
           patternTransform="rotate(45)"><path class="hatching" d="M0 0V4"/></pattern>
</defs>
)svg";

/// The space at which to break a line, not after a number: its unit follows.
std::size_t break_of(std::string_view line) {
  auto space = line.rfind(' ');
  while (space != line.npos && space > 0 && is_digit(line[space - 1])) {
    space = line.rfind(' ', space - 1);
  }
  return space == line.npos ? 0 : space;
}

/// The text as lines of at most `letters` columns, broken at spaces; if there would be more than
/// `most`, the last one ends in an ellipsis.
std::vector<std::string> lines_of(std::string_view text, std::size_t letters,
                                  std::size_t most = SIZE_MAX) {
  std::vector<std::string> lines;
  std::string rest = escaped_message(text);
  while (display_width(rest) > letters && lines.size() + 1 < most) {
    const auto part = cut_to_width(rest, letters + 1);
    const auto space = break_of(part);
    const auto line = space == 0 ? cut_to_width(rest, letters) : part.substr(0, space);
    lines.push_back(line);
    rest.erase(0, line.size());
    rest.erase(0, rest.find_first_not_of(' '));
  }
  if (display_width(rest) > letters) {
    const auto part = cut_to_width(rest, letters - 1);
    const auto space = part.rfind(' ');
    rest = part.substr(0, space) + "…";
  }
  lines.push_back(rest);
  return lines;
}

class Drawing {
 public:
  explicit Drawing(const Report& report)
      : report_(report),
        picture_(picture_of(report, kMaxSvgColumns)),
        side_by_side_(report.runs.size() == 2),
        ticks_(ticks_of(picture_.axis, picture_.window,
                        side_by_side_ ? kHalfAxisLetters : kAxisLetters)),
        caption_(command_lines(report.plan.command, kCaptionLetters)),
        most_within_(static_cast<double>(picture_.limit)) {
    for (const auto& panel : picture_.panels) {
      for (const auto& step : panel.steps) {
        if (step.at < picture_.axis.to)
          most_within_ = std::max(most_within_, as_double(step.units));
      }
      for (const auto& bin : panel.requests) {
        most_at_once_ = std::max(most_at_once_, static_cast<double>(bin.allowed + bin.denied));
      }
    }
    chart_height_ = picture_.has_chart ? kChart + kBelowChart : 0;
    for (const auto& run : report.runs) most_words_ = std::max(most_words_, words_of(run).size());
    title_height_ = kTitleLine * static_cast<double>(title_lines().size() - 1);
    height_ =
        kHeader + title_height_ + kAxis + kCaptionLine * static_cast<double>(caption_.size()) + 12;
    for (std::size_t i = 0; i < report.runs.size(); i += side_by_side_ ? 2 : 1) {
      height_ += panel_height(report.runs[i]);
    }
  }

  std::string draw() {
    open();
    header();
    double y = kHeader + title_height_;
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      const auto& run = report_.runs[i];
      const bool is_last = i + 1 == report_.runs.size();
      if (side_by_side_) set_half(i);
      panel(run, picture_.panels[i], y);
      if (is_last || side_by_side_) axis(y + panel_height(run) - kBelow);
      if (is_last || !side_by_side_) y += panel_height(run);
    }
    y += kAxis - 8;
    for (const auto& line : caption_) text(kMargin, y += kCaptionLine, "command", line);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <typename... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  void text(double x, double y, std::string_view classes, std::string_view content) {
    print("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, classes, xml(content));
  }

  void open() {
    print(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-labelledby=\"title\">\n",
        kWidth, height_);
    print("<title id=\"title\">{}</title>\n", xml(title()));
    style();
    print("<rect class=\"paper\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", kWidth, height_);
  }

  void style() {
    out_ += kStyle;
    print("  @media (prefers-color-scheme: dark) {{{}  }}\n", kDarkStyle);
    out_.append("</style>\n").append(kDefinitions);
  }

  /// The next panel is the left one of two, or the right one.
  void set_half(std::size_t i) {
    const auto width = (kWidth - 2 * kMargin - kBetween) / 2;
    start_ = kMargin + static_cast<double>(i) * (width + kBetween);
    left_ = start_ + kScale;
    right_ = start_ + width;
  }

  void header() {
    const auto& request = report_.plan.request;
    double y = 28 - kTitleLine;
    for (const auto& line : title_lines()) text(kMargin, y += kTitleLine, "title", line);
    std::string about(traffic_text(report_));
    if (report_.plan.search() && report_.plan.search()->exhaustive) {
      about +=
          "; every schedule of up to " + counted(*report_.plan.search()->exhaustive, "request");
    } else if (report_.plan.pattern() || report_.plan.search()) {
      about += fmt::format("; seed {}", request.seed);
    }
    if (report_.recording) {
      about += fmt::format("; {} requests", report_.recording->counts().requests);
    }
    if (const auto keys = traffic_keys(report_); keys > 1) {
      about += fmt::format(", {} keys", keys);
    }
    if (report_.plan.concurrency) about += "; " + holds_text(report_.plan);
    if (report_.plan.reserve) about += "; " + reservations_text(report_.plan);
    if (request.cost > 1 && !report_.plan.reserve) about += fmt::format(", cost {}", request.cost);
    about += report_.plan.is_real() ? ", real time" : ", virtual time";
    text(kMargin, y + 20, "soft", about);
    legend(y + 42);
  }

  /// The signs with their words, one after the other.
  void legend(double y) {
    const bool one_key = draws_one_key(report_);
    double x = kMargin;
    const auto words = [&](double sign, std::string_view content) {
      x += sign + 6;
      text(x, y, "soft", content);
      x += kSoftLetter * static_cast<double>(display_width(content)) + 20;
    };
    const auto line = [&](std::string_view kind, std::string_view content) {
      print("<path class=\"{}\" d=\"M{:.1f} {:.1f}h24\"/>\n", kind, x, y - 4);
      words(24, content);
    };
    const auto box = [&](std::string_view kind, std::string_view content) {
      print("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"10\"/>\n", kind, x,
            y - 9);
      words(14, content);
    };
    if (picture_.has_chart && has_holders(report_.plan)) {
      line("within",
           fmt::format("{}{}", chart_words(report_.plan), one_key ? ", of that key" : ""));
      line("limit", "limit");
    } else if (picture_.has_chart) {
      line("within", fmt::format("allowed{} within the last {}", one_key ? " to that key" : "",
                                 period_text(picture_.window)));
      line("limit", "limit");
    }
    box("allowed", "allowed");
    box("denied", "denied");
    if (report_.plan.search()) box("worst", "worst window");
    text(right_, y, "soft end",
         fmt::format("{}bars: {} in {}", has_refunds(report_) ? "refunds are not shown; " : "",
                     one_key ? "all keys," : request_words(report_.plan),
                     column_text(picture_.axis)));
  }

  void panel(const Run& run, const Panel& panel, double top) {
    const auto& worst = run.outcome.measured.worst;
    double y = top + 14;
    text(start_, y, "name", cut_to_width(run.name, kNameLetters));
    if (!side_by_side_) text(right_, y, is_good(run) ? "end" : "over end", verdict_of(run));
    for (const auto& [kind, line] : words_of(run)) text(start_, y += kWhyLine, kind, line);
    const auto chart_top = top + kNameHeight + words_height(run);
    const auto counts_top = chart_top + chart_height_;
    for (const auto& tick : ticks_) {
      print("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x_of(tick.at), chart_top,
            counts_top + kCounts);
    }
    if (report_.plan.search()) mark(worst, chart_top, counts_top + kCounts);
    if (picture_.has_chart) chart(run, panel.steps, chart_top);
    counts(panel.requests, counts_top);
  }

  std::string verdict_of(const Run& run) const {
    if (run.holders()) return holders_verdict(report_, run).text;
    if (run.search())
      return finding_verdict(run.search()->result.most, *run.search(), {.utf8 = true});
    const auto& worst = run.outcome.measured.worst;
    const auto key = cut_to_width(escaped_message(run.worst_key()), kKeyLetters);
    const bool has_keys = traffic_keys(report_) > 1;
    if (const auto kept = verdict_within_limit(worst.allowed, worst.ratio)) {
      return kept->text + (has_keys && worst.allowed > 0 ? "; closest: key " + key : std::string());
    }
    const auto verdict = fmt::format("{} allowed within {}: {}× the limit", worst.allowed,
                                     span_text(worst.span), ratio_text(worst.ratio));
    return has_keys ? fmt::format("key {}: {}", key, verdict) : verdict;
  }

  bool is_good(const Run& run) const {
    if (run.holders()) return holders_verdict(report_, run).tone != Tone::kBad;
    const auto& worst = run.outcome.measured.worst;
    const auto kept = verdict_within_limit(worst.allowed, worst.ratio);
    return kept && kept->tone == Tone::kGood;
  }

  struct Line {
    std::string_view kind;  ///< its class
    std::string text;
  };

  /// The lines between the name and the chart: why, and before that the verdict, if it has no room
  /// beside the name.
  std::vector<Line> words_of(const Run& run) const {
    std::vector<Line> words;
    if (side_by_side_) words.push_back({is_good(run) ? "verdict" : "over", verdict_of(run)});
    if (!run.why) return words;
    for (auto& line : lines_of(*run.why, side_by_side_ ? kHalfWhyLetters : kWhyLetters)) {
      words.push_back({"soft", std::move(line)});
    }
    return words;
  }

  /// Charts that are side by side begin at one height.
  double words_height(const Run& run) const {
    return kWhyLine * static_cast<double>(side_by_side_ ? most_words_ : words_of(run).size());
  }

  /// The columns from the first unit of the worst window to the last.
  void mark(const traffic::Worst& worst, double top, double bottom) {
    if (worst.allowed == 0) return;
    const auto from = x_of(std::floor(place_of(picture_.axis, worst.from)));
    const auto to = x_of(std::floor(place_of(picture_.axis, worst.from + worst.span)) + 1);
    print("<rect class=\"worst\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>\n",
          from, top, to - from, bottom - top);
  }

  /// The steps as a line from the left to the right. What happens within one px is a stroke up to
  /// the highest of it.
  std::string line_of(std::span<const Step> steps, const auto& y_of) const {
    double drawn = 0;
    auto line = fmt::format("M{:.0f} {:.1f}", left_, y_of(drawn));
    for (auto step = steps.begin(); step != steps.end() && step->at < picture_.axis.to;) {
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

  void chart(const Run& run, std::span<const Step> steps, double top) {
    const auto bottom = top + kChart;
    const auto limit = static_cast<double>(picture_.limit);
    const auto y_of = [&](double units) {
      return bottom - kChart * units / (most_within_ * kHeadroom);
    };
    if (!steps.empty()) {
      const auto line = line_of(steps, y_of);
      print("<path class=\"area\" d=\"{}V{:.1f}H{:.0f}Z\"/>\n", line, bottom, left_);
      print("<path class=\"within\" d=\"{}\"/>\n", line);
      // Above the limit, which the curve of a limiter that delays does not exceed.
      if (const auto later = later_text(report_, run, picture_.axis); !later.empty()) {
        text(right_ - 4, y_of(limit) - 5, "soft end", later + " →");
      }
    }
    grid_line(bottom);
    print("<path class=\"limit\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, y_of(limit), right_);
    text(left_ - 8, y_of(limit) + 4, "soft end", std::to_string(picture_.limit));
    text(left_ - 8, bottom + 4, "soft end", "0");
    if (most_within_ > limit * kLabelledAbove) {
      text(left_ - 8, y_of(most_within_) + 4, "soft end", fmt::format("{:.0f}", most_within_));
    }
  }

  void grid_line(double y) {
    print("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left_, y, right_);
  }

  void counts(const std::vector<traffic::Timeline::Bin>& bins, double top) {
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
      const auto allowed = static_cast<double>(bins[i].allowed);
      bar("allowed", i, 0, allowed);
      bar("denied", i, allowed, static_cast<double>(bins[i].denied));
    }
    grid_line(bottom);
    text(left_ - 8, top + 10, "soft end", fmt::format("{:.0f}", most_at_once_));
  }

  void axis(double y) {
    for (const auto& tick : ticks_) {
      const bool last = &tick == &ticks_.back();
      const std::string_view place = &tick == &ticks_.front() ? "" : last ? " end" : " middle";
      if (tick.text.empty()) continue;
      text(x_of(tick.at), y + 18, std::string("soft").append(place), tick.text);
    }
    text((left_ + right_) / 2, y + 36, "soft middle",
         picture_.axis.recorded_at     ? "time in UTC"
         : picture_.axis.is_about_edge ? "time from the edge of a window"
         : report_.recording           ? "time from the first request"
         : report_.plan.is_real() || report_.plan.concurrency
             ? "time from the beginning"
             : "time from the beginning of a window");
  }

  double x_of(double column) const {
    return left_ + (right_ - left_) * column / static_cast<double>(picture_.axis.columns);
  }

  /// A time in whole px.
  double px_of(std::chrono::microseconds time) const {
    return std::round(std::max(x_of(place_of(picture_.axis, time)), left_));
  }

  double panel_height(const Run& run) const {
    return kNameHeight + words_height(run) + chart_height_ + kCounts + kBelow;
  }

  std::vector<std::string> title_lines() const {
    return lines_of(title(), kTitleLetters, kTitleLines);
  }

  std::string title() const {
    const auto& limit = report_.plan.limits.front();
    if (report_.plan.concurrency) {
      return fmt::format("{}: {}", traffic_name(report_), leases_text(report_.plan));
    }
    return fmt::format("{}: {} per {}", traffic_name(report_), limit.limit, window_text(limit));
  }

  const Report& report_;
  Picture picture_;
  bool side_by_side_;  ///< two panels, each in half of the width
  std::vector<Tick> ticks_;
  std::vector<std::string> caption_;
  double most_within_ = 1, most_at_once_ = 1;
  double chart_height_ = 0;  ///< with the space below it; 0 if there is no chart
  std::size_t most_words_ = 0;
  /// Where the current panel's words begin, where its chart begins, and where both end.
  double start_ = kMargin, left_ = kMargin + kScale, right_ = kWidth - kMargin;
  double title_height_ = 0;  ///< of the lines after the first
  double height_ = 0;
  std::string out_;
};

}  // namespace

std::string draw_svg(const Report& report) {
  return Drawing(report).draw();
}

}  // namespace rlctl::cli::trial
