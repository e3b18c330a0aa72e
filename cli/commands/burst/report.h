#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/burst/data.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli::burst {

/// A report for people: the traffic and the limits, a table, the plot, and the command that repeats
/// the run.
void append_text(std::string& out, const Report& report, const Look& look);

// --- What the outputs have in common -------------------------------------------------------------

/// A command as lines to paste at once, of at most `columns` if possible. An option and its value
/// stay on one line if they fit.
[[nodiscard]] std::vector<std::string> command_lines(const std::vector<std::string>& words,
                                                     std::size_t columns);
/// Why a bundled algorithm treated the traffic so, see Run::why; none if it is not known.
[[nodiscard]] std::optional<std::string> why_of(const traffic::Candidate& candidate,
                                                const traffic::Measured& measured,
                                                std::int64_t highest_cost, bool is_search);
/// "boundary", "replay" for a log, or "adversary".
[[nodiscard]] std::string_view traffic_name(const Report& report);
/// The number of keys in the traffic.
[[nodiscard]] std::int64_t traffic_keys(const Report& report);
/// Whether the schedule that a search found has refunds, which pictures do not show.
[[nodiscard]] bool has_refunds(const Report& report);
/// "open loop, 1 client", "closed loop, 50 clients, pipeline 1"
[[nodiscard]] std::string clock_text(const RealClock& clock);
/// Whether times are shown as dates and times of day: those of a log under the virtual clock.
[[nodiscard]] bool shows_dates(const Report& report);
/// The schedule of a search, in a few words.
inline constexpr std::string_view kSearchSummary =
    "the schedule that makes a limiter allow the most";
/// Why a search leaves schedules out.
inline constexpr std::string_view kUndecided =
    "their answers change if keys live a moment longer or shorter";
/// A few words about the traffic.
[[nodiscard]] std::string traffic_text(const Report& report);
/// "2.00"; with more decimals if two would round a ratio other than 1 to 1.00.
[[nodiscard]] std::string ratio_text(double ratio);
/// "1000/s", "12.5/s"
[[nodiscard]] std::string rate_text(double per_second);
/// What the replies of a script suggest: that it returns nothing, or that --allowed-when does not
/// fit them. None if they look right, and for a bundled algorithm.
[[nodiscard]] std::optional<std::string> reply_hint(const Run& run,
                                                    const traffic::Candidate& candidate);

/// Writes a run's hint to stderr, if it has one.
void warn_of_hint(const Run& run, const Invocation& invocation);
/// Text for XML, also within an attribute. Characters that XML does not allow are escaped as in a
/// message.
[[nodiscard]] std::string xml(std::string_view text);

// --- Rows and words of texts ---------------------------------------------------------------------

/// A command that can be pasted into a shell, on as many lines as it needs.
void append_pasteable(std::string& out, const std::vector<std::string>& command, const Look& look);

/// A row for each foreign script: its name, and how its reply is read.
void append_script_rows(TextBlock& block, const Plan& plan);

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
/// The verdict; none if the limiter exceeded the limit. One that allows nothing has kept the limit,
/// but has not succeeded.
[[nodiscard]] std::optional<Verdict> verdict_within_limit(std::int64_t allowed, double ratio);

/// Exact to the µs, since a limiter may be off by one: 59.999999 s is not 60 s.
[[nodiscard]] std::string exact_text(std::chrono::microseconds span);
/// "0", "+59.999999 s"
[[nodiscard]] std::string exact_offset_text(std::chrono::microseconds offset);
/// "from the beginning of a window, 2026-01-01T00:00:00Z": the origin of such offsets.
[[nodiscard]] std::string window_origin_text(std::chrono::microseconds begin);

// --- Times of a run under the real clock ---------------------------------------------------------

/// A reported percentile; the list is fixed, so that reports are comparable.
struct Percentile {
  std::string_view name;   ///< in JSON, CSV and assertions
  std::string_view title;  ///< in text
  double percent;

  /// The fewest durations that yield it: see Histogram::percentile().
  [[nodiscard]] std::int64_t needs() const noexcept;
};
inline constexpr std::array kPercentiles{
    Percentile{"p50", "p50", 50}, Percentile{"p75", "p75", 75}, Percentile{"p90", "p90", 90},
    Percentile{"p95", "p95", 95}, Percentile{"p99", "p99", 99}, Percentile{"p99_9", "p99.9", 99.9}};

/// The percentile by which a run is judged.
inline constexpr double kP99 = 99;

/// The time that a caller waits: the response time or, in a closed loop, which has no due times,
/// the service time.
[[nodiscard]] const traffic::Histogram& waited_for(const traffic::Timing& timing);

/// "fixed-window: the server answered 500/s of 1000/s, ..."; none if it kept up, or if the traffic
/// was too short to tell.
[[nodiscard]] std::optional<std::string> why_overloaded(const Run& run);

/// Says why the measured times of a run cannot be trusted, such as "fixed-window: the sender fell
/// behind: ..."; none if they can, or if nothing was timed.
[[nodiscard]] std::optional<std::string> why_invalid(const Run& run);

}  // namespace rlctl::cli::burst
