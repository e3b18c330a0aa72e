#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace rlctl::limiter {

// The ranges of the script contract, rlctl-scripts(7). The scripts refuse everything else.

/// A limit and a burst are from 1 to this.
inline constexpr std::int64_t kLargestLimit = 1'000'000'000;
/// A cost, and a refund, is at most this; an algorithm may take less.
inline constexpr std::int64_t kLargestCost = 1'000'000'000;
/// A window is from 1 µs to this.
inline constexpr microseconds kLongestWindow = kLongestDuration;
/// `now` is from 0 to this.
inline constexpr microseconds kLatestNow = kLatestInstant;
/// A burst comes back within this: burst * window / limit is at most as long.
inline constexpr microseconds kLongestRefill{4'000'000'000'000'000};
/// limit * burst is at most this, so that it is exact as a double.
inline constexpr std::int64_t kLargestProduct = std::int64_t{1} << 53;

/// At most `limit` units in any (or each) `window`.
struct Limit {
  std::int64_t limit = 1;
  microseconds window{1};
  std::optional<std::int64_t> burst = {};  ///< only if the algorithm has one; default: limit

  bool operator==(const Limit&) const = default;
};

/// "5/60s", "100/min", "10/s", "1000/1h30m", "1M/30d": a count (decimal digits, then perhaps k or
/// M) over a duration; a unit without a number is one of it. Throws UsageError.
[[nodiscard]] Limit parse_limit(std::string_view text);
/// A spelling that parse_limit() reads back as the same, the window in one unit: "5/60s",
/// "1000/90m"; whole millions as such: "1M/30d". The burst is not in it.
[[nodiscard]] std::string format_limit(const Limit& limit);

/// The Redis keys that hold `limits` of `key`. One limit: the key itself. Several: one for each
/// window, "{key}:60s", in one Cluster slot (a key with a hash tag keeps it): whole seconds if
/// possible, else ms, else us, so that 60s and 1m are one. Throws UsageError if two windows are the
/// same, and for several limits of a key that cannot carry them: one without a tag that is empty or
/// begins with '}'.
[[nodiscard]] std::vector<std::string> redis_keys(std::string_view key,
                                                  std::span<const Limit> limits);
/// Throws UsageError if two limits have the same window: they would share a key.
void require_different_windows(std::span<const Limit> limits);
/// Whether redis_keys() takes the key with several limits.
[[nodiscard]] bool can_carry_several_limits(std::string_view key);
/// The reverse: the keys for which redis_keys() would keep this limit, one of several, at
/// `redis_key`. For "{login:alice}:60s" these are "login:alice" and "{login:alice}", in this order;
/// for most keys there are none. The views are of `redis_key`.
[[nodiscard]] std::vector<std::string_view> base_keys(std::string_view redis_key,
                                                      const Limit& limit);
/// How redis_keys() writes a window: "60s", "1500ms", "1us".
[[nodiscard]] std::string window_suffix(microseconds window);
/// Has a hash tag, as Redis Cluster reads keys: something between the first '{' and the first '}'
/// after it.
[[nodiscard]] bool has_hash_tag(std::string_view key);

}  // namespace rlctl::limiter
