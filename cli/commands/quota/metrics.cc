#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/file.h"
#include "base/prometheus.h"
#include "base/time.h"
#include "cli/commands/quota/report.h"
#include "limiter/limit.h"

namespace rlctl::cli::quota {
namespace {

constexpr std::string_view kLastSuccess = "rlctl_last_success_timestamp_seconds";

std::optional<double> in_seconds(std::optional<microseconds> time) {
  return time ? std::optional(static_cast<double>(time->count()) / 1e6) : std::nullopt;
}

/// The limit as a label: "5/60s", "3" for leases; empty if it is not known.
std::string limit_label(const stored::Inspection& inspection) {
  if (!inspection.limit) return {};
  if (!inspection.window) return std::to_string(*inspection.limit);
  return limiter::format_limit(
      {.limit = *inspection.limit, .window = *inspection.window, .calendar = inspection.calendar});
}

/// Keys that share a series.
struct Series {
  std::vector<PrometheusLabel> labels;
  const stored::Inspection* fullest = nullptr;
  std::optional<std::int64_t> bytes = {};  ///< of those whose size is known
};

/// In the order of the first key of each.
std::vector<Series> series_of(std::span<const LimitStatus> statuses, std::size_t with_key,
                              const PrometheusLabel& file_label) {
  std::vector<Series> all;
  std::map<std::vector<std::string>, std::size_t> indices;
  for (const auto& status : statuses) {
    const auto& inspection = status.inspection;
    if (!inspection.used) continue;
    const bool has_key = status.operand < with_key;
    const std::vector<std::string> values{status.policy, status.series_algorithm,
                                          limit_label(inspection), has_key ? inspection.key : ""};
    const auto [found, is_new] = indices.emplace(values, all.size());
    if (is_new) {
      all.push_back({.labels = {file_label,
                                {"policy", values[0]},
                                {"algorithm", values[1]},
                                {"limit", values[2]},
                                {"key", values[3]}},
                     .fullest = &inspection});
    }
    auto& series = all[found->second];
    const auto bytes = inspection.exists() ? inspection.bytes : 0;
    if (bytes) series.bytes = series.bytes.value_or(0) + *bytes;
    if (series.fullest->ratio().value_or(-1) < inspection.ratio().value_or(-1)) {
      series.fullest = &inspection;
    }
  }
  return all;
}

std::optional<double> number(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

/// The metrics of a series, in the order of the file.
struct Metric {
  std::string_view name, help;
  std::optional<double> (*value)(const Series& series);
};

constexpr Metric kMetrics[] = {
    {"rlctl_limit", "Units that the limit allows at once.",
     [](const Series& series) { return number(series.fullest->capacity()); }},
    {"rlctl_used", "Units of the limit in use.",
     [](const Series& series) { return number(series.fullest->used); }},
    {"rlctl_used_ratio", "Share of the limit in use.",
     [](const Series& series) { return series.fullest->ratio(); }},
    {"rlctl_remaining", "Requests of cost 1 that would be allowed now.",
     [](const Series& series) { return number(series.fullest->remaining); }},
    {"rlctl_reset_seconds", "Time until the key is as if it were unused.",
     [](const Series& series) { return in_seconds(series.fullest->reset_after); }},
    {"rlctl_key_bytes", "Memory of the keys in Redis.",
     [](const Series& series) { return number(series.bytes); }},
};

std::string previous_contents(const std::string& path) {
  constexpr std::size_t kMaxSize = std::size_t{1} << 24;  // larger files are not this command's
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  try {
    return read_all(open_file(path), kMaxSize);
  } catch (const std::system_error&) {
    return {};  // then the time of the last success is not known
  }
}

}  // namespace

std::string metrics_text(const std::string& path, std::span<const LimitStatus> statuses,
                         std::size_t keys_with_labels) {
  const std::vector<PrometheusLabel> file_label{textfile_label(path)};
  const bool is_up = std::ranges::any_of(statuses, &LimitStatus::was_read);
  std::string text;
  PrometheusWriter metrics(text);
  metrics.family("rlctl_up", "gauge", "Whether the server could be queried.");
  metrics.sample(file_label, is_up ? 1 : 0);
  metrics.family(kLastSuccess, "gauge", "When the server was last queried successfully.");
  const auto last_success =
      is_up ? in_seconds(system_time())
            : find_prometheus_sample(previous_contents(path), kLastSuccess, file_label);
  if (last_success) metrics.sample(file_label, *last_success);
  if (!is_up) return text;
  metrics.family("rlctl_unknown_limits", "gauge", "Number of limits that could not be evaluated.");
  metrics.sample(file_label, static_cast<double>(std::ranges::count(statuses, PluginState::kUnknown,
                                                                    &LimitStatus::state)));
  const auto all = series_of(statuses, keys_with_labels, file_label.front());
  for (const auto& metric : kMetrics) {
    metrics.family(metric.name, "gauge", metric.help);
    for (const auto& series : all) {
      if (const auto value = metric.value(series)) metrics.sample(series.labels, *value);
    }
  }
  return text;
}

}  // namespace rlctl::cli::quota
