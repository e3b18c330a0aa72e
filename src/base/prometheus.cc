#include "base/prometheus.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace rlctl {
namespace {

void append_label_value(std::string& out, std::string_view value) {
  while (!value.empty()) {
    auto length = utf8_length(value);
    const auto byte = static_cast<unsigned char>(value.front());
    const bool is_control =
        (byte < ' ' && byte != '\n') || byte == 0x7F || control_character_at(value) != 0;
    // The other bytes of a control character are not UTF-8 without the first.
    if (is_control) length = 0;
    if (length == 0) {
      fmt::format_to(std::back_inserter(out), "\\\\x{:02x}", byte);
    } else if (value.front() == '\n') {
      out += "\\n";
    } else if (value.front() == '\\') {
      out += R"(\\\\)";
    } else {
      if (value.front() == '"') out += '\\';
      out += value.substr(0, length);
    }
    value.remove_prefix(length > 0 ? length : 1);
  }
}

/// name{label="value",…}
std::string sample_name(std::string_view name, std::span<const PrometheusLabel> labels) {
  std::string out(name);
  char before = '{';
  for (const auto& label : labels) {
    if (label.value.empty()) continue;
    out.append(1, before).append(label.name).append("=\"");
    append_label_value(out, label.value);
    out += '"';
    before = ',';
  }
  if (before == ',') out += '}';
  return out;
}

}  // namespace

void PrometheusWriter::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  header_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void PrometheusWriter::sample(std::span<const PrometheusLabel> labels, double value) {
  out_ += std::exchange(header_, {});
  fmt::format_to(std::back_inserter(out_), "{} {}\n", sample_name(name_, labels), value);
}

const std::string& checked_textfile(const std::string& path) {
  constexpr std::string_view kSuffix = ".prom";
  if (path.ends_with(kSuffix) && path.size() > kSuffix.size()) return path;
  throw UsageError("--textfile: the name of " + quoted_and_masked(path) + " does not end in .prom",
                   "node_exporter's textfile collector reads only such files");
}

PrometheusLabel textfile_label(const std::string& path) {
  return {"file", path.substr(path.rfind('/') + 1)};
}

std::optional<double> find_prometheus_sample(std::string_view text, std::string_view name,
                                             std::span<const PrometheusLabel> labels) {
  const auto wanted = sample_name(name, labels) + " ";
  while (!text.empty()) {
    const auto line = take_until(text, "\n");
    if (!line.starts_with(wanted)) continue;
    if (const auto value = to_number<double>(line.substr(wanted.size()))) return value;
  }
  return std::nullopt;
}

}  // namespace rlctl
