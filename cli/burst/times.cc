#include "cli/burst/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "cli/burst/columns.h"
#include "cli/burst/latency.h"
#include "cli/term/style.h"
#include "cli/term/text_block.h"

namespace rlctl::cli {
namespace {

using std::chrono::nanoseconds;
using traffic::Histogram;
using traffic::Timing;

using TimesOf = const Histogram& (*)(const Timing&);
using Value = std::string (*)(const Timing&);

/// The others are for programs: more do not fit a line.
constexpr std::array<std::string_view, 4> kShown{"p50", "p90", "p99", "p99_9"};

bool is_shown(const Percentile& percentile) {
  return std::find(kShown.begin(), kShown.end(), percentile.name) != kShown.end();
}

nanoseconds rounded(double number) {
  return nanoseconds{static_cast<std::int64_t>(number)};
}

std::string time_text(const std::optional<nanoseconds>& time) {
  return time ? latency_text(*time) : std::string(kNoValue);
}

/// A column; what was not timed has nothing to say.
void add_timed(BurstColumns& columns, std::string_view title,
               const std::function<std::string(const Timing&)>& value) {
  columns.add(title, [&value](const BurstRun& run) {
    const auto& timing = run.outcome.timing;
    return timing ? value(*timing) : std::string(kNoValue);
  });
}

void append_times(std::string& out, const BurstReport& report, const Look& look,
                  std::string_view title, TimesOf times) {
  BurstColumns columns(report, look, title);
  add_timed(columns, "n",
            [&](const Timing& timing) { return fmt::to_string(times(timing).count()); });
  for (const auto& percentile : kPercentiles) {
    if (!is_shown(percentile)) continue;
    add_timed(columns, percentile.title, [&](const Timing& timing) {
      return time_text(times(timing).percentile(percentile.percent));
    });
  }
  const auto known = [&](const Timing& timing, nanoseconds time) {
    return times(timing).count() > 0 ? latency_text(time) : std::string(kNoValue);
  };
  add_timed(columns, "max",
            [&](const Timing& timing) { return known(timing, times(timing).max()); });
  add_timed(columns, "mean",
            [&](const Timing& timing) { return known(timing, rounded(times(timing).mean_ns())); });
  columns.append(out);
}

std::string server_text(const Timing& timing) {
  if (!timing.server_us_per_call) return std::string(kNoValue);
  return latency_text(rounded(*timing.server_us_per_call * 1e3));
}

/// What was sent and answered; on a schedule also whether that is what was to be.
void append_rates(std::string& out, const BurstReport& report, const Look& look) {
  BurstColumns columns(report, look, "rates");
  const bool on_schedule = !report.real->is_closed_loop();
  const auto rate = [](double per_second) {
    return per_second > 0 ? rate_text(per_second) : std::string(kNoValue);
  };
  if (on_schedule) {
    add_timed(columns, "offered", [&](const Timing& all) { return rate(all.offered_per_second); });
  }
  add_timed(columns, "answered", [&](const Timing& all) { return rate(all.achieved_per_second); });
  add_timed(columns, "server per call", server_text);
  if (on_schedule) {
    add_timed(columns, "lag p99",
              [](const Timing& all) { return time_text(all.lag.percentile(kP99)); });
    add_timed(columns, "sender", [&](const Timing& all) {
      const bool valid = all.is_valid();
      return toned(valid ? "kept up" : "fell behind", valid ? Tone::kPlain : Tone::kBad,
                   look.colour);
    });
  }
  columns.append(out);
}

/// How many answers the percentiles need that some run could not tell; empty where all could.
std::string needs_text(const BurstReport& report) {
  std::string text;
  for (const auto& percentile : kPercentiles) {
    const auto lacks = [&](const BurstRun& run) {
      const auto& timing = run.outcome.timing;
      return timing && timing->service.count() < percentile.needs();
    };
    if (!is_shown(percentile)) continue;
    if (std::none_of(report.runs.begin(), report.runs.end(), lacks)) continue;
    text += fmt::format("{}{} needs {}", text.empty() ? "" : ", ", percentile.title,
                        percentile.needs());
  }
  return text;
}

void append_words(std::string& out, const BurstReport& report, const Look& look) {
  TextBlock block(out, look);
  if (!report.real->is_closed_loop()) {
    block.row("response", "from due to answered", "however late it was sent");
  }
  block.row("service", "from sent to answered");
  const auto needs = needs_text(report);
  if (!needs.empty()) block.row(kNoValue, "too few answers", needs);
}

}  // namespace

void append_burst_times(std::string& out, const BurstReport& report, const Look& look) {
  if (!report.real->is_closed_loop()) {
    append_times(out, report, look, "response time",
                 [](const Timing& timing) -> const Histogram& { return timing.response; });
    out += '\n';
  }
  append_times(out, report, look, "service time",
               [](const Timing& timing) -> const Histogram& { return timing.service; });
  out += '\n';
  append_rates(out, report, look);
  append_words(out, report, look);
}

}  // namespace rlctl::cli
