#include "limiter/inferred_window.h"

#include <algorithm>
#include <array>

namespace rlctl::limiter {
namespace {

/// By so much longer lasts the TTL of a log that was written by a caller's clock.
constexpr std::chrono::hours kCallersClock{1};
constexpr microseconds kTtlError{2'000};  // TTLs are in ms, rounded up and down

/// The windows that may have been.
struct Range {
  microseconds least, most;
};

/// The one of them that a person would have chosen.
microseconds roundest(const Range& range) {
  using std::chrono::days, std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  using std::chrono::milliseconds;
  constexpr std::array<microseconds, 32> kSteps{
      days{30},          days{7},           days{1},           hours{12},         hours{6},
      hours{2},          hours{1},          minutes{30},       minutes{15},       minutes{10},
      minutes{5},        minutes{2},        minutes{1},        seconds{30},       seconds{20},
      seconds{15},       seconds{10},       seconds{5},        seconds{2},        seconds{1},
      milliseconds{500}, milliseconds{250}, milliseconds{200}, milliseconds{100}, milliseconds{50},
      milliseconds{20},  milliseconds{10},  milliseconds{5},   milliseconds{1},   microseconds{100},
      microseconds{10},  microseconds{1}};
  for (const auto step : kSteps) {
    const auto multiple = range.most - range.most % step;
    if (multiple >= range.least - kTtlError && multiple.count() > 0) return multiple;
  }
  return range.most;
}

/// The window where the newest entry has set the TTL: then it is the shortest that may be, to a few
/// ms, and hardly any but a number of seconds that people choose.
std::optional<microseconds> set_by_newest(const Range& range) {
  using std::chrono::seconds;
  const microseconds whole = std::chrono::round<seconds>(range.least);
  if (whole.count() <= 0 || std::chrono::abs(range.least - whole) > kTtlError) return std::nullopt;
  const bool is_chosen = whole < seconds{10} || whole % seconds{10} == microseconds{0};
  return is_chosen ? std::optional(whole) : std::nullopt;
}

}  // namespace

std::optional<microseconds> infer_window(const StateForm& form, const EntryTimes& entries,
                                         microseconds server_now, microseconds ttl) {
  if (form.ttl_percent_over == 0 && form.ttl_over.count() == 0) return std::nullopt;
  const auto lasts = server_now + ttl - entries.newest;
  if (lasts.count() <= 0) return std::nullopt;
  const auto span = entries.newest - entries.oldest;
  const bool is_ours = !form.is_foreign();
  const Range servers{std::max((lasts - form.ttl_over) / (100 + form.ttl_percent_over) * 100, span),
                      std::max(lasts, span)};
  const auto exact = is_ours ? set_by_newest(servers) : std::nullopt;
  if (!is_ours || lasts - kCallersClock <= span) return exact.value_or(roundest(servers));
  const Range callers{std::max(servers.least - kCallersClock, span), lasts - kCallersClock};
  if (exact) {
    // A TTL of an hour and a minute was hardly meant.
    const bool is_round = *exact % std::chrono::minutes{30} == microseconds{0};
    return is_round ? exact : set_by_newest(callers);
  }
  const auto window = roundest(servers);
  return window == roundest(callers) ? std::optional(window) : std::nullopt;
}

}  // namespace rlctl::limiter
