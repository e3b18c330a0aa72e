#include "cli/burst/measure.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "cli/burst/latency.h"

namespace rlctl::cli {
namespace {

using traffic::Histogram;
using traffic::Measured;
using traffic::Timing;

double as_double(std::int64_t number) {
  return static_cast<double>(number);
}

/// What is known under any clock.
struct Count {
  std::string_view name;
  double (*of)(const Measured&);
  bool needs_requests = false;  ///< of none it is not known
};

constexpr std::array kCounts{
    Count{"worst", [](const Measured& all) { return all.worst.ratio; }, true},
    Count{"sent", [](const Measured& all) { return as_double(all.sent); }},
    Count{"allowed", [](const Measured& all) { return as_double(all.allowed); }},
    Count{"denied", [](const Measured& all) { return as_double(all.denied); }},
    Count{"denied_share",
          [](const Measured& all) { return as_double(all.denied) / as_double(all.sent); }, true},
    Count{"keys", [](const Measured& all) { return as_double(all.keys); }},
    Count{"keys_denied", [](const Measured& all) { return as_double(all.keys_denied); }},
    Count{"longest_shut_out_us",
          [](const Measured& all) { return as_double(all.longest_shut_out.count()); }},
    Count{"longest_delay_us",
          [](const Measured& all) { return as_double(all.longest_delay.count()); }},
    Count{"retry_after_broken",
          [](const Measured& all) { return as_double(all.retry_error.broken); }},
};

BurstMeasure as_measure(const Count& count) {
  return {.name = std::string(count.name),
          .of = [count](const BurstRun& run) -> std::optional<double> {
            const auto& measured = run.outcome.measured;
            if (count.needs_requests && measured.sent == 0) return std::nullopt;
            return count.of(measured);
          }};
}

/// Of what is only known under the real clock; `value` takes a Timing.
template <typename Value>
BurstMeasure timed(std::string name, Value value, std::int64_t needs_answers = 0) {
  return {.name = std::move(name),
          .of = [value](const BurstRun& run) -> std::optional<double> {
            const auto& timing = run.outcome.timing;
            return timing ? value(*timing) : std::nullopt;
          },
          .needs_real_clock = true,
          .needs_answers = needs_answers};
}

using HistogramOf = const Histogram& (*)(const Timing&);

BurstMeasure percentile_of(HistogramOf times, std::string_view prefix, const Percentile& which) {
  const auto value = [times, percent = which.percent](const Timing& timing) {
    const auto found = times(timing).percentile(percent);
    return found ? std::optional(as_us(as_double(found->count()))) : std::nullopt;
  };
  return timed(fmt::format("{}{}_us", prefix, which.name), value, which.needs());
}

BurstMeasure statistic_of(HistogramOf times, std::string_view prefix, std::string_view name,
                          double (*nanoseconds)(const Histogram&)) {
  const auto value = [times, nanoseconds](const Timing& timing) {
    const auto& histogram = times(timing);
    return histogram.count() > 0 ? std::optional(as_us(nanoseconds(histogram))) : std::nullopt;
  };
  return timed(fmt::format("{}{}_us", prefix, name), value, 1);
}

void add_times(std::vector<BurstMeasure>& all, HistogramOf times, std::string_view prefix) {
  for (const auto& which : kPercentiles) all.push_back(percentile_of(times, prefix, which));
  all.push_back(statistic_of(times, prefix, "max", [](const Histogram& histogram) {
    return as_double(histogram.max().count());
  }));
  all.push_back(statistic_of(times, prefix, "mean",
                             [](const Histogram& histogram) { return histogram.mean_ns(); }));
}

}  // namespace

std::vector<BurstMeasure> search_measures() {
  const auto found = [](auto value) {
    return [value](const BurstRun& run) -> std::optional<double> {
      return run.search ? std::optional(value(*run.search)) : std::nullopt;
    };
  };
  return {as_measure(kCounts.front()),
          {.name = "most_stepping_back",
           .of = found([](const SearchFindings& all) { return all.most_stepping_back; })},
          {.name = "wrongly_denied",
           .of = found([](const SearchFindings& all) { return as_double(all.wrongly_denied); })}};
}

std::vector<BurstMeasure> burst_measures() {
  std::vector<BurstMeasure> all;
  for (const auto& count : kCounts) all.push_back(as_measure(count));
  all.push_back({.name = "bytes_per_key",
                 .of = [](const BurstRun& run) { return run.outcome.bytes_per_key; }});
  add_times(all, waited_for, "");
  add_times(
      all, [](const Timing& timing) -> const Histogram& { return timing.service; }, "service_");
  all.push_back(
      timed("server_us_per_call", [](const Timing& timing) { return timing.server_us_per_call; }));
  all.push_back(timed("achieved_per_second", [](const Timing& timing) {
    return std::optional(timing.achieved_per_second);
  }));
  return all;
}

}  // namespace rlctl::cli
