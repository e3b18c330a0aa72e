#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string_view>

#include "limiter/limit.h"
#include "traffic/traffic.h"

// Artificial traffic: the patterns that `burst PATTERN` offers, each a row of the table in
// pattern.cc, and the random numbers that they need. cli/commands/burst reads the table for its
// options and help, and makes the traffic; src/adversary uses Random.

namespace rlctl::traffic {

/// ln(x) of a normal number above 0. Uses only additions, multiplications and divisions, whose
/// rounding IEEE 754 defines: the logarithms of libraries differ in their last bits.
double natural_log(double x);

/// Random numbers from a seed, the same on every machine: the distributions of <random> differ.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// At least 0, below 1.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// With a mean of 1: the time between two events of a Poisson process.
  double exponential();

 private:
  std::mt19937_64 engine_;
};

/// How many windows a pattern lasts by default.
inline constexpr int kPatternWindows = 3;

/// Each key takes memory.
inline constexpr std::uint32_t kMaxPatternKeys = 10'000'000;

/// The parameters of a pattern. The same values give the same traffic on every machine.
struct PatternRequest {
  limiter::Limit limit = {};  ///< the pattern follows its window
  /// Requests per second, over all keys; Pattern::rate states which requests. By default a multiple
  /// of what the limit allows all keys together, at this cost.
  std::optional<double> rate = {};
  /// How long the traffic lasts. By default three windows; unlimited if only `requests` is given
  /// and the pattern has no shape of its own (steady, poisson, on-off).
  std::optional<microseconds> duration = {};
  std::optional<std::int64_t> requests = {};  ///< ends the traffic, regardless of its duration
  std::uint32_t keys = 1;                     ///< at most kMaxPatternKeys
  std::int64_t cost = 1;
  std::uint64_t seed = 1;
  /// The beginning: moved up to where the next window begins unless starts_at_once.
  microseconds start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}.time_since_epoch()};
  bool starts_at_once = false;  ///< at `start` itself; see starting_at()
};

/// A shape of traffic: a row of the table in pattern.cc.
struct Pattern {
  std::string_view name;     ///< as typed
  std::string_view summary;  ///< a few words for --help
  std::string_view rate;     ///< the requests that --rate applies to; empty if it takes no rate
  std::unique_ptr<Traffic> (*make)(const PatternRequest&) = nullptr;
  /// If the pattern surrounds the edge of a window: the time from the beginning of the window to
  /// its first request. Null: it can begin at any time.
  microseconds (*first_in_window)(const PatternRequest&) = nullptr;
};

/// Every pattern, the default first.
std::span<const Pattern> patterns();
/// Null if no pattern has that name.
const Pattern* find_pattern(std::string_view name);

/// `time`, or the next time at which a window of the limit begins: see limiter::period_of().
microseconds window_from(microseconds time, const limiter::Limit& limit);

/// The request moved to a given time: its first arrival is as soon as possible, but not before
/// `earliest`. Only a pattern that surrounds the edge of a window waits for an edge.
PatternRequest starting_at(const Pattern& pattern, const PatternRequest& request,
                           microseconds earliest);

/// Throws UsageError if the request does not fit the pattern: a rate that it does not take, a
/// duration or number of requests of 0, a cost below 1, or traffic that would last beyond the
/// latest time of the contract.
std::unique_ptr<Traffic> make_traffic(const Pattern& pattern, const PatternRequest& request);

}  // namespace rlctl::traffic
