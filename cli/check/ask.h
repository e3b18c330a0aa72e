#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/term/progress.h"
#include "limiter/check.h"

namespace rlctl::cli {

/// Puts one request to a limiter, and waits where that is asked for. Connects when it must; while
/// it sleeps for long it holds no connection. Throws what Connector::open() and limiter::Checker
/// throw, with the state of the key explained where that is of the wrong kind.
class Asker {
 public:
  /// `progress` tells a terminal how long it waits.
  Asker(Connector& connector, const limiter::Algorithm& algorithm, const Interrupt& interrupt,
        Progress& progress)
      : connector_(connector), algorithm_(algorithm), interrupt_(interrupt), progress_(progress) {}

  /// Asks and records.
  [[nodiscard]] limiter::Decision ask(const limiter::Request& request);

  /// Looks at each key by itself and records nothing: allowed where request.cost would remain.
  [[nodiscard]] limiter::Decision peek(const limiter::Request& request);

  /// Asks until it is allowed, and sleeps in between; leaky-bucket's delay is slept too. Denied
  /// where no wait helps, or where it is known that `at_most` in all would not be enough; nothing
  /// is slept for that, and nothing recorded.
  [[nodiscard]] limiter::Decision wait(const limiter::Request& request,
                                       std::optional<std::chrono::microseconds> at_most);

 private:
  redis::Connection& connection();
  template <typename Exchange>
  auto exchange(const limiter::Request& request, bool records, Exchange exchange);
  [[nodiscard]] std::vector<limiter::Decision> look(const limiter::Request& request);
  void sleep(std::chrono::microseconds duration, const std::string& key);
  [[nodiscard]] std::optional<limiter::Decision> departure_later_than(
      const limiter::Request& request, std::chrono::microseconds left);

  Connector& connector_;
  const limiter::Algorithm& algorithm_;
  const Interrupt& interrupt_;
  Progress& progress_;
  std::optional<redis::Connection> connection_;
};

/// What looks (cost 0) at each key of a request say about it: see Asker::peek().
[[nodiscard]] limiter::Decision merge_looks(std::span<const limiter::Decision> looks,
                                            std::int64_t cost);

inline constexpr std::string_view kMayHaveBeenCounted = "; the request may have been counted";
/// Adds that a request which was sent and not answered may have been counted.
[[nodiscard]] Problem may_have_been_counted(Problem problem);

/// A script's WRONGTYPE, which speaks of KEYS[n], made clearer: "'k' holds a string, but
/// sliding-window-log keeps a list", "'k' holds the state of gcra, not of fixed-window". Looks at
/// the keys, with nothing else outstanding; where that is not to be had or explains nothing, the
/// script's own sentence stays, with the key's name in it.
[[nodiscard]] Problem explain_wrong_type(Problem problem, const limiter::Algorithm& algorithm,
                                         std::span<const std::string> keys,
                                         redis::Connection& connection);

}  // namespace rlctl::cli
