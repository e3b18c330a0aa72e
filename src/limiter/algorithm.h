#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/model/model.h"

namespace rlctl::limiter {

/// One way to limit: a script in lua/ and what a caller must know to use it. Adding an algorithm is
/// adding its script, its model, its row in algorithm.cc, its test and its section in
/// rlctl-scripts(7).
struct Algorithm {
  std::string_view name;     ///< as --algorithm spells it, and the script's file name
  std::string_view summary;  ///< a few words for --help, 54 columns with " (default)"
  std::string_view script;   ///< the Lua source
  std::string_view sha1;     ///< of `script`, lower-case hex: what EVALSHA takes
  /// What it may allow within any one window at most, for the end of a sentence.
  std::string_view allows_at_most = {};
  std::string_view keeps;  ///< the Redis type of its state, with its article: "a list"
  bool is_exact = false;   ///< denies nothing that a log of all that was allowed would allow
  bool has_burst = false;
  bool has_refund = true;                               ///< takes a cost below 0
  bool has_delay = false;                               ///< an allowed request may have to wait
  std::int64_t max_cost = 1'000'000'000;                ///< of one call, and of one refund
  std::unique_ptr<KeyModel> (*make_model)() = nullptr;  ///< null: none of the usual contract
  /// Where it has a contract of its own, so that Checker and KeyModel cannot ask it: what it is and
  /// what to use, the end of a sentence that begins with its name. Else empty.
  std::string_view other_contract = {};
};

/// Every algorithm, in the order of the manual.
[[nodiscard]] std::span<const Algorithm> algorithms();
/// Null where there is none of that name.
[[nodiscard]] const Algorithm* find_algorithm(std::string_view name);
[[nodiscard]] bool has_burst(const Algorithm& algorithm);
/// It has the usual contract: what --algorithm takes.
[[nodiscard]] bool counts_requests(const Algorithm& algorithm);
/// A limit's burst as the script counts it; none where the algorithm has none.
[[nodiscard]] std::optional<std::int64_t> effective_burst(const Algorithm& algorithm,
                                                          const Limit& limit);
/// The names of those that are wanted (null: of all).
[[nodiscard]] std::vector<std::string_view> list_names(bool (*wanted)(const Algorithm&));
/// The names, as in a message: "fixed-window, sliding-window-log, ... or concurrency". `wanted`
/// picks some of them (null: all), `last` stands before the last one.
[[nodiscard]] std::string algorithm_names(bool (*wanted)(const Algorithm&) = nullptr,
                                          std::string_view last = "or");
inline constexpr std::string_view kDefaultAlgorithm = "sliding-window-log";

/// Throws UsageError where the algorithm's script would refuse this limit and cost for what they
/// are, without asking it: a burst where there is none, a product out of range, a cost too large, a
/// refund where there is none, a contract of its own. Ranges of limit and window alone are
/// parse_limit()'s.
void require_usable(const Algorithm& algorithm, const Limit& limit, std::int64_t cost = 1);

}  // namespace rlctl::limiter
