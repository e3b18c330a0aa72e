#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/prometheus.h"
#include "base/wait.h"
#include "cli/commands/check/plan.h"
#include "cli/commands/check/top_keys.h"

namespace rlctl::cli::check {

/// Counts the answers of a batch: for --shadow, --textfile and --top-denied.
class Tally {
 public:
  /// How often the text file is written.
  static constexpr std::chrono::seconds kInterval{10};

  /// The arguments must outlive this. Writes the text file for the first time, and throws
  /// OutputError if it cannot be written.
  Tally(const Plan& plan, std::string_view command);

  /// A decision of the limiter.
  void add(const Result& result);
  /// A line without a decision, whatever --on-error made of it.
  void add_error() { ++errors_; }

  /// When write_if_due() has something to do next.
  [[nodiscard]] Deadline next_write() const noexcept { return next_write_; }
  /// Writes the text file if it is time. If that fails, returns a warning, once: the answers matter
  /// more.
  [[nodiscard]] std::string write_if_due();
  /// Reports the totals: on stderr, and in the text file. Throws OutputError if that cannot be
  /// written.
  void end();

 private:
  [[nodiscard]] std::string metrics() const;
  [[nodiscard]] std::vector<PrometheusLabel> labels(PrometheusLabel last) const;
  void write() const;
  void report_shadow() const;
  void report_top() const;

  const Plan& plan_;
  std::string_view command_;
  std::int64_t allowed_ = 0, denied_ = 0, errors_ = 0;
  std::optional<TopKeys> top_;
  Deadline next_write_ = kNoDeadline;
  bool has_warned_ = false;
};

}  // namespace rlctl::cli::check
