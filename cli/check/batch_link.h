#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "cli/connection.h"
#include "cli/failure.h"
#include "limiter/check.h"
#include "redis/connection.h"

namespace rlctl::cli {

/// The connection of a batch: opened when there is something to ask, dropped when it fails, and
/// after a failure not tried again for a second.
class BatchLink {
 public:
  BatchLink(Connector& connector, const limiter::Algorithm& algorithm)
      : connector_(connector), algorithm_(algorithm) {}

  /// True if there is a connection now; else problem() says why there is none. Throws
  /// Interrupted and what is wrong with the command line.
  bool ensure();
  [[nodiscard]] bool is_open() const noexcept { return connection_.has_value(); }
  [[nodiscard]] redis::Connection& connection() { return *connection_; }
  [[nodiscard]] limiter::Checker& checker() { return *checker_; }
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] std::chrono::microseconds timeout() const noexcept { return connector_.timeout(); }
  [[nodiscard]] std::size_t outstanding() const {
    return connection_ ? connection_->outstanding() : 0;
  }
  /// It works: a later failure is a new one.
  void answered() noexcept { answered_ = true; }
  void drop(const Problem& problem);

 private:
  Connector& connector_;
  const limiter::Algorithm& algorithm_;
  std::optional<redis::Connection> connection_;
  std::optional<limiter::Checker> checker_;
  bool answered_ = false;
  Problem problem_;
  Clock::time_point next_attempt_{};
};

}  // namespace rlctl::cli
