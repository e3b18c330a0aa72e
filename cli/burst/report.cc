#include "cli/burst/report.h"

#include <fmt/format.h>

#include <string_view>

#include "base/shell.h"
#include "base/text.h"
#include "cli/burst/latency.h"

namespace rlctl::cli {
namespace {

constexpr int kMostDecimals = 9;

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

std::string traffic_text(const BurstReport& report) {
  if (report.real && report.real->is_closed_loop()) return "as fast as answers come";
  if (!report.pattern) return "recorded traffic";
  const auto& rate = report.request.rate;
  if (rate) return fmt::format("{} {}", rate_text(*rate), report.pattern->rate);
  return std::string(report.pattern->summary);
}

std::string_view traffic_name(const BurstReport& report) {
  return report.pattern ? report.pattern->name : "replay";
}

std::int64_t traffic_keys(const BurstReport& report) {
  if (report.recording) return static_cast<std::int64_t>(report.recording->keys());
  return report.request.keys;
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

}  // namespace rlctl::cli
