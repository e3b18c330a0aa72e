#include "cli/trial/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/time.h"
#include "cli/terminal/table.h"

namespace rlctl::cli::trial {

using std::chrono::microseconds;

// --- What both pictures have in common -----------------------------------------------------------

std::vector<Step> steps_within_window(const traffic::Timeline& timeline, microseconds window) {
  constexpr std::int64_t kMinBinsOfWindow = 8;
  const auto& bins = timeline.bins();
  if (window / timeline.width() < kMinBinsOfWindow) return {};
  const auto in_window = static_cast<std::size_t>(window / timeline.width());
  std::vector<Step> steps{{.at = timeline.first(), .units = 0}};
  const auto add = [&](std::size_t bin, std::int64_t change) {
    if (change == 0) return;
    const auto at = timeline.first() + timeline.width() * static_cast<std::int64_t>(bin);
    const auto units = steps.back().units + change;
    if (steps.back().at == at) {
      steps.back().units = units;
    } else {
      steps.push_back({at, units});
    }
  };
  for (std::size_t i = 0; i < bins.size(); ++i) {
    add(i, bins[i].allowed - (i >= in_window ? bins[i - in_window].allowed : 0));
  }
  // Units leave the window after the last bin, too.
  for (auto i = std::max(in_window, bins.size()); i - in_window < bins.size(); ++i) {
    add(i, -bins[i - in_window].allowed);
  }
  return steps;
}

std::vector<std::int64_t> highest_in_columns(std::span<const Step> steps, const TimeAxis& axis) {
  std::vector<std::int64_t> columns;
  const auto width = column_width(axis);
  std::int64_t units = 0;
  auto next = steps.begin();
  for (std::size_t i = 0; i < axis.columns; ++i) {
    const auto begin = axis.from + width * static_cast<std::int64_t>(i);
    for (; next != steps.end() && next->at <= begin; ++next) units = next->units;
    auto highest = units;
    for (; next != steps.end() && next->at < begin + width; ++next) {
      units = next->units;
      highest = std::max(highest, units);
    }
    columns.push_back(highest);
  }
  return columns;
}

std::string later_text(const Report& report, const Run& run, const TimeAxis& axis) {
  const auto& later = run.outcome.later;
  if (later.cost == 0) return {};
  const auto until = shows_dates(report) ? instant_text(later.at)
                                         : offset_text(later.at - run.begin - axis.origin);
  return fmt::format("{} {} later, until {}", counted(later.cost, "unit"),
                     later.cost == 1 ? "proceeds" : "proceed", until);
}

std::string_view chart_words(const Plan& plan) {
  return plan.reserve ? "spent or held at once" : "held at once";
}

std::string_view request_words(const Plan& plan) {
  return plan.reserve ? "reservations" : plan.concurrency ? "acquires" : "requests";
}

bool draws_one_key(const Report& report) {
  return report.plan.pattern() && traffic_keys(report) > 1;
}

namespace {

/// The axis of all runs.
TimeAxis axis_of(const Report& report, microseconds window, std::size_t most_columns) {
  const auto& plan = report.plan;
  std::optional<microseconds> first, zero;
  microseconds last{0};
  for (const auto& run : report.runs) {
    const auto& timeline = run.outcome.timeline;
    if (run.outcome.measured.sent == 0) continue;
    const auto begin = timeline.begin() - run.begin;
    first = first ? std::min(*first, begin) : begin;
    // Those of a search go on after the last request.
    last = std::max(last, std::max(timeline.end(), run.outcome.departures.end()) - run.begin);
    if (const auto* holders = run.holders(); holders != nullptr && !holders->report.steps.empty()) {
      last = std::max(last, holders->report.steps.back().at - run.begin);
    }
    // As the bins of the timelines do, columns begin at multiples of their width from this, which
    // is the same for all runs.
    zero = timeline.zero() - run.begin;
  }
  auto begin = first.value_or(microseconds{0});
  // A schedule may be a single instant.
  if (plan.search()) last = std::max(last, begin + window);
  const bool has_edges =
      plan.search() || (plan.pattern() && (!plan.is_real() || plan.pattern()->first_in_window));
  if (!has_edges) begin = std::min(begin, microseconds{0});
  return make_time_axis(
      begin, last, window, most_columns,
      shows_dates(report) ? std::optional(report.recording->first()) : std::nullopt, zero);
}

}  // namespace

Picture picture_of(const Report& report, std::size_t most_columns) {
  const auto& limit = report.plan.limits.front();
  Picture picture{
      .window = limit.window,
      .limit = limit.limit,
      .has_chart = (report.plan.pattern() || traffic_keys(report) == 1) && !has_refunds(report),
      .axis = axis_of(report, limit.window, most_columns)};
  for (const auto& run : report.runs) {
    auto own = picture.axis;  // in the run's own time
    own.from += run.begin;
    own.to += run.begin;
    auto& panel = picture.panels.emplace_back();
    panel.requests = run.outcome.timeline.columns(own.from, column_width(own), own.columns);
    if (const auto* holders = run.holders()) {
      for (const auto& [at, held] : holders->report.steps) {
        panel.steps.push_back({at - run.begin, held});
      }
      continue;
    }
    if (!picture.has_chart) continue;
    panel.steps = steps_within_window(run.outcome.departures, limit.window);
    for (auto& step : panel.steps) step.at -= run.begin;
  }
  const auto has_steps = [](const Panel& panel) { return !panel.steps.empty(); };
  picture.has_chart = std::ranges::any_of(picture.panels, has_steps);
  return picture;
}

// --- The plot in the terminal --------------------------------------------------------------------

namespace {

using Bins = std::vector<traffic::Timeline::Bin>;

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

class Plot {
 public:
  Plot(std::string& out, const Report& report, const Look& look)
      : out_(out), report_(report), look_(look), glyphs_(glyphs(look.utf8)) {
    auto most = report.plan.limits.front().limit;
    for (const auto& run : report.runs) {
      const auto* holders = run.holders();
      most = std::max(most, holders != nullptr ? holders->report.most_ever.both()
                                               : run.outcome.measured.worst.allowed);
    }
    gutter_ = std::max(gutter_, std::to_string(most).size());
    const auto taken = gutter_ + 2;
    const auto columns = look.columns > taken + kMinColumns ? look.columns - taken : kMinColumns;
    has_later_ = std::ranges::any_of(report.runs, has_later);
    picture_ = picture_of(report, std::min(columns, kMaxColumns) - (has_later_ ? 1 : 0));
    for (const auto& panel : picture_.panels) {
      for (const auto& bin : panel.requests) {
        highest_ = std::max({highest_, bin.allowed, bin.denied});
      }
    }
    if (report.runs.size() >= kManyRuns) rows_ = kRowsOfMany;
  }

