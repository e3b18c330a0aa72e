#include "cli/commands/burst/wording.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/report.h"
#include "cli/options/script_options.h"

namespace rlctl::cli {

void append_pasteable(std::string& out, const std::vector<std::string>& command, const Look& look) {
  for (const auto& line : command_lines(command, look.columns)) out.append(line).append("\n");
}

void append_script_rows(TextBlock& block, const BurstPlan& plan) {
  for (const auto& candidate : plan.candidates) {
    if (!candidate.foreign) continue;
    block.row("script", escaped_text(candidate.foreign->name), reading_text(*candidate.foreign));
  }
}

void append_virtual_clock(TextBlock& block) {
  block.row("clock", "virtual time", "latencies not measured");
}

void append_sentence(std::string& out, std::string_view label, std::string_view text,
                     const Look& look) {
  out += toned(label, Tone::kLabel, look.colour);
  pad(out, label.size(), TextBlock::kLabel);
  append_filled(out, text, TextBlock::kLabel, look.columns);
}

std::optional<Verdict> verdict_within_limit(std::int64_t allowed, double ratio) {
  if (allowed == 0) return Verdict{"allows nothing", Tone::kBad};
  if (ratio <= 1) return Verdict{"never above the limit", Tone::kGood};
  return std::nullopt;
}

std::string exact_text(std::chrono::microseconds span) {
  if (span % std::chrono::minutes{1} == std::chrono::microseconds{0}) return span_text(span);
  const auto count = static_cast<double>(span.count());
  if (span < std::chrono::milliseconds{1}) return fmt::format("{} µs", span.count());
  if (span < std::chrono::seconds{1}) return fmt::format("{} ms", count / 1e3);
  return fmt::format("{} s", count / 1e6);
}

std::string exact_offset_text(std::chrono::microseconds offset) {
  if (offset == std::chrono::microseconds{0}) return "0";
  return (offset < std::chrono::microseconds{0} ? "-" : "+") + exact_text(std::chrono::abs(offset));
}

std::string window_origin_text(std::chrono::microseconds begin) {
  return "from the beginning of a window, " + instant_text(begin);
}

}  // namespace rlctl::cli
