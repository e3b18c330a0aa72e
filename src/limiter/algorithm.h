#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "limiter/limit.h"
#include "limiter/model.h"

// The table of the bundled algorithms, and what follows from a row: which limits it supports, and
// why a limiter treated some traffic as it did. Everything that knows an algorithm by its name
// starts here: --algorithm, policies, check.h, the stored forms, burst and lint.

namespace rlctl::limiter {

/// A rate-limiting algorithm: a script in lua/ and what a caller must know to use it. A new
/// algorithm needs a script, a model, a row in algorithm.cc, in src/stored/forms.cc and in
/// cli/commands/inspect/text.cc, a test, and a section in rlctl-scripts(7) and rlctl-stored(7).
struct Algorithm {
  std::string_view name;     ///< as --algorithm spells it, and the script's file name
  std::string_view summary;  ///< for --help: at most 54 columns with " (default)"
  std::string_view example;  ///< what the limit 5/60s means, as the end of a sentence
  std::string_view script;   ///< the Lua source
  std::string_view sha1;     ///< of `script`, in lower-case hex, for EVALSHA
  /// The most that it allows within any one window, as the end of a sentence.
  std::string_view allows_at_most = {};
  /// Why it kept a limit and still denied or delayed requests, and why it let more through:
  /// templates of why(). Without `why_exceeded`, it lets no more through if requests come in the
  /// order of their times.
  std::string_view why_kept = {}, why_exceeded = {};
  bool is_exact = false;  ///< allows exactly what a log of all allowed units allows
  bool has_burst = false;
  bool has_periods = false;              ///< a call may state when a window begins and ends
  bool has_refund = true;                ///< takes a cost below 0
  bool has_delay = false;                ///< an allowed request may have to wait
  bool has_reservations = false;         ///< takes a ReservationCall
  std::int64_t max_cost = kLargestCost;  ///< of one call or one refund
  std::unique_ptr<KeyModel> (*make_model)() = nullptr;  ///< null if it does not count requests
  /// Set if the algorithm does not count requests, so that Checker and KeyModel do not support it:
  /// what it does instead, as the end of a sentence that begins with its name.
  std::string_view does_instead = {};
};

/// Every algorithm, in the order of the manual.
std::span<const Algorithm> algorithms();
/// Null if no algorithm has that name.
const Algorithm* find_algorithm(std::string_view name);
/// The members, as functions for list_names().
bool has_burst(const Algorithm& algorithm);
bool has_periods(const Algorithm& algorithm);
/// Whether the algorithm decides about requests and their costs; only then --algorithm accepts it.
bool counts_requests(const Algorithm& algorithm);
/// The commands of the server that a call of the script takes, as the script names them: "EVALSHA",
/// "SCRIPT LOAD", "TIME".
std::vector<std::string> commands_of(const Algorithm& algorithm);
/// The burst that the script uses for this limit; std::nullopt if the algorithm has no burst.
std::optional<std::int64_t> effective_burst(const Algorithm& algorithm, const Limit& limit);
/// The names of the algorithms for which `wanted` returns true; null: of all.
std::vector<std::string_view> list_names(bool (*wanted)(const Algorithm&));
inline constexpr std::string_view kDefaultAlgorithm = "sliding-window-log";
/// The default if a limit has a window of the calendar.
inline constexpr std::string_view kDefaultForCalendar = "fixed-window";
/// The algorithm of these limits if none is named.
const Algorithm& default_algorithm(std::span<const Limit> limits);

/// Throws UsageError if the algorithm's script would refuse this limit and cost: a burst, a
/// calendar or a refund that the algorithm does not support, a product out of range, a cost that is
/// too large, or an algorithm that does not count requests. parse_limit() checks the ranges of
/// limit and window.
void require_usable(const Algorithm& algorithm, const Limit& limit, std::int64_t cost = 1);
/// Throws UsageError if the algorithm takes no ReservationCall.
void require_reservations(const Algorithm& algorithm);

// ---- Why a limiter did what it did ----

/// What a limiter did with some traffic, as measured.
struct RunSummary {
  Limit limit = {};
  std::int64_t cost = 1;                     ///< the highest cost of a request
  std::int64_t denied = 0, keys_denied = 0;  ///< denied requests; keys with denied requests
  bool has_several_keys = false;             ///< the members below are about the worst key
  std::int64_t allowed = 0;                  ///< the most units allowed within one window
  microseconds span{0};                      ///< from the first to the last of `allowed`
  microseconds edge{0};                      ///< the last edge of a window before the last unit
  std::int64_t after_edge = 0;               ///< how many of `allowed` are not before `edge`
  microseconds longest_delay{0};             ///< of an allowed request
  bool is_search = false;                    ///< the worst of the schedules that a search tried
  std::string (*text_of)(microseconds) = span_text;  ///< of a time that has passed
};

/// Why the algorithm treated the traffic so, as a sentence about it without a full stop: "its
/// counter starts over at 2026-01-01T00:01:00Z, so ...". std::nullopt if it allowed nothing.
std::optional<std::string> why(const Algorithm& algorithm, const RunSummary& summary);

}  // namespace rlctl::limiter
