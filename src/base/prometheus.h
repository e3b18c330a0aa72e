#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

// Metrics for Prometheus, which `check` and `quota` write with --textfile. `quota` also reads the
// file of its last run, to keep the time of the last success.

namespace rlctl {

/// A label of a Prometheus sample. A label with an empty value is left out.
struct PrometheusLabel {
  std::string_view name;
  std::string value;
};

/// Appends metrics in Prometheus's text format, version 0.0.4, to a string: for the textfile
/// collector of node_exporter, so without times.
///
///     PrometheusWriter metrics(out);
///     metrics.family("rlctl_used", "gauge", "Units of the limit in use.");
///     metrics.sample(labels, 5);
class PrometheusWriter {
 public:
  /// `out` must outlive this. Its contents stay.
  explicit PrometheusWriter(std::string& out) : out_(out) {}

  /// Begins a family. A family without samples is not written. `type` is "gauge" or "counter";
  /// `name` must stay valid until the next family.
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// In a label's value, a byte that is not UTF-8 becomes the text \xNN, and a backslash two, so
  /// that different values stay different.
  void sample(std::span<const PrometheusLabel> labels, double value);

 private:
  std::string& out_;
  std::string_view name_;
  std::string header_;  ///< the family's comments; empty once they are written
};

/// The path, if node_exporter's textfile collector reads a file of this name. Throws UsageError,
/// naming --textfile, if it does not.
const std::string& checked_textfile(const std::string& path);
/// The label "file", which keeps the series of several such files apart.
PrometheusLabel textfile_label(const std::string& path);

/// The value of a sample in what PrometheusWriter wrote, such as the file of the last run;
/// std::nullopt if there is no such sample.
std::optional<double> find_prometheus_sample(std::string_view text, std::string_view name,
                                             std::span<const PrometheusLabel> labels);

}  // namespace rlctl
