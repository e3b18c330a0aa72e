#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/prometheus.h"
#include "cli/commands/quota/range.h"
#include "cli/errors/failure.h"
#include "cli/errors/plugin_state.h"
#include "state/inspection.h"

namespace rlctl::cli::quota {

/// When to alert.
struct Thresholds {
  Range warning, critical;
};

/// A limit, how much of it is used, and what that means.
struct LimitStatus {
  state::Inspection inspection = {};  ///< only its key, if it could not be read
  std::string policy = {};            ///< to which the key belongs, if to one
  std::string algorithm = {};         ///< that wrote the key or, if it does not exist, would
  std::string series_algorithm = {};  ///< the same for metrics: does not depend on the key's state
                                      ///< if the limit does not
  std::size_t operand = 0;            ///< the index of the KEY to which the key belongs
  bool is_only_operand = false;       ///< the key is the only KEY
  PluginState state = PluginState::kUnknown;
  std::optional<Problem> problem = {};  ///< why the state is unknown
  bool was_read = true;

  /// The share of the limit that is used, 0 to 1 or above; none if it is not known.
  [[nodiscard]] std::optional<double> ratio() const;
};

/// The worst state comes last: OK, UNKNOWN, WARNING, CRITICAL; in it, the fullest limit.
[[nodiscard]] bool less_severe(const LimitStatus& a, const LimitStatus& b);

/// "66.6", "80", "80.04": the percentage, rounded down so that it is whole only if it is exact.
/// Requires used >= 0 and most > 0.
[[nodiscard]] std::string percent_text(std::int64_t used, std::int64_t most);

/// Appends the first line, which names the worst limit and holds all performance data; for several
/// limits, then one line each, with `only_problems` without those that are OK.
void append_text(std::string& out, std::span<const LimitStatus> statuses,
                 const Thresholds& thresholds, bool only_problems);
/// The same for a failure that leaves nothing to judge.
void append_failure_text(std::string& out, const Problem& problem);

/// Appends one JSON object and a line end.
void append_json(std::string& out, std::span<const LimitStatus> statuses);
void append_failure_json(std::string& out, const Problem& problem);

/// The file for node_exporter's textfile collector.
class MetricsFile {
 public:
  /// `keys_with_labels` is the number of operands whose keys have series of their own, the first
  /// ones; each of the other keys belongs to the series of its policy, algorithm and limit, which
  /// describes the fullest of them. Throws UsageError if the collector would not read a file of
  /// that name, and OutputError if it cannot be written.
  MetricsFile(const std::string& path, std::size_t keys_with_labels);

  /// Writes the file after the server was asked at `now`.
  void write(std::span<const LimitStatus> statuses, std::chrono::microseconds now);
  /// Writes it after the server could not be asked; keeps the time of the last success.
  void write_failure();

 private:
  void commit(const std::string& text);

  std::string path_;
  std::size_t keys_with_labels_;
  std::vector<PrometheusLabel> file_label_;
  OutputFile file_;
};

}  // namespace rlctl::cli::quota
