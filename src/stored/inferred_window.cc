#include "stored/inferred_window.h"

#include <algorithm>
#include <chrono>

#include "stored/round_window.h"

namespace rlctl::stored {
namespace {

/// The scripts add this to the TTL of a log written with a caller's clock.
constexpr std::chrono::hours kCallersClock{1};

/// The window if the newest entry set the TTL: the shortest possible one within a few ms, and very
/// likely a number of seconds that people choose.
std::optional<microseconds> set_by_newest(const WindowRange& range) {
  using std::chrono::seconds;
  const microseconds whole = std::chrono::round<seconds>(range.least);
  if (whole.count() <= 0 || std::chrono::abs(range.least - whole) > kTtlError) return std::nullopt;
  const bool is_chosen = whole < seconds{10} || whole % seconds{10} == microseconds{0};
  return is_chosen ? std::optional(whole) : std::nullopt;
}

struct PossibleWindows {
  WindowRange servers;                 ///< if the log is written with the server's clock
  std::optional<WindowRange> callers;  ///< if it may be written with a caller's
};

/// Nothing if the form's TTL does not depend on the window. `end` is when the key expires.
std::optional<PossibleWindows> possible_windows(const Form& form, const EntryTimes& entries,
                                                microseconds end) {
  if (form.ttl_percent_over == 0 && form.ttl_over.count() == 0) return std::nullopt;
  const auto lasts = end - entries.newest;
  if (lasts.count() <= 0) return std::nullopt;
  const auto span = entries.newest - entries.oldest;
  const auto least = [&](microseconds ttl) {
    return std::max(ttl / (100 + form.ttl_percent_over) * 100, span);
  };
  PossibleWindows possible{.servers = {least(lasts - form.ttl_over), std::max(lasts, span)},
                           .callers = std::nullopt};
  const auto by_caller = lasts - kCallersClock;
  if (!form.is_foreign() && by_caller + kTtlError > span) {
    possible.callers = {least(by_caller), std::max(by_caller, span)};
  }
  return possible;
}

bool is_in(const WindowRange& range, microseconds window) {
  return window >= range.least - kTtlError && window <= range.most + kTtlError;
}

}  // namespace

std::optional<microseconds> infer_window(const Form& form, const EntryTimes& entries,
                                         microseconds server_now, microseconds ttl) {
  const auto possible = possible_windows(form, entries, server_now + ttl);
  if (!possible) return std::nullopt;
  const auto& [servers, callers] = *possible;
  const auto exact = form.is_foreign() ? std::nullopt : set_by_newest(servers);
  if (!callers) return exact.value_or(roundest_window(servers));
  if (exact) {
    // The same TTL stands for 50 min by the server's clock and for 2 min by a caller's.
    const auto other = set_by_newest(*callers);
    if (!other) return exact;
    if (is_round_window(*exact) == is_round_window(*other)) return std::nullopt;
    return is_round_window(*exact) ? exact : other;
  }
  const auto window = roundest_window(servers);
  return window == roundest_window(*callers) ? std::optional(window) : std::nullopt;
}

std::optional<microseconds> longer_window(const Form& form, const EntryTimes& entries,
                                          microseconds server_now, microseconds ttl,
                                          microseconds window) {
  const auto possible = possible_windows(form, entries, server_now + ttl);
  if (!possible || is_in(possible->servers, window)) return std::nullopt;
  if (possible->callers && is_in(*possible->callers, window)) return std::nullopt;
  const auto inferred = infer_window(form, entries, server_now, ttl);
  return inferred && *inferred > window ? inferred : std::nullopt;
}

}  // namespace rlctl::stored