  void append() {
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      if (i > 0) out_ += '\n';
      append_run(report_.runs[i], picture_.panels[i]);
    }
    append_axis();
    append_notes();
  }

 private:
  /// How far the limit was exceeded, if it was, and for which key if there are several.
  std::string verdict_of(const Run& run) const {
    const auto& worst = run.outcome.measured.worst;
    const bool says_key = traffic_keys(report_) > 1 && worst.allowed > 0;
    const auto key = says_key ? "key " + escaped_message(run.worst_key()) : std::string();
    if (const auto kept = verdict_within_limit(worst.allowed, worst.ratio)) {
      return kept->text + (says_key ? "; closest: " + key : std::string());
    }
    const auto text = fmt::format("{}{} the limit{}", ratio_text(worst.ratio), glyphs_.times,
                                  says_key ? " of " + key : std::string());
    const auto with_span = text + " within " + span_text(worst.span);
    return display_width(with_span) + 2 <= look_.columns ? with_span : text;
  }

  void append_run(const Run& run, const Panel& panel) {
    const auto& worst = run.outcome.measured.worst;
    const auto kept = verdict_within_limit(worst.allowed, worst.ratio);
    const auto [verdict, verdict_tone] =
        run.holders() ? holders_verdict(report_, run)
                      : Verdict{verdict_of(run), kept ? kept->tone : Tone::kBad};
    const auto name = escaped_message(run.name);
    const bool beside = display_width(name) + 2 + display_width(verdict) <= look_.columns;
    out_.append(tone(name, Tone::kLabel)).append(beside ? "  " : "\n  ");
    out_.append(tone(verdict, verdict_tone)).append("\n");
    append_chart(run, panel);
    append_counts(panel.requests);
  }

