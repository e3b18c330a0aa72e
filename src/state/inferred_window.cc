#include "state/inferred_window.h"

#include <algorithm>
#include <chrono>

#include "state/round_window.h"

namespace rlctl::state {
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

}  // namespace

std::optional<microseconds> infer_window(const StateForm& form, const EntryTimes& entries,
                                         microseconds server_now, microseconds ttl) {
  if (form.ttl_percent_over == 0 && form.ttl_over.count() == 0) return std::nullopt;
  const auto lasts = server_now + ttl - entries.newest;
  if (lasts.count() <= 0) return std::nullopt;
  const auto span = entries.newest - entries.oldest;
  const bool is_ours = !form.is_foreign();
  const WindowRange servers{
      std::max((lasts - form.ttl_over) / (100 + form.ttl_percent_over) * 100, span),
      std::max(lasts, span)};
  const auto exact = is_ours ? set_by_newest(servers) : std::nullopt;
  if (!is_ours || lasts - kCallersClock <= span) return exact.value_or(roundest_window(servers));
  const WindowRange callers{
      std::max((lasts - kCallersClock) / (100 + form.ttl_percent_over) * 100, span),
      lasts - kCallersClock};
  if (exact) {
    // The same TTL stands for 50 min by the server's clock and for 2 min by a caller's.
    const auto other = set_by_newest(callers);
    if (!other) return exact;
    if (is_round_window(*exact) == is_round_window(*other)) return std::nullopt;
    return is_round_window(*exact) ? exact : other;
  }
  const auto window = roundest_window(servers);
  return window == roundest_window(callers) ? std::optional(window) : std::nullopt;
}

}  // namespace rlctl::state
