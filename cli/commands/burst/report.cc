#include "cli/commands/burst/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/shell.h"
#include "base/time.h"
#include "cli/commands/burst/wording.h"
#include "cli/options/log_options.h"
#include "cli/terminal/bars.h"
#include "limiter/why.h"
#include "traffic/pattern.h"

namespace rlctl::cli {
namespace {

using traffic::Histogram;
using traffic::Timing;

constexpr int kMostDecimals = 9;

/// "p99 1.2 ms", or "at most" the longest time if there are too few times.
std::string tail_text(const Histogram& histogram) {
  const auto p99 = histogram.percentile(kP99);
  return (p99 ? "p99 " : "at most ") + latency_text(p99.value_or(histogram.max()));
}

}  // namespace

std::vector<std::string> command_lines(const std::vector<std::string>& words, std::size_t columns) {
  constexpr std::string_view kNext = " \\", kIndent = "    ";
  std::vector<std::string> lines{""};
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto piece = shell_quoted(words[i]);
    if (words[i].starts_with("--") && i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      const auto both = piece + ' ' + shell_quoted(words[i + 1]);
      if (kIndent.size() + both.size() + kNext.size() <= columns) {
        piece = both;
        ++i;
      }
    }
    auto& line = lines.back();
    if (!line.empty() && line.size() + 1 + piece.size() + kNext.size() > columns) {
      line += kNext;
      lines.push_back(std::string(kIndent) + piece);
    } else {
      line += (line.empty() ? "" : " ") + piece;
    }
  }
  return lines;
}

std::optional<std::string> why_of(const traffic::Candidate& candidate,
                                  const traffic::Measured& measured, std::int64_t highest_cost,
                                  bool is_search) {
  // Which of several limits denied a request is not known.
  const bool is_ambiguous = candidate.limits.size() > 1 && measured.worst.ratio <= 1;
  if (candidate.foreign || is_ambiguous) return std::nullopt;
  const auto& worst = measured.worst;
  return limiter::why(*candidate.algorithm, {.limit = candidate.limits[worst.limit],
                                             .cost = highest_cost,
                                             .denied = measured.denied,
                                             .keys_denied = measured.keys_denied,
                                             .has_several_keys = measured.keys > 1,
                                             .allowed = worst.allowed,
                                             .span = worst.span,
                                             .edge = worst.edge,
                                             .after_edge = worst.after_edge,
                                             .longest_delay = measured.longest_delay,
                                             .is_search = is_search,
                                             .text_of = is_search ? exact_text : span_text});
}

std::string clock_text(const RealClock& clock) {
  auto text = fmt::format("{} loop, {} client{}", clock.is_closed_loop() ? "closed" : "open",
                          clock.clients, plural(clock.clients));
  if (clock.pipeline) text += fmt::format(", pipeline {}", *clock.pipeline);
  return text;
}

bool has_refunds(const BurstReport& report) {
  return std::any_of(report.runs.begin(), report.runs.end(),
                     [](const auto& run) { return run.search && run.search->has_refunds; });
}

bool shows_dates(const BurstReport& report) {
  return report.recording && !report.plan.real;
}

std::string traffic_text(const BurstReport& report) {
  if (report.plan.real && report.plan.real->is_closed_loop()) return "as fast as answers come";
  if (report.is_search) return std::string(kSearchSummary);
  if (!report.plan.pattern) return "recorded traffic";
  const auto& rate = report.plan.request.rate;
  if (rate) return fmt::format("{} {}", rate_text(*rate), report.plan.pattern->rate);
  return std::string(report.plan.pattern->summary);
}

std::string_view traffic_name(const BurstReport& report) {
  if (report.is_search) return kAdversary;
  return report.plan.pattern ? report.plan.pattern->name : "replay";
}

std::int64_t traffic_keys(const BurstReport& report) {
  if (report.recording) return static_cast<std::int64_t>(report.recording->keys());
  return report.plan.request.keys;
}

std::string ratio_text(double ratio) {
  std::string text;
  for (int decimals = 2; decimals <= kMostDecimals; ++decimals) {
    text = fmt::format("{:.{}f}", ratio, decimals);
    const bool reads_one = text.front() == '1' && text.find_first_not_of("0", 2) == text.npos;
    if (ratio == 1 || !reads_one) break;
  }
  return text;
}

std::int64_t Percentile::needs() const noexcept {
  return std::llround(static_cast<double>(Histogram::kBeyond) / (1 - percent / 100));
}

const Histogram& waited_for(const Timing& timing) {
  return timing.response.count() > 0 ? timing.response : timing.service;
}

std::string rate_text(double per_second) {
  return fmt::format("{:.{}f}/s", per_second, per_second < 100 ? 1 : 0);
}

std::optional<std::string> why_overloaded(const BurstRun& run) {
  constexpr double kLongEnough = 1;  // seconds: the wait for the last answers hardly matters
  const auto& timing = run.outcome.timing;
  if (!timing || timing->seconds < kLongEnough) return std::nullopt;
  if (timing->achieved_per_second >= Timing::kKeptUp * timing->sent_per_second) return std::nullopt;
  return fmt::format(
      "{}: the server answered {} of {}, so times grow with the length of the traffic", run.name,
      rate_text(timing->achieved_per_second), rate_text(timing->sent_per_second));
}

std::optional<std::string> why_invalid(const BurstRun& run) {
  const auto& timing = run.outcome.timing;
  if (!timing || timing->is_valid()) return std::nullopt;
  auto text = fmt::format("{}: the sender fell behind: lag {}, service {}", run.name,
                          tail_text(timing->lag), tail_text(timing->service));
  if (timing->sent_per_second < timing->offered_per_second * Timing::kKeptUp) {
    text += fmt::format(", {} of {} sent", rate_text(timing->sent_per_second),
                        rate_text(timing->offered_per_second));
  }
  return text + "; the times are not reliable";
}

}  // namespace rlctl::cli
