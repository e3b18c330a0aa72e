#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limit.h"
#include "limiter/model.h"

namespace rlctl::limiter {

/// One way to limit: a script in lua/ and what a caller must know to use it. A new algorithm needs
/// a script, a model, a row in algorithm.cc and one in state.cc, a test, and a section in
/// rlctl-scripts(7).
struct Algorithm {
  std::string_view name;     ///< as --algorithm spells it, and the script's file name
  std::string_view summary;  ///< a few words for --help, 54 columns with " (default)"
  std::string_view script;   ///< the Lua source
  std::string_view sha1;     ///< of `script`, lower-case hex: what EVALSHA takes
  /// The most that it allows within any one window, for the end of a sentence.
  std::string_view allows_at_most = {};
  bool is_exact = false;  ///< allows whatever a log of all allowed units would allow
  bool has_burst = false;
  bool has_refund = true;                               ///< takes a cost below 0
  bool has_delay = false;                               ///< an allowed request may have to wait
  std::int64_t max_cost = kLargestCost;                 ///< of one call, and of one refund
  std::unique_ptr<KeyModel> (*make_model)() = nullptr;  ///< null if it does not count requests
  /// Set if it does not count requests, so that Checker and KeyModel cannot ask it: what it does
  /// instead, the end of a sentence that begins with its name.
  std::string_view does_instead = {};
};

/// Every algorithm, in the order of the manual.
[[nodiscard]] std::span<const Algorithm> algorithms();
/// Null if no algorithm has that name.
[[nodiscard]] const Algorithm* find_algorithm(std::string_view name);
[[nodiscard]] bool has_burst(const Algorithm& algorithm);
/// It decides about requests and their costs: what --algorithm takes.
[[nodiscard]] bool counts_requests(const Algorithm& algorithm);
/// A limit's burst as the script counts it; none if the algorithm has none.
[[nodiscard]] std::optional<std::int64_t> effective_burst(const Algorithm& algorithm,
                                                          const Limit& limit);
/// The names of all algorithms, or of those that `wanted` picks.
[[nodiscard]] std::vector<std::string_view> list_names(bool (*wanted)(const Algorithm&));
/// The names, as in a message: "fixed-window, sliding-window-log, ... or concurrency". `wanted`
/// picks some of them (null: all), `last` comes before the last one.
[[nodiscard]] std::string algorithm_names(bool (*wanted)(const Algorithm&) = nullptr,
                                          std::string_view last = "or");
inline constexpr std::string_view kDefaultAlgorithm = "sliding-window-log";

/// Throws UsageError if the algorithm's script would refuse this limit and cost: a burst or a
/// refund that the algorithm does not have, a product out of range, a cost too large, an algorithm
/// that does not count requests. parse_limit() checks the ranges of limit and window.
void require_usable(const Algorithm& algorithm, const Limit& limit, std::int64_t cost = 1);

}  // namespace rlctl::limiter
