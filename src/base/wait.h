#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>

#include "base/file.h"

// Waiting until a deadline, or until Ctrl-C raises an Interrupt; cli/terminal/signals.h connects it
// with the signals. wait_for() waits for one descriptor or only for time to pass: a connection, a
// log from a pipe, the next attempt. A Poller waits for many connections: those to the
// servers of a Cluster, and those of a burst.

namespace rlctl {

// ---- Ctrl-C ----

/// A flag that ends every wait: a signal handler (Ctrl-C) raises it, and each Transport, sleep and
/// poll that was given it sees it. It stays raised. It cannot be moved, since signal handlers hold
/// its address.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Safe in a signal handler. The first signal wins.
  void raise(int signal) noexcept;
  /// The signal's number; 0 if none was raised.
  int signal() const noexcept;
  /// Readable once raised; for poll().
  int fd() const noexcept { return read_end_.get(); }
  /// Throws Interrupted if raised.
  void check() const;

 private:
  FileDescriptor read_end_, write_end_;  ///< of a pipe
  std::atomic<int> signal_ = 0;
};

// ---- Waiting ----

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();
/// The deadline that is `timeout` from now; kNoDeadline for microseconds::max().
inline Deadline deadline_after(std::chrono::microseconds timeout) {
  return timeout == timeout.max() ? kNoDeadline : Clock::now() + timeout;
}

enum class Wake { kReady, kDeadline };

/// Waits for `events`, as in poll(), on `fd` (-1: only for the deadline). Throws Interrupted once
/// `interrupt`, which may be null, is raised.
Wake wait_for(int fd, short events, const Interrupt* interrupt, Deadline deadline);

/// Waits for any number of descriptors at once, to the µs, at a cost that depends only on how many
/// are ready (epoll). Throws std::system_error if the system refuses one.
class Poller {
 public:
  /// `interrupt`, which may be null, must outlive this. Raising it ends the current wait; later
  /// waits ignore it, so that outstanding replies can be awaited.
  explicit Poller(const Interrupt* interrupt);

  /// Watches `fd` for reading; it must stay open until it is removed.
  void add(int fd, std::size_t id);
  /// Sets whether to watch `fd` for writing as well.
  void set_writing(int fd, std::size_t id, bool wanted);
  /// Closing a descriptor removes it, too.
  void remove(int fd);
  /// Readable while one of them is ready; for poll().
  int fd() const noexcept { return epoll_.get(); }

  static constexpr std::size_t kAtOnce = 128;
  struct Ready {
    std::size_t id = 0;
    bool readable = false;  ///< or broken, which a read will report
    bool writable = false;
  };
  /// The descriptors that are ready now, at most kAtOnce, taking turns if there are more. If none
  /// is, waits until `deadline` for the first; may return earlier with none. Valid until the next
  /// call.
  std::span<const Ready> wait(Deadline deadline);

 private:
  void control(int operation, int fd, std::size_t id, unsigned events);
  std::span<const Ready> poll(int timeout_ms);

  FileDescriptor epoll_;
  const Interrupt* interrupt_;
  std::array<Ready, kAtOnce> ready_{};
};

}  // namespace rlctl
