#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/file.h"
#include "base/time.h"
#include "base/wait.h"
#include "limiter/check.h"
#include "redis/connection.h"

namespace rlctl::limiter {

/// Renews a lease every third of its duration, in a thread, so that a server that hangs delays
/// nothing else. After a failure it tries again a second later, or after a third of the duration if
/// that is less. The thread has the signal mask of its creator and ends with this object, which
/// interrupts a renewal that is under way.
///
/// All functions may be called from the creator's thread while the renewals go on.
class LeaseRenewal {
 public:
  /// Opens the connection for a renewal. The interrupt ends its waits, none of which may take
  /// longer than `most`. Called in the thread; may throw. Everything that the function refers to
  /// must outlive this object, and nothing else may use it in the meantime unless it is
  /// thread-safe.
  using Connect =
      std::function<redis::Connection(const Interrupt& interrupt, std::chrono::microseconds most)>;

  /// `since`: when the request that took the lease was sent.
  LeaseRenewal(Connect connect, Lease lease, Clock::time_point since);
  ~LeaseRenewal();
  LeaseRenewal(const LeaseRenewal&) = delete;
  LeaseRenewal& operator=(const LeaseRenewal&) = delete;

  /// When the lease lapses, by this machine's clock: counted from the time at which the last
  /// successful request was sent, so never too late, unless the machine was suspended, which stops
  /// this clock but not the server's.
  Clock::time_point lapses() const;

  /// Whether the server refused a renewal: the lease has lapsed there, or it was removed. Nothing
  /// is renewed after that.
  bool is_refused() const { return refused_.signal() != 0; }

  /// Raised once is_refused(), to end a wait.
  const Interrupt& refusal() const noexcept { return refused_; }

  /// Why the last renewal failed; null if it did not.
  std::exception_ptr failure() const;

  /// Renews the lease without waiting for the time at which it is due, for example after this
  /// process was stopped.
  void renew_now() noexcept;

 private:
  void run();
  /// Returns when to renew next; none if the lease is lost.
  std::optional<Clock::time_point> renew();

  const Connect connect_;
  const Lease lease_;
  Interrupt stopped_, refused_;
  FileDescriptor wake_;  ///< readable when a renewal is due at once
  mutable std::mutex mutex_;
  Clock::time_point since_;  ///< with failure_, under the mutex
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace rlctl::limiter
