#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "limiter/calendar.h"

// The words of the contract that every script keeps: limits and their ranges, the keys under which
// limits are stored, and decisions. Everything above redis/ uses these types. rlctl-scripts(7) is
// the contract for callers in other languages.

namespace rlctl::limiter {

// ---- Ranges, outside which a script refuses a value ----

/// The maximum of a limit and of a burst; the minimum is 1.
inline constexpr std::int64_t kLargestLimit = 1'000'000'000;
/// The maximum of a cost and of a refund; an algorithm may have a lower one.
inline constexpr std::int64_t kLargestCost = 1'000'000'000;
/// The shortest window: one below a millisecond is nearly always a number of seconds that a caller
/// passes to a script, which takes microseconds. Keys that were written with a shorter one are
/// read.
inline constexpr microseconds kShortestWindow{1'000};
/// The longest window.
inline constexpr microseconds kLongestWindow = kLongestDuration;
/// The maximum of `now`; the minimum is 0.
inline constexpr microseconds kLatestNow = kLatestInstant;
/// The maximum of burst * window / limit, the time in which a burst is restored.
inline constexpr microseconds kLongestRefill{4'000'000'000'000'000};
/// Larger than any time that a script computes or stores: an instant, when a window or a refill
/// ends that starts at such an instant, the end of a lease. Sums of a few such times do not
/// overflow.
inline constexpr microseconds kLatestComputed{10'000'000'000'000'000};
/// The maximum of limit * burst, which a double represents exactly.
inline constexpr std::int64_t kLargestProduct = std::int64_t{1} << 53;

/// Whether a number given as a wait is really a time since 1970: it is longer than twenty years,
/// and within twenty years of `now`.
constexpr bool is_time_since_1970(microseconds wait, microseconds now) {
  constexpr microseconds kLong = std::chrono::hours{24 * 365 * 20};
  return std::min(wait, now) > kLong && wait > now - kLong && wait < now + kLong;
}

// ---- Limits ----

/// Allows `limit` units in any (or each) `window`, or in each period of `calendar`.
struct Limit {
  std::int64_t limit = 1;
  microseconds window{1};                  ///< with `calendar`, the longest that it says
  std::optional<std::int64_t> burst = {};  ///< only if the algorithm has one; default: limit
  /// Null for a window of fixed length. Only if the algorithm has_periods.
  const CalendarWindow* calendar = nullptr;

  std::int64_t burst_or_limit() const noexcept { return burst.value_or(limit); }
  bool operator==(const Limit&) const = default;
};

/// Parses "5/60s", "100/min", "10/s", "1000/1h30m" or "1M/30d": a count (decimal digits, then
/// optionally k or M), a slash, and a duration, at least `shortest`; a unit without a number means
/// one. Instead of a duration, find_calendar_window() takes "month@Europe/Zurich". Throws
/// UsageError.
Limit parse_limit(std::string_view text, microseconds shortest = kShortestWindow);
/// A text that parse_limit() parses to the same limit, with the window in one unit: "5/60s",
/// "1000/90m"; whole millions with M: "1M/30d". Does not include the burst.
std::string format_limit(const Limit& limit);
/// The window in which a request at `now` counts, if nothing is stored: that of the calendar, or
/// one that begins at a multiple of the window since 1970.
Period period_of(const Limit& limit, microseconds now);
/// The window as parse_limit() takes it: "60s", "month@Europe/Zurich".
std::string format_window(const Limit& limit);
/// The window for people: "60 s", "month@Europe/Zurich".
std::string window_text(const Limit& limit);
/// Several limits as --limit takes them: "10/s,100/60s".
std::string format_limits(std::span<const Limit> limits);

// ---- The keys of limits ----

/// The Redis keys that hold `limits` of `key`. One limit: the key itself. Several: one key per
/// window, "{key}:60s", all in one Cluster slot (a key with a hash tag keeps its tag). The window
/// is written in whole seconds if possible, else in ms, else in us, so that 60s and 1m give the
/// same name; one of the calendar as it is, "{key}:month@Europe/Zurich". Throws UsageError if two
/// windows are equal, or if there are several limits and the key has no tag and is empty or begins
/// with '}'.
std::vector<std::string> redis_keys(std::string_view key, std::span<const Limit> limits);
/// How the keys begin that redis_keys() makes for several limits: "{key}:". A window_suffix()
/// follows. Throws UsageError if no hash tag can be made of the key.
std::string family_prefix(std::string_view key);
/// The suffix that leases_key() adds to the prefix.
inline constexpr std::string_view kLeasesName = "leases";
/// The Redis key of the leases of a key that also has limits: "{key}:leases", in the slot of
/// redis_keys(). Throws UsageError if no hash tag can be made of the key.
std::string leases_key(std::string_view key);
/// Throws UsageError if two limits have the same window: they would share a key.
void require_different_windows(std::span<const Limit> limits);
/// Whether redis_keys() accepts the key with several limits.
bool can_carry_several_limits(std::string_view key);
/// The reverse of redis_keys(): the keys for which it would use `redis_key` for this limit, one of
/// several. For "{login:alice}:60s" these are "login:alice" and "{login:alice}", in this order; for
/// most keys there are none. The views refer to `redis_key`.
std::vector<std::string_view> base_keys(std::string_view redis_key, const Limit& limit);
/// How redis_keys() writes a window: "60s", "1500ms", "1us".
std::string window_suffix(microseconds window);
std::string window_suffix(const Limit& limit);
/// Whether the key has a hash tag as Redis Cluster defines it: at least one byte between the first
/// '{' and the next '}'.
bool has_hash_tag(std::string_view key);

// ---- Decisions ----

/// What a reservation of `budget` is at some time.
enum class ReservationState : std::uint8_t {
  kUnknown,  ///< never made, or forgotten
  kHeld,     ///< its units are held
  kLapsed,   ///< its hold has ended: the units are free, and a settle is still spent
  kSettled,
};
/// "unknown", "held", "lapsed" or "settled", as the script and reports spell it.
std::string_view to_text(ReservationState state);
/// The reverse; std::nullopt for any other text.
std::optional<ReservationState> parse_reservation_state(std::string_view text);

/// A script's reply: the six integers of the contract in rlctl-scripts(7), and after a reserve or
/// a settle what is known of the reservation.
struct [[nodiscard]] Decision {
  bool allowed = false;
  std::int64_t remaining = 0;  ///< requests of cost 1 that would be allowed now, or kNotTold
  /// Time until this request would be allowed if no others came; 0 if allowed, kNever if waiting
  /// does not help, kTimeNotTold if a foreign script denied without reporting it.
  std::chrono::microseconds retry_after{0};
  std::chrono::microseconds reset_after{0};  ///< until all keys are as if unused, or kTimeNotTold
  std::chrono::microseconds delay{0};        ///< to wait before proceeding (leaky-bucket)
  /// Number, from 1, of the key that retry_after is about: the first of the keys with the longest
  /// wait among those that denied. 0 if no key denied.
  int denied_by = 0;
  /// After a reserve, and before a settle; none if the call was neither. A settle of an unknown
  /// reservation is denied, with retry_after kNever and denied_by 0.
  std::optional<ReservationState> reservation = {};
  /// What the reservation holds, or was settled with, and how long it holds that; 0 if it is
  /// unknown.
  std::int64_t units = 0;
  std::chrono::microseconds hold{0};

  /// Whether nothing was recorded since the reservation has other `units`, or was settled with
  /// others. retry_after is kNever and denied_by 0.
  bool conflicts() const {
    return !allowed && reservation && *reservation != ReservationState::kUnknown;
  }
  bool operator==(const Decision&) const = default;
};

inline constexpr std::chrono::microseconds kNever{-1};
/// A time that a foreign script does not report.
inline constexpr std::chrono::microseconds kTimeNotTold{-2};
/// A `remaining` that a foreign script does not report.
inline constexpr std::int64_t kNotTold = -1;

}  // namespace rlctl::limiter
