#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "limiter/limit.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// How many windows a pattern lasts by default.
inline constexpr int kPatternWindows = 3;

/// What a pattern is made for and of. The same values make the same traffic, on every machine.
struct PatternRequest {
  limiter::Limit limit = {};  ///< the traffic is laid around its window
  /// Requests a second, of all keys; which of them, the pattern's row says. By default a multiple
  /// of what the limit allows to all keys together, at this cost.
  std::optional<double> rate = {};
  /// By default three windows; without an end where only `requests` is given and the pattern has no
  /// shape of its own (steady, poisson, on-off).
  std::optional<microseconds> duration = {};
  std::optional<std::int64_t> requests = {};  ///< ends the traffic, however long it was to last
  std::uint32_t keys = 1;                     ///< at most 10,000,000: each takes memory
  double key_skew = 0;  ///< Zipf's exponent: key n comes as often as 1 / n^skew; 0: all alike
  std::int64_t cost = 1;
  std::uint64_t seed = 1;
  /// Where it begins: moved up to the next multiple of the window, unless told.
  microseconds start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}.time_since_epoch()};
  bool starts_at_once = false;  ///< at `start` itself; see starting_at()
};

/// One way in which requests come: a row of the table in pattern.cc.
struct Pattern {
  std::string_view name;     ///< as it is typed
  std::string_view summary;  ///< a few words for --help
  std::string_view rate;     ///< what --rate says of it; empty: it takes none
  bool is_random = false;    ///< the seed changes more than which key is asked
  std::unique_ptr<Traffic> (*make)(const PatternRequest&) = nullptr;
  /// How long after the beginning of a window its first arrival comes, where it is laid around the
  /// edge of one; null: it can begin at any time.
  microseconds (*first_in_window)(const PatternRequest&) = nullptr;
};

/// Every pattern, the default first.
[[nodiscard]] std::span<const Pattern> patterns();
/// Null if there is none of that name.
[[nodiscard]] const Pattern* find_pattern(std::string_view name);

/// The same request, but for the real clock: its first arrival comes as soon as may be, not before
/// `earliest`. Only what is laid around the edge of a window waits for one.
[[nodiscard]] PatternRequest starting_at(const Pattern& pattern, const PatternRequest& request,
                                         microseconds earliest);

/// Throws UsageError where the request means nothing for this pattern: a rate where it
/// takes none, a duration or number of requests of 0, a cost below 1, a traffic that would last
/// beyond the times of the contract.
[[nodiscard]] std::unique_ptr<Traffic> make_traffic(const Pattern& pattern,
                                                    const PatternRequest& request);

}  // namespace rlctl::traffic
