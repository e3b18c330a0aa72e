#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/server/connection.h"
#include "cli/terminal/output.h"
#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "stored/forms.h"

namespace rlctl::cli {

/// Sends a request to a limiter, and waits if requested. Connects when needed; closes the
/// connection before a long sleep. Throws what Connector::open() throws, Interrupted, and
/// ProblemError for an error of the server, explained if the key holds something else.
class Asker {
 public:
  /// `progress` shows the time left on a terminal.
  Asker(Connector& connector, const limiter::Algorithm& algorithm, const Interrupt& interrupt,
        Progress& progress)
      : connector_(connector), algorithm_(algorithm), interrupt_(interrupt), progress_(progress) {}

  /// Sends the request, which is recorded if allowed.
  limiter::Decision ask(const limiter::Request& request);

  /// Looks at each key separately (cost 0) and records nothing: a decision for each.
  std::vector<limiter::Decision> peek_each(const limiter::Request& request);

  /// Looks at each key separately and records nothing; allowed if request.cost units remain.
  limiter::Decision peek(const limiter::Request& request);

  /// Repeats the request until it is allowed, sleeping in between; also sleeps for the delay of
  /// leaky-bucket. Returns a denial, without sleeping or recording, if waiting does not help or a
  /// total of `at_most` is known to be too short.
  limiter::Decision wait(const limiter::Request& request,
                         std::optional<std::chrono::microseconds> at_most);

  /// The connection on which it asks, opened if needed.
  redis::Connection& connection() {
    static_cast<void>(checker());
    return *connection_;
  }

  /// Sleeps, and shows the time left until `key` is asked again.
  void sleep(std::chrono::microseconds duration, const std::string& key);
  /// What a terminal shows, `left` before the end of the sleep.
  using WaitText = std::function<std::string(std::chrono::microseconds left)>;
  void sleep(std::chrono::microseconds duration, const WaitText& text);

 private:
  limiter::Checker& checker();
  template <typename Exchange>
  auto exchange(const limiter::Request& request, bool records, Exchange exchange);
  std::optional<limiter::Decision> departure_later_than(const limiter::Request& request,
                                                        std::chrono::microseconds left);

  Connector& connector_;
  const limiter::Algorithm& algorithm_;
  const Interrupt& interrupt_;
  Progress& progress_;
  std::optional<redis::Connection> connection_;
  std::optional<limiter::Checker> checker_;  ///< of the connection
};

/// "12s", rounded up.
std::string seconds_up(std::chrono::microseconds duration);
/// Appends a duration as "12.041s", rounded up to ms so that a caller does not return too early.
void append_seconds(std::string& out, std::chrono::microseconds duration);

/// Merges separate peeks (cost 0) at the keys of these limits into one decision: see Asker::peek().
limiter::Decision merge_peeks(const limiter::Algorithm& algorithm,
                              std::span<const limiter::Limit> limits, std::int64_t cost,
                              std::span<const limiter::Decision> peeks);

// ---- What a request that fails means to its caller ----

/// --on-error: the answer if the server or the network fails.
struct OnError {
  std::optional<bool> allows;  ///< none: fail

  /// Whether the user chose an answer for this failure; never for wrong usage or a signal.
  bool covers(const Problem& problem) const noexcept;
  /// The warning that replaces the error. Requires covers().
  std::string warning(const Problem& problem, std::string_view command) const;
};

/// Adds --on-error.
void add_on_error_option(Options& options, OnError& target);

// The ends of messages.
inline constexpr const char* kWasCounted = "; the request was counted";
/// "; the request was counted" or, if `cost` is negative, "; the refund was counted"; empty for 0.
std::string_view what_was_counted(std::int64_t cost);
/// Flushes the answers. If that fails, the message ends in what `loss` returns.
void flush_answers(Output& out, const std::function<std::string()>& loss);
/// Whether the request may have been sent, and was not answered.
bool is_in_doubt(const Problem& problem);
/// If the request was sent but not answered, or one of its script's commands was refused, adds to
/// the message that it may have been counted; and for a reservation that it may be asked again.
Problem may_have_been_counted(
    Problem problem, const std::optional<limiter::ReservationCall>& reservation = std::nullopt);

/// The problem of a reserve or a settle that conflicts with what stands: other `units` than the
/// reservation of `key` has. Nothing was changed. std::nullopt if the decision is another one.
std::optional<Problem> conflict_of(const limiter::Decision& decision, std::string_view key,
                                   const std::optional<limiter::ReservationCall>& asked,
                                   std::int64_t units);

/// What a key holds instead of this algorithm's state: "a string, but sliding-window-log keeps a
/// list", "the state of gcra, not of fixed-window". Empty if it does not exist or seems to hold
/// that state.
std::string what_it_holds(const stored::KeySample& content, const stored::Decoded& state,
                          const limiter::Algorithm& algorithm);

/// The keys that the user may not access as a script does; none if asking fails. Requires a user
/// who may call EVALSHA, and no outstanding replies.
std::vector<std::string> refused_keys(redis::Connection& connection,
                                      std::span<const std::string> keys);

/// Whether the problem is one of the keys, which explain_keys() makes clearer.
bool is_about_keys(const Problem& problem);

/// Makes a script's WRONGTYPE error, which mentions KEYS[n], clearer: "'k' holds a string, but
/// sliding-window-log keeps a list", "'k' holds the state of gcra, not of fixed-window"; and adds
/// to NOPERM the keys that the user may not access. Asks the server, and records nothing; no
/// replies may be outstanding. If that fails or explains nothing, keeps the message, with the key's
/// name in it if that is known. Requires is_about_keys().
Problem explain_keys(Problem problem, const limiter::Algorithm& algorithm,
                     std::span<const std::string> keys, redis::Connection& connection);

}  // namespace rlctl::cli
