#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/burst/plan.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli {

// Rows and words that more than one of burst's texts has.

/// A command that can be pasted into a shell, on as many lines as it needs.
void append_pasteable(std::string& out, const std::vector<std::string>& command, const Look& look);

/// A row for each foreign script: its name, and how its reply is read.
void append_script_rows(TextBlock& block, const BurstPlan& plan);

/// The row for the virtual clock.
void append_virtual_clock(TextBlock& block);

/// A row whose text is wrapped at blanks if it is too wide.
void append_sentence(std::string& out, std::string_view label, std::string_view text,
                     const Look& look);

/// The verdict on a limiter that did not exceed the limit.
struct Verdict {
  std::string_view text = {};
  Tone tone = Tone::kGood;
};
/// None if it exceeded the limit. A limiter that allows nothing has kept it, but has not succeeded.
[[nodiscard]] std::optional<Verdict> verdict_within_limit(std::int64_t allowed, double ratio);

/// Exact to the µs, since a limiter may be off by one: 59.999999 s is not 60 s.
[[nodiscard]] std::string exact_text(std::chrono::microseconds span);
/// "0", "+59.999999 s"
[[nodiscard]] std::string exact_offset_text(std::chrono::microseconds offset);
/// "from the beginning of a window, 2026-01-01T00:00:00Z": the origin of such offsets.
[[nodiscard]] std::string window_origin_text(std::chrono::microseconds begin);

}  // namespace rlctl::cli
