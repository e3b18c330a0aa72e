#pragma once

#include <atomic>

namespace rlctl {

/// A flag that ends every wait: raised from a signal handler (Ctrl-C), seen by each Transport,
/// sleep and poll that was given it. It stays raised. Movable nowhere: signal handlers hold its
/// address.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Safe in a signal handler. The first signal wins.
  void raise(int signal) noexcept;
  /// The signal's number, 0 while none came.
  [[nodiscard]] int signal() const noexcept;
  /// Readable once raised; for poll().
  [[nodiscard]] int fd() const noexcept { return read_fd_; }
  /// Throws Interrupted if raised.
  void check() const;

 private:
  int read_fd_ = -1;
  int write_fd_ = -1;
  std::atomic<int> signal_ = 0;
};

}  // namespace rlctl
