#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/decision.h"
#include "limiter/limit.h"
#include "redis/connection.h"

namespace rlctl::limiter {

/// One call of a script: `keys` and `limits` pair up.
struct Request {
  std::vector<std::string> keys;
  std::vector<Limit> limits;
  std::int64_t cost = 1;
  std::optional<std::chrono::microseconds> now;  ///< default: the server's clock
};

/// A call of a loaded script: EVALSHA as data. Owns nothing.
struct ScriptCall {
  std::string_view sha1 = {};
  redis::Arguments keys = {}, arguments = {};

  void append_to(redis::Connection& connection) const {
    connection.append_evalsha(sha1, keys, arguments);
  }
};

/// Turns requests into calls of an algorithm's script.
class CheckCommand {
 public:
  explicit CheckCommand(const Algorithm& algorithm) : algorithm_(algorithm) {}

  /// Valid until the next call, and as long as the request is.
  [[nodiscard]] ScriptCall of(const Request& request);

 private:
  const Algorithm& algorithm_;
  // Of the last request; kept, so that the next one allocates nothing.
  std::string numbers_;
  std::vector<std::string_view> keys_, arguments_;
};

/// SCRIPT LOAD of an algorithm's script, and its answer. Throws redis::Error.
void load_script(redis::Connection& connection, const Algorithm& algorithm);

/// Calls one algorithm's script on one connection: EVALSHA at once, and only if the server answers
/// NOSCRIPT, loads the script and repeats the request, which was not executed.
class Checker {
 public:
  Checker(redis::Connection& connection, const Algorithm& algorithm)
      : connection_(connection), algorithm_(algorithm), command_(algorithm) {}

  /// One round trip (two more after NOSCRIPT). Throws redis::Error.
  [[nodiscard]] Decision check(const Request& request);

  /// Pipelining: append() queues the question, parse() reads the answer to it. parse() throws
  /// redis::Error for an error reply (NOSCRIPT too) and for what no limiter script answers.
  void append(const Request& request) { command_.of(request).append_to(connection_); }
  [[nodiscard]] static Decision parse(redis::ReplyView reply);
  /// Queues a look (cost 0) at each key of a request by itself: as many answers as keys.
  void append_looks(const Request& request);
  void load() { load_script(connection_, algorithm_); }

 private:
  redis::Connection& connection_;
  const Algorithm& algorithm_;
  CheckCommand command_;
};

/// The server does not have the script: the request was not executed and may be sent again after
/// Checker::load().
[[nodiscard]] bool is_unknown_script(redis::ReplyView reply);

}  // namespace rlctl::limiter
