#include "cli/burst/latency.h"

#include <fmt/format.h>

#include <cmath>

#include "base/time.h"

namespace rlctl::cli {
namespace {

using traffic::Histogram;
using traffic::Timing;

constexpr std::array kSpans{
    TimedSpan{"service", [](const Timing& timing) -> const Histogram& { return timing.service; }},
    TimedSpan{"response", [](const Timing& timing) -> const Histogram& { return timing.response; }},
    TimedSpan{"lag", [](const Timing& timing) -> const Histogram& { return timing.lag; }},
};

/// Less of what was offered than this is told as a reason.
constexpr double kEnough = 0.99;

/// "p99 1.2 ms", or the longest where there are too few.
std::string tail_text(const Histogram& histogram) {
  const auto p99 = histogram.percentile(kP99);
  return (p99 ? "p99 " : "at most ") + latency_text(p99.value_or(histogram.max()));
}

}  // namespace

std::int64_t Percentile::needs() const noexcept {
  return std::llround(static_cast<double>(Histogram::kBeyond) / (1 - percent / 100));
}

std::span<const TimedSpan> timed_spans() {
  return kSpans;
}

double as_us(double nanoseconds) {
  return std::round(nanoseconds) / 1e3;
}

const Histogram& waited_for(const Timing& timing) {
  return timing.response.count() > 0 ? timing.response : timing.service;
}

std::string rate_text(double per_second) {
  return fmt::format("{:.{}f}/s", per_second, per_second < 100 ? 1 : 0);
}

std::optional<std::string> why_overloaded(const BurstRun& run) {
  constexpr double kLongEnough = 1;  // seconds, beside which the last answers' time is little
  const auto& timing = run.outcome.timing;
  if (!timing || timing->seconds < kLongEnough) return std::nullopt;
  if (timing->achieved_per_second >= kEnough * timing->sent_per_second) return std::nullopt;
  return fmt::format(
      "{}: the server answered {} of {}, so that times grow with the traffic's length", run.name,
      rate_text(timing->achieved_per_second), rate_text(timing->sent_per_second));
}

std::optional<std::string> why_invalid(const BurstRun& run) {
  const auto& timing = run.outcome.timing;
  if (!timing || timing->is_valid()) return std::nullopt;
  auto text = fmt::format("{}: the sender fell behind: lag {}, service {}", run.name,
                          tail_text(timing->lag), tail_text(timing->service));
  if (timing->sent_per_second < timing->offered_per_second * kEnough) {
    text += fmt::format(", {} of {} sent", rate_text(timing->sent_per_second),
                        rate_text(timing->offered_per_second));
  }
  return text + "; the times are not to be relied on";
}

}  // namespace rlctl::cli
