#include "cli/burst/timing_data.h"

#include <cmath>
#include <utility>
#include <vector>

#include "cli/burst/latency.h"

namespace rlctl::cli {
namespace {

using std::chrono::nanoseconds;
using traffic::Histogram;
using traffic::Timing;

constexpr std::string_view kNull = "null";

/// With three decimals: more is noise.
double to_thousandths(double number) {
  return std::round(number * 1e3) / 1e3;
}

struct Statistic {
  std::string_view name;
  std::optional<double> us = {};
};

/// Always the same ones; without a value what is not known, which is all of them where there is no
/// histogram.
std::vector<Statistic> statistics_of(const Histogram* times) {
  const bool any = times != nullptr && times->count() > 0;
  std::vector<Statistic> all;
  const auto add = [&](std::string_view name, auto ns) {
    all.push_back({name, any ? std::optional(as_us(ns(*times))) : std::nullopt});
  };
  const auto as_double = [](nanoseconds time) { return static_cast<double>(time.count()); };
  add("min", [&](const Histogram& of) { return as_double(of.min()); });
  for (const auto& percentile : kPercentiles) {
    all.push_back({percentile.name});
    const auto value = any ? times->percentile(percentile.percent) : std::nullopt;
    if (value) all.back().us = as_us(as_double(*value));
  }
  add("max", [&](const Histogram& of) { return as_double(of.max()); });
  add("mean", [](const Histogram& of) { return of.mean_ns(); });
  add("stdev", [](const Histogram& of) { return of.stdev_ns(); });
  return all;
}

struct Field {
  std::string_view name;
  std::string value = {};  ///< empty where it is not known
};

template <typename Value>
std::string field(const std::optional<Value>& value) {
  return known(value, {});
}

std::vector<Field> fields_of(const std::optional<Timing>& timing) {
  const auto rate = [&](double Timing::*of) {
    const bool is_known = timing && (*timing).*of > 0;
    return is_known ? std::optional(to_thousandths((*timing).*of)) : std::nullopt;
  };
  std::optional<double> server;
  if (timing && timing->server_us_per_call) server = to_thousandths(*timing->server_us_per_call);
  std::optional<bool> valid;
  if (timing) valid = timing->is_valid();
  return {{"server_us_per_call", field(server)},
          {"offered_per_second", field(rate(&Timing::offered_per_second))},
          {"achieved_per_second", field(rate(&Timing::achieved_per_second))},
          {"valid", field(valid)}};
}

/// Null where nothing of the kind is timed: in a closed loop nothing is due.
const Histogram* histogram_of(const std::optional<Timing>& timing, const TimedSpan& span) {
  if (!timing) return nullptr;
  const bool needs_schedule = &span.of(*timing) != &timing->service;
  return needs_schedule && timing->response.count() == 0 ? nullptr : &span.of(*timing);
}

void append_statistics(std::string& out, const Histogram* times) {
  if (times == nullptr) {
    out += kNull;
    return;
  }
  out += fmt::format("{{\"n\":{}", times->count());
  for (const auto& [name, us] : statistics_of(times)) {
    out += fmt::format(",\"{}\":{}", name, known(us, kNull));
  }
  out += '}';
}

}  // namespace

void append_timing_json(std::string& out, const std::optional<Timing>& timing) {
  for (const auto& [name, value] : fields_of(timing)) {
    out += fmt::format("\"{}\":{},", name, value.empty() ? kNull : value);
  }
  out += "\"latency_us\":";
  if (!timing) {
    out += kNull;
    return;
  }
  std::string_view before = "{";
  for (const auto& span : timed_spans()) {
    out += fmt::format("{}\"{}\":", std::exchange(before, ","), span.name);
    append_statistics(out, histogram_of(timing, span));
  }
  out += '}';
}

void append_timing_csv_names(std::string& out) {
  out += ",clock,clients,pipeline";
  for (const auto& [name, value] : fields_of({})) out.append(",").append(name);
  for (const auto& span : timed_spans()) {
    out += fmt::format(",{}_n", span.name);
    for (const auto& [name, us] : statistics_of(nullptr)) {
      out += fmt::format(",{}_{}_us", span.name, name);
    }
  }
}

void append_timing_csv(std::string& out, const BurstReport& report, const BurstRun& run) {
  const auto& timing = run.outcome.timing;
  out += report.real
             ? fmt::format(",real,{},{}", report.real->clients, field(report.real->pipeline))
             : ",virtual,,";
  for (const auto& [name, value] : fields_of(timing)) out.append(",").append(value);
  for (const auto& span : timed_spans()) {
    const auto* times = histogram_of(timing, span);
    out += times != nullptr ? fmt::format(",{}", times->count()) : ",";
    for (const auto& [name, us] : statistics_of(times)) out.append(",").append(field(us));
  }
}

}  // namespace rlctl::cli
