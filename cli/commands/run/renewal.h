#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/wait.h"
#include "cli/commands/run/admission.h"
#include "cli/server/connection.h"

namespace rlctl::cli::run {

/// Renews a lease every third of its duration, in a thread, so that a server that hangs delays
/// nothing else. Tries again each second after a failure. Uses `connector`, which nothing else may
/// use meanwhile. The thread has the signal mask of its creator.
class Renewal {
 public:
  Renewal(Connector& connector, HeldLease held);
  ~Renewal() { stop(); }
  Renewal(const Renewal&) = delete;
  Renewal& operator=(const Renewal&) = delete;

  /// When the lease lapses, by this machine's clock: counted from the time at which the last
  /// successful request was sent, so never too late, unless the machine was suspended, which stops
  /// this clock but not the server's.
  [[nodiscard]] Clock::time_point lapses() const;
  /// Whether the server refused a renewal: the lease has lapsed there, or somebody removed it.
  [[nodiscard]] bool is_refused() const;
  /// Why the last renewal failed; empty if it did not.
  [[nodiscard]] std::string problem() const;
  /// Readable once is_refused(); for poll().
  [[nodiscard]] int fd() const noexcept { return refused_.fd(); }

  void renew_now() noexcept;
  /// Ends a renewal that is under way.
  void stop() noexcept;

 private:
  void run();
  /// Returns when to renew next; none if the lease is lost.
  [[nodiscard]] std::optional<Clock::time_point> renew();

  Connector& connector_;
  const limiter::Lease lease_;
  Interrupt stopped_, refused_;
  FileDescriptor wake_;  ///< readable when a renewal is due at once
  mutable std::mutex mutex_;
  Clock::time_point since_;  ///< with problem_, under the mutex
  std::string problem_;
  std::thread thread_;
};

}  // namespace rlctl::cli::run
