#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wait.h"
#include "cli/server/connection.h"
#include "cli/terminal/progress.h"
#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "limiter/decision.h"
#include "redis/connection.h"
#include "redis/reply.h"

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
  [[nodiscard]] limiter::Decision ask(const limiter::Request& request);

  /// Looks at each key separately (cost 0) and records nothing: a decision for each.
  [[nodiscard]] std::vector<limiter::Decision> look(const limiter::Request& request);

  /// Looks at each key separately and records nothing; allowed if request.cost units remain.
  [[nodiscard]] limiter::Decision peek(const limiter::Request& request);

  /// Repeats the request until it is allowed, sleeping in between; also sleeps for the delay of
  /// leaky-bucket. Returns a denial, without sleeping or recording, if waiting does not help or a
  /// total of `at_most` is known to be too short.
  [[nodiscard]] limiter::Decision wait(const limiter::Request& request,
                                       std::optional<std::chrono::microseconds> at_most);

  /// Sleeps, and shows the time left until `key` is asked again.
  void sleep(std::chrono::microseconds duration, const std::string& key);
  /// What a terminal shows, `left` before the end of the sleep.
  using WaitText = std::function<std::string(std::chrono::microseconds left)>;
  void sleep(std::chrono::microseconds duration, const WaitText& text);

 private:
  limiter::Checker& checker();
  template <typename Exchange>
  auto exchange(const limiter::Request& request, bool records, Exchange exchange);
  [[nodiscard]] std::vector<redis::Reply> read_replies(std::size_t count);
  [[nodiscard]] std::optional<limiter::Decision> departure_later_than(
      const limiter::Request& request, std::chrono::microseconds left);

  Connector& connector_;
  const limiter::Algorithm& algorithm_;
  const Interrupt& interrupt_;
  Progress& progress_;
  std::optional<redis::Connection> connection_;
  std::optional<limiter::Checker> checker_;  ///< of the connection
};

/// "12s", rounded up.
[[nodiscard]] std::string seconds_up(std::chrono::microseconds duration);

/// Merges separate looks (cost 0) at the keys of these limits into one decision: see Asker::peek().
[[nodiscard]] limiter::Decision merge_looks(const limiter::Algorithm& algorithm,
                                            std::span<const limiter::Limit> limits,
                                            std::int64_t cost,
                                            std::span<const limiter::Decision> looks);

}  // namespace rlctl::cli
