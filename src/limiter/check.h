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

/// One question to a script: `keys` and `limits` pair up.
struct Request {
  std::vector<std::string> keys;
  std::vector<Limit> limits;
  std::int64_t cost = 1;
  std::optional<std::chrono::microseconds> now;  ///< default: the server's clock
};

/// Asks one algorithm's script on one connection. EVALSHA at once; only where the server answers
/// NOSCRIPT is the script loaded, and the question, which was not executed, asked again.
class Checker {
 public:
  Checker(redis::Connection& connection, const Algorithm& algorithm)
      : connection_(connection), algorithm_(algorithm) {}

  /// One round trip (two more after NOSCRIPT). Throws redis::Error.
  [[nodiscard]] Decision check(const Request& request);

  /// Pipelining: append() queues the question, parse() reads the answer to it. parse() throws
  /// redis::Error for an error reply (NOSCRIPT too) and for what no limiter script answers.
  void append(const Request& request);
  [[nodiscard]] static Decision parse(redis::ReplyView reply);
  /// Queues a look (cost 0) at each key of a request by itself: as many answers as keys.
  void append_looks(const Request& request);
  /// SCRIPT LOAD, and its answer.
  void load();

 private:
  redis::Connection& connection_;
  const Algorithm& algorithm_;
  // Of the last question; kept, so that the next one allocates nothing.
  std::string numbers_;
  std::vector<std::string_view> arguments_;
};

/// The server has not got the script: the question was not executed, and may be asked again after
/// Checker::load().
[[nodiscard]] bool is_unknown_script(redis::ReplyView reply);

}  // namespace rlctl::limiter
