#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.h"
#include "cli/limits.h"
#include "limiter/decision.h"

namespace rlctl::cli {

/// One answer as it is shown.
struct Result {
  std::string_view key = {};                     ///< as asked
  std::span<const std::string> redis_keys = {};  ///< one for each limit
  std::int64_t cost = 1;
  limiter::Decision decision = {};
  bool peek = false;  ///< nothing was recorded; retry_after is not known
  const Problem* on_error =
      nullptr;  ///< nobody answered: `decision.allowed` is what --on-error says
};

/// Writes the results of one limiter: `word key=value` lines, or JSON, an object a line. What is
/// the same in each is made once.
class ResultFormat {
 public:
  ResultFormat(const Limiter& limiter, bool json);

  /// Appends one line.
  void append(std::string& out, const Result& result) const;
  /// Appends the line of a batch that has no result.
  void append_error(std::string& out, std::size_t line, const Problem& problem) const;

 private:
  void append_text(std::string& out, const Result& result) const;
  void append_json(std::string& out, const Result& result) const;

  bool json_;
  std::string algorithm_;                 ///< in JSON
  std::string limits_;                    ///< text: limit=5/60s
  std::vector<std::string> json_limits_;  ///< of each limit, the fields after its key
};

/// "12.041s", rounded up to ms, so that nobody comes back too early.
void append_seconds(std::string& out, std::chrono::microseconds duration);

}  // namespace rlctl::cli
