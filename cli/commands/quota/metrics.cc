#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "cli/commands/quota/report.h"
#include "limiter/limit.h"

namespace rlctl::cli::quota {
namespace {

using std::chrono::microseconds;

constexpr std::string_view kLastSuccess = "rlctl_last_success_timestamp_seconds";
/// Larger files are not this command's.
constexpr std::size_t kMaxPrevious = std::size_t{1} << 24;

double in_seconds(microseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

/// The limit as a label: "5/60s", "3" for leases; empty if it is not known.
std::string limit_label(const state::Inspection& inspection) {
  if (!inspection.limit) return {};
  if (!inspection.window) return std::to_string(*inspection.limit);
  return limiter::format_limit({.limit = *inspection.limit, .window = *inspection.window});
}

/// Keys that share a series.
struct Series {
  std::vector<PrometheusLabel> labels;
  const LimitStatus* fullest = nullptr;
  std::optional<std::int64_t> bytes = {};  ///< of those whose size is known
};

/// In the order of the first key of each.
std::vector<Series> series_of(std::span<const LimitStatus> statuses, std::size_t with_key,
                              const std::vector<PrometheusLabel>& file_label) {
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
      all.push_back({.labels = file_label, .fullest = &status});
      auto& labels = all.back().labels;
      labels.push_back({"policy", values[0]});
      labels.push_back({"algorithm", values[1]});
      labels.push_back({"limit", values[2]});
      labels.push_back({"key", values[3]});
    }
    auto& series = all[found->second];
    const auto bytes = inspection.exists() ? inspection.bytes : 0;
    if (bytes) series.bytes = series.bytes.value_or(0) + *bytes;
    const auto ratio = [](const LimitStatus& of) { return of.ratio().value_or(-1); };
    if (ratio(*series.fullest) < ratio(status)) series.fullest = &status;
  }
  return all;
}

template <typename Value>
std::optional<double> number(const std::optional<Value>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

/// The metrics of a series, in the order of the file.
struct Metric {
  std::string_view name, help;
  std::optional<double> (*value)(const Series& series);
};

constexpr Metric kMetrics[] = {
    {"rlctl_limit", "Units that the limit allows at once.",
     [](const Series& series) { return number(series.fullest->inspection.capacity()); }},
    {"rlctl_used", "Units of the limit in use.",
     [](const Series& series) { return number(series.fullest->inspection.used); }},
    {"rlctl_used_ratio", "Share of the limit in use.",
     [](const Series& series) { return series.fullest->ratio(); }},
    {"rlctl_remaining", "Requests of cost 1 that would be allowed now.",
     [](const Series& series) { return number(series.fullest->inspection.remaining); }},
    {"rlctl_reset_seconds", "Time until the key is as if it were unused.",
     [](const Series& series) -> std::optional<double> {
       const auto& reset = series.fullest->inspection.reset_after;
       return reset ? std::optional(in_seconds(*reset)) : std::nullopt;
     }},
    {"rlctl_key_bytes", "Memory of the keys in Redis.",
     [](const Series& series) { return number(series.bytes); }},
};

void append_health(PrometheusWriter& metrics, const std::vector<PrometheusLabel>& labels, bool up,
                   std::optional<double> last_success) {
  metrics.family("rlctl_up", "gauge", "Whether the server could be queried.");
  metrics.sample(labels, up ? 1 : 0);
  metrics.family(kLastSuccess, "gauge", "When the server was last queried successfully.");
  if (last_success) metrics.sample(labels, *last_success);
}

std::string previous_contents(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  try {
    return read_all(open_file(path), kMaxPrevious);
  } catch (const std::system_error&) {
    return {};  // then the time of the last success is not known
  }
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path, std::size_t keys_with_labels)
    : path_(path),
      keys_with_labels_(keys_with_labels),
      file_label_{textfile_label(path)},
      file_("--textfile", checked_textfile(path)) {}

void MetricsFile::write(std::span<const LimitStatus> statuses, microseconds now) {
  std::string text;
  PrometheusWriter metrics(text);
  append_health(metrics, file_label_, true, in_seconds(now));
  const auto unknown = std::count_if(statuses.begin(), statuses.end(), [](const auto& one) {
    return one.state == PluginState::kUnknown;
  });
  metrics.family("rlctl_unknown_limits", "gauge", "Number of limits that could not be evaluated.");
  metrics.sample(file_label_, static_cast<double>(unknown));
  const auto all = series_of(statuses, keys_with_labels_, file_label_);
  for (const auto& metric : kMetrics) {
    metrics.family(metric.name, "gauge", metric.help);
    for (const auto& series : all) {
      if (const auto value = metric.value(series)) metrics.sample(series.labels, *value);
    }
  }
  commit(text);
}

void MetricsFile::write_failure() {
  const auto last = find_prometheus_sample(previous_contents(path_), kLastSuccess, file_label_);
  std::string text;
  PrometheusWriter metrics(text);
  append_health(metrics, file_label_, false, last);
  commit(text);
}

void MetricsFile::commit(const std::string& text) {
  file_.write(text);
  file_.commit();
}

}  // namespace rlctl::cli::quota
