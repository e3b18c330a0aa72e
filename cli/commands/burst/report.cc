#include "cli/commands/burst/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/errors/failure.h"
#include "cli/options/log_options.h"
#include "cli/options/script_options.h"
#include "cli/terminal/bars.h"
#include "limiter/why.h"
#include "traffic/pattern.h"

namespace rlctl::cli::burst {
namespace {

using traffic::Histogram;
using traffic::Timing;

constexpr int kMaxDecimals = 9;

/// "p99 1.2 ms", or "at most" the longest time if there are too few times.
std::string tail_text(const Histogram& histogram) {
  const auto p99 = histogram.percentile(kP99);
  return (p99 ? "p99 " : "at most ") + latency_text(p99.value_or(histogram.max()));
}

using traffic::AllowedWhen;

std::string inverted_text(const AllowedWhen& when) {
  const std::string what =
      "the reply may be inverted: the first request was denied, and a later one was allowed; try "
      "--allowed-when ";
  if (when.named == nullptr) return what + "'not (" + escape(when.expression.source()) + ")'";
  if (when.named->opposite.empty()) return what + "with an expression";
  return what + std::string(when.named->opposite);
}

std::string replies_text(const traffic::RepliesSeen& replies) {
  std::string text;
  for (const auto& reply : replies.first) text += (text.empty() ? "" : ", ") + reply;
  return text;
}

/// Escapes the two characters that are UTF-8 and no control characters, but not allowed in XML.
std::string without_noncharacters(std::string text) {
  constexpr std::array<std::string_view, 2> kCharacters{"\xef\xbf\xbe", "\xef\xbf\xbf"};
  constexpr std::array<std::string_view, 2> kEscaped{"\\xef\\xbf\\xbe", "\\xef\\xbf\\xbf"};
  for (std::size_t i = 0; i < kCharacters.size(); ++i) {
    for (auto at = text.find(kCharacters[i]); at != text.npos; at = text.find(kCharacters[i], at)) {
      text.replace(at, kCharacters[i].size(), kEscaped[i]);
    }
  }
  return text;
}

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

std::optional<std::string> why_of(const traffic::Candidate& candidate,
                                  const traffic::Measured& measured, std::int64_t highest_cost,
                                  bool is_search) {
  // Which of several limits denied a request is not known.
  const bool is_ambiguous = candidate.limits.size() > 1 && measured.worst.ratio <= 1;
  if (candidate.foreign || is_ambiguous) return std::nullopt;
  const auto& worst = measured.worst;
  return limiter::why(*candidate.algorithm, {.limit = candidate.limits[worst.limit],
                                             .cost = highest_cost,
                                             .denied = measured.denied,
                                             .keys_denied = measured.keys_denied,
                                             .has_several_keys = measured.keys > 1,
                                             .allowed = worst.allowed,
                                             .span = worst.span,
                                             .edge = worst.edge,
                                             .after_edge = worst.after_edge,
                                             .longest_delay = measured.longest_delay,
                                             .is_search = is_search,
                                             .text_of = is_search ? exact_text : span_text});
}

std::string clock_text(const RealClock& clock) {
  auto text = fmt::format("{} loop, {} client{}", clock.is_closed_loop() ? "closed" : "open",
                          clock.clients, plural(clock.clients));
  if (clock.pipeline) text += fmt::format(", pipeline {}", *clock.pipeline);
  return text;
}

bool has_refunds(const Report& report) {
  return std::any_of(report.runs.begin(), report.runs.end(),
                     [](const auto& run) { return run.search && run.search->has_refunds; });
}

bool shows_dates(const Report& report) {
  return report.recording && !report.plan.real;
}

std::string traffic_text(const Report& report) {
  if (report.plan.real && report.plan.real->is_closed_loop()) return "as fast as answers come";
  if (report.is_search) return std::string(kSearchSummary);
  if (!report.plan.pattern) return "recorded traffic";
  const auto& rate = report.plan.request.rate;
  if (rate) return fmt::format("{} {}", rate_text(*rate), report.plan.pattern->rate);
  return std::string(report.plan.pattern->summary);
}

std::string_view traffic_name(const Report& report) {
  if (report.is_search) return kAdversary;
  return report.plan.pattern ? report.plan.pattern->name : "replay";
}

std::int64_t traffic_keys(const Report& report) {
  if (report.recording) return static_cast<std::int64_t>(report.recording->keys());
  return report.plan.request.keys;
}

std::string ratio_text(double ratio) {
  std::string text;
  for (int decimals = 2; decimals <= kMaxDecimals; ++decimals) {
    text = fmt::format("{:.{}f}", ratio, decimals);
    const bool reads_one = text.front() == '1' && text.find_first_not_of("0", 2) == text.npos;
    if (ratio == 1 || !reads_one) break;
  }
  return text;
}

std::int64_t Percentile::needs() const noexcept {
  return std::llround(static_cast<double>(Histogram::kBeyond) / (1 - percent / 100));
}

const Histogram& waited_for(const Timing& timing) {
  return timing.response.count() > 0 ? timing.response : timing.service;
}

std::string rate_text(double per_second) {
  return fmt::format("{:.{}f}/s", per_second, per_second < 100 ? 1 : 0);
}

std::optional<std::string> why_overloaded(const Run& run) {
  constexpr double kLongEnough = 1;  // seconds: the wait for the last answers hardly matters
  const auto& timing = run.outcome.timing;
  if (!timing || timing->seconds < kLongEnough) return std::nullopt;
  if (timing->achieved_per_second >= Timing::kKeptUp * timing->sent_per_second) return std::nullopt;
  return fmt::format(
      "{}: the server answered {} of {}, so times grow with the length of the traffic", run.name,
      rate_text(timing->achieved_per_second), rate_text(timing->sent_per_second));
}

std::optional<std::string> why_invalid(const Run& run) {
  const auto& timing = run.outcome.timing;
  if (!timing || timing->is_valid()) return std::nullopt;
  auto text = fmt::format("{}: the sender fell behind: lag {}, service {}", run.name,
                          tail_text(timing->lag), tail_text(timing->service));
  if (timing->sent_per_second < timing->offered_per_second * Timing::kKeptUp) {
    text += fmt::format(", {} of {} sent", rate_text(timing->sent_per_second),
                        rate_text(timing->offered_per_second));
  }
  return text + "; the times are not reliable";
}

// --- Hints ---------------------------------------------------------------------------------------

std::optional<std::string> reply_hint(const Run& run, const traffic::Candidate& candidate) {
  const auto& measured = run.outcome.measured;
  const auto& replies = run.outcome.replies;
  if (!candidate.foreign || measured.sent == 0 || replies.first.empty()) return std::nullopt;
  const auto& when = candidate.foreign->reading.allowed_when;
  const bool is_wrong = measured.allowed == 0 || measured.worst.ratio > 1;
  const bool is_always =
      when.named != nullptr && when.named->wait == traffic::NamedCondition::Wait::kOfRequest;
  if (replies.all_nil && is_wrong && !is_always) {
    return "the script returns nothing: every reply was nil; it must return whether the request "
           "is allowed";
  }
  if (measured.looks_inverted) return inverted_text(when);
  const bool is_nonzero = when.named == &traffic::named_conditions().front();
  if (is_nonzero && replies.any_negative) {
    const bool is_array = replies.first.front().starts_with('[');
    return fmt::format(
        "a negative reply counts as allowed; if it denies, try --allowed-when '{} >= 0'",
        is_array ? "r[1]" : "r");
  }
  const auto limit = candidate.limits.front().limit;
  if (is_nonzero && replies.all_count && replies.highest > limit) {
    return fmt::format(
        "nothing was denied, and the replies were {} up to {}: if the script returns a count, try "
        "--allowed-when '<=limit'",
        replies_text(replies), replies.highest);
  }
  if (measured.allowed > 0) return std::nullopt;
  return fmt::format("nothing was allowed: the first {} {}; see --allowed-when",
                     replies.first.size() == 1 ? "reply was" : "replies were",
                     replies_text(replies));
}

void warn_of_hint(const Run& run, const Invocation& invocation) {
  if (!run.hint) return;
  warn(fmt::format("warning: {}: {}", run.name, *run.hint), invocation.command);
}

// --- Rows and words of texts ---------------------------------------------------------------------

void append_pasteable(std::string& out, const std::vector<std::string>& command, const Look& look) {
  for (const auto& line : command_lines(command, look.columns)) out.append(line).append("\n");
}

void append_script_rows(TextBlock& block, const Plan& plan) {
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

std::string xml(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr std::array<std::string_view, 4> kEntities{"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : without_noncharacters(escaped_message(text))) {
    const auto special = kSpecial.find(c);
    out += special == kSpecial.npos ? std::string_view(&c, 1) : kEntities[special];
  }
  return out;
}

}  // namespace rlctl::cli::burst
