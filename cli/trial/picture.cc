#include "cli/trial/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "cli/trial/holder_report.h"
#include "cli/trial/wording.h"

namespace rlctl::cli::trial {
namespace {

using std::chrono::microseconds;

/// Whether the schedule that a search found has refunds, which a plot does not show.
bool has_refunds(const Report& report) {
  return std::ranges::any_of(report.runs, [](const Run& run) {
    return run.search() != nullptr && run.search()->has_refunds;
  });
}

/// Sets what the axis of all runs covers.
void set_span(Plot& plot, const Report& report) {
  const auto& plan = report.plan;
  std::optional<microseconds> first;
  for (const auto& run : report.runs) {
    const auto& timeline = run.outcome.timeline;
    if (run.outcome.measured.sent == 0) continue;
    const auto begin = timeline.begin() - run.begin;
    first = first ? std::min(*first, begin) : begin;
    // Those of a search go on after the last request.
    plot.to = std::max(plot.to, std::max(timeline.end(), run.outcome.departures.end()) - run.begin);
    if (const auto* holders = run.holders(); holders != nullptr && !holders->report.steps.empty()) {
      plot.to = std::max(plot.to, holders->report.steps.back().at - run.begin);
    }
    // As the bins of the timelines do, columns begin at multiples of their width from this, which
    // is the same for all runs.
    plot.zero = timeline.zero() - run.begin;
  }
  plot.from = first.value_or(microseconds{0});
  // A schedule may be a single instant.
  if (plan.search()) plot.to = std::max(plot.to, plot.from + plot.window);
  const bool has_edges =
      plan.search() || (plan.pattern() && (!plan.is_real() || plan.pattern()->first_in_window));
  if (!has_edges) plot.from = std::min(plot.from, microseconds{0});
  if (shows_dates(report)) plot.recorded_at = report.recording->first();
}

std::string origin_text(const Report& report, const TimeAxis& axis) {
  if (axis.recorded_at) return "in UTC";
  if (axis.is_about_edge) return "from the edge of a window";
  if (report.recording) return "from the first request";
  const bool has_windows = !report.plan.is_real() && !report.plan.concurrency;
  return has_windows ? std::string(kFromWindow) : "from the beginning";
}

std::string curve_text(const Report& report) {
  const bool one_key = draws_one_key(report);
  if (has_holders(report.plan)) {
    return fmt::format("{}{}", holder_words(report.plan).used,
                       one_key ? " of the key with the most" : "");
  }
  return fmt::format("allowed{} within the last {}", one_key ? " to the named key" : "",
                     period_text(report.plan.limits.front().window));
}

std::string counted_text(const Report& report) {
  return fmt::format(
      "{}s{}{}", has_holders(report.plan) ? holder_words(report.plan).request : "request",
      draws_one_key(report) ? " of all keys" : "", has_refunds(report) ? " without refunds" : "");
}

/// Relative to Run::begin; empty if it is not drawn.
std::vector<Step> curve_of(const Report& report, const Run& run) {
  std::vector<Step> curve;
  if (const auto* holders = run.holders()) {
    for (const auto& [at, held] : holders->report.steps) curve.push_back({at, held});
  } else if ((report.plan.pattern() || traffic_keys(report) == 1) && !has_refunds(report)) {
    curve = steps_within_window(run.outcome.departures, report.plan.limits.front().window);
  }
  for (auto& step : curve) step.at -= run.begin;
  return curve;
}

Panel panel_of(const Report& report, const Run& run, const Judgement& judgement,
               microseconds origin) {
  Panel panel{.heading = heading_of(run, judgement),
              .curve = curve_of(report, run),
              .requests = run.outcome.timeline,
              .begin = run.begin};
  // In a text, the table of the schedule says why.
  if (run.search() && run.why) panel.words.push_back(*run.why);
  for (const auto& [sentence, is_advice] : judgement.remarks) {
    const auto& [label, words] = sentence;
    if (is_advice) continue;
    panel.words.push_back(label == kWhy ? words : fmt::format("{}: {}", label, words));
  }
  if (const auto& [at, units] = run.outcome.later; units > 0 && !panel.curve.empty()) {
    panel.later = fmt::format(
        "{} {} later, until {}", counted(units, "unit"), units == 1 ? "proceeds" : "proceed",
        shows_dates(report) ? instant_text(at) : offset_text(at - run.begin - origin));
  }
  const auto& worst = run.outcome.measured.worst;
  if (report.plan.search() && worst.allowed > 0) {
    panel.marked = {worst.from - run.begin, worst.from + worst.span - run.begin};
  }
  return panel;
}

}  // namespace

Plot make_plot(const Report& report, std::span<const Judgement> judgements) {
  const auto& limit = report.plan.limits.front();
  Plot plot{.limit = limit.limit,
            .window = limit.window,
            .curve = curve_text(report),
            .counted = counted_text(report),
            .marked = report.plan.search() ? "worst window" : ""};
  set_span(plot, report);
  constexpr std::size_t kFewestColumns = 2;
  const auto axis = plot.axis(kFewestColumns);
  plot.origin = axis.origin;
  plot.times = origin_text(report, axis);
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    plot.panels.push_back(panel_of(report, report.runs[i], judgements[i], plot.origin));
  }
  return plot;
}

bool draws_one_key(const Report& report) {
  return (report.plan.pattern() || has_holders(report.plan)) && traffic_keys(report) > 1;
}

std::vector<Step> steps_within_window(const simulation::Timeline& timeline, microseconds window) {
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

}  // namespace rlctl::cli::trial