  static bool has_later(const Run& run) { return run.outcome.later.cost > 0; }

  /// The units allowed within the last window; each row is a fixed part of the limit.
  void append_chart(const Run& run, const Panel& panel) {
    if (panel.steps.empty()) return;
    const auto within = highest_in_columns(panel.steps, picture_.axis);
    const auto limit = static_cast<double>(picture_.limit);
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
    for (std::size_t i = kLimit.size(); i < picture_.axis.columns; ++i) text += glyphs_.line;
    line(std::to_string(picture_.limit), glyphs_.crossing,
         tone(text.append(kLimit), Tone::kWarning));
    for (int row = rows_; row > 0; --row) {
      const auto mark = row == 1 && has_later(run) ? later_mark() : "";
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
    const auto ticks = ticks_of(picture_.axis, picture_.window, picture_.axis.columns);
    std::vector<std::string_view> marks(picture_.axis.columns, glyphs_.line);
    std::string labels;
    for (const auto& tick : ticks) {
      const bool first = &tick == &ticks.front(), last = &tick == &ticks.back();
      const auto column = std::min(static_cast<std::size_t>(tick.at), picture_.axis.columns - 1);
      if (!first) marks[column] = last ? glyphs_.end : glyphs_.tick;
      if (tick.text.empty()) continue;
      pad(labels, display_width(labels), text_begin(picture_.axis, tick, picture_.axis.columns));
      labels += tick.text;
    }
    std::string axis;
    for (const auto mark : marks) axis += mark;
    line("", glyphs_.corner, tone(axis, Tone::kDim));
    line("", " ", labels);
  }

  void append_notes() {
    TextBlock block(out_, look_);
    const bool one_key = draws_one_key(report_);
    if (picture_.has_chart && has_holders(report_.plan)) {
      block.row("chart", chart_words(report_.plan),
                one_key ? "of the key of which most are" : "against the limit");
    } else if (picture_.has_chart) {
      block.row("chart", fmt::format("allowed within the last {}", period_text(picture_.window)),
                one_key ? "to the named key, against the limit" : "against the limit");
    }
    const std::string what(request_words(report_.plan));
    block.row("rows", one_key ? what + " of all keys" : what,
              fmt::format("a column is {}, the highest {}", column_text(picture_.axis), highest_));
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      const auto& run = report_.runs[i];
      if (picture_.panels[i].steps.empty() || !has_later(run)) continue;
      block.row("later", escaped_message(run.name),
                fmt::format("{} {}", later_mark(), later_text(report_, run, picture_.axis)));
    }
    if (picture_.axis.recorded_at) block.row("times", "UTC");
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
  const Report& report_;
  const Look& look_;
  const Glyphs& glyphs_;
  std::size_t gutter_ = kAllowed.size();
  Picture picture_;
  std::int64_t highest_ = 1;  ///< the most requests in a column
  bool has_later_ = false;    ///< units proceed after the traffic
  int rows_ = kRows;
};

}  // namespace

void append_plot(std::string& out, const Report& report, const Look& look) {
  const auto sent_nothing = [](const Run& run) { return run.outcome.measured.sent == 0; };
  if (std::all_of(report.runs.begin(), report.runs.end(), sent_nothing)) return;
  Plot(out, report, look).append();
}

}  // namespace rlctl::cli::trial
