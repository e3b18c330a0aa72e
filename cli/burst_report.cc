#include "cli/burst_report.h"

#include <fmt/format.h>

#include <string_view>

namespace rlctl::cli {
namespace {

constexpr int kMostDecimals = 9;
constexpr std::string_view kNeedNoQuotes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%";

}  // namespace

std::string command_line(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) {
    if (!out.empty()) out += ' ';
    out += shell_quoted(word);
  }
  return out;
}

std::string shell_quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(kNeedNoQuotes) == word.npos) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string_view traffic_text(const BurstReport& report) {
  if (report.real && report.real->is_closed_loop()) return "as fast as answers come";
  return report.pattern ? report.pattern->summary : "recorded traffic";
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
