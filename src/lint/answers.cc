#include "lint/answers.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/text.h"
#include "base/time.h"

namespace rlctl::lint {
namespace {

using std::chrono::microseconds;

constexpr microseconds kWholeSecond{1'000'000};

void add_lock_outs(const AnswerObservation& observation, std::vector<Finding>& findings) {
  if (observation.denied_for_ever) {
    findings.push_back(
        {.name = "locked-out",
         .severity = Severity::kCritical,
         .what = *observation.denied_for_ever,
         .detail =
             "Once the limit is reached, a client is still denied after the longest pause that "
             "was tried.",
         .fix = "let requests leave the window when it ends"});
  }
  if (const auto& lock_out = observation.probed.lock_out) {
    const bool counts = lock_out->counts_denials;
    findings.push_back({.name = counts ? "denied-write" : "locked-out",
                        .severity = Severity::kCritical,
                        .what = lock_out->schedule,
                        .detail = lock_out_detail(*lock_out, counts),
                        .fix = counts && !observation.probed.renewal
                                   ? "change what is stored only if the request is allowed; for a "
                                     "bucket, keep the part of a unit that has refilled"
                                   : "let requests leave the window when it ends"});
  }
  if (const auto& renewal = observation.probed.renewal) {
    findings.push_back(
        {.name = "renewed-window",
         .severity = Severity::kCritical,
         .what = renewal->schedule,
         .detail = renewal_detail(*renewal) + " Requests which have left the window still count.",
         .fix = "fix a window's end when it begins, and do not extend it",
         .may_follow = true});
  }
}

void add_let_in(const AnswerObservation& observation, std::vector<Finding>& findings) {
  if (observation.probed.free_pass)
    findings.push_back(free_pass_finding(*observation.probed.free_pass));
  if (const auto& gap = observation.idle_gap) {
    findings.push_back(
        {.name = "short-ttl",
         .severity = Severity::kCritical,
         .what = gap->schedule,
         .detail = fmt::format(
             "The limiter forgets a client whose requests still count: after {} without a "
             "request, {} were allowed at one instant; a client that kept asking got {} in all.",
             span_text(gap->gap), gap->allowed, gap->if_asking),
         .fix = "keep a client for at least the window, and for the time in which a bucket "
                "refills, after each request"});
  }
  if (const auto& schedule = observation.whole_seconds) {
    findings.push_back(
        {.name = "coarse-time",
         .severity =
             observation.window <= 2 * kWholeSecond ? Severity::kCritical : Severity::kWarning,
         .what = *schedule,
         .detail = fmt::format("Times are whole seconds: whenever in its second a client reaches "
                               "the limit, it is let in as a later second begins. A "
                               "request leaves the window of {} up to a second early or late.",
                               period_text(observation.window)),
         .fix = "use now_us with all its digits"});
  }
}

/// A figure that may be wrong, and what to say of it.
struct FigureRow {
  std::optional<WrongFigure> AnswerObservation::*figure;
  std::string_view name;
  Severity severity;
  std::string_view what, truth;  ///< {} is what is true
  std::string_view fix;
};
constexpr std::string_view kTellWait = "tell the time until this request is allowed, rounded up",
                           kTellRemaining = "tell what is left after this request",
                           kTellReset =
                               "tell the time until the client is as if it had never asked";
constexpr std::array kFigures{
    FigureRow{&AnswerObservation::short_wait, "wrong-wait", Severity::kWarning,
              "A denial's retry_after_us is too short", "the wait is {}", kTellWait},
    FigureRow{&AnswerObservation::long_wait, "wrong-wait", Severity::kWarning,
              "A denial's retry_after_us is too long", "the wait is {}", kTellWait},
    FigureRow{&AnswerObservation::much_remaining, "wrong-remaining", Severity::kWarning,
              "remaining is too high", "{} more of cost 1 are allowed at this instant",
              kTellRemaining},
    FigureRow{&AnswerObservation::little_remaining, "wrong-remaining", Severity::kNote,
              "remaining is too low", "{} more of cost 1 are allowed at this instant",
              kTellRemaining},
    FigureRow{&AnswerObservation::early_reset, "wrong-reset", Severity::kWarning,
              "reset_after_us is too short", "the whole limit is there after {}", kTellReset},
    FigureRow{&AnswerObservation::late_reset, "wrong-reset", Severity::kWarning,
              "reset_after_us is too long", "the whole limit is there after {}", kTellReset},
};

void add_figures(const AnswerObservation& observation, std::vector<Finding>& findings) {
  for (const auto& row : kFigures) {
    const auto& figure = observation.*row.figure;
    if (!figure) continue;
    const bool is_close =
        span_text(microseconds{figure->told}) == span_text(microseconds{figure->actual});
    const auto text = [&](std::int64_t number) {
      if (row.name == "wrong-remaining") return std::to_string(number);
      if (number < 0) return std::string("never");
      return is_close ? period_text(microseconds{number}) : span_text(microseconds{number});
    };
    // HTTP's Retry-After has whole seconds.
    const bool is_rounded = row.figure == &AnswerObservation::long_wait && figure->told >= 0 &&
                            figure->told - figure->actual <= kWholeSecond.count();
    findings.push_back(
        {.name = row.name,
         .severity = is_rounded ? Severity::kNote : row.severity,
         .what = figure->schedule,
         .detail = fmt::format("{}: it says {}, but {}.", row.what, text(figure->told),
                               fmt::format(fmt::runtime(row.truth), text(figure->actual))),
         .fix = std::string(row.fix)});
  }
}

}  // namespace

std::vector<Finding> find_flaws(const AnswerObservation& observation) {
  std::vector<Finding> findings;
  add_lock_outs(observation, findings);
  add_let_in(observation, findings);
  add_figures(observation, findings);
  return findings;
}

}  // namespace rlctl::lint
