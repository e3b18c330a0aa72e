#pragma once

#include <cstddef>
#include <optional>

#include "base/wait.h"
#include "cli/errors/failure.h"
#include "cli/server/connection.h"
#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "redis/connection.h"

namespace rlctl::cli::check {

/// The connection of a batch: opened when a line needs it, dropped when it fails. After an attempt
/// that failed, or a connection on which no reply came, the next attempt comes a second later.
class BatchLink {
 public:
  BatchLink(Connector& connector, const limiter::Algorithm& algorithm)
      : connector_(connector), algorithm_(algorithm) {}

  /// Opens the connection if needed. Returns false if that fails; then problem() gives the reason.
  /// Throws Interrupted, and errors in the command line.
  bool ensure();
  [[nodiscard]] bool is_open() const noexcept { return connection_.has_value(); }
  [[nodiscard]] redis::Connection& connection() { return *connection_; }
  [[nodiscard]] limiter::Checker& checker() { return *checker_; }
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t outstanding() const {
    return connection_ ? connection_->outstanding() : 0;
  }
  /// A reply came, so a later failure is a new one.
  void answered() noexcept { answered_ = true; }
  /// Closes the connection. Until the next attempt, problem() is this one, as "not asked: ...".
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

}  // namespace rlctl::cli::check
