#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/file_descriptor.h"
#include "base/interrupt.h"
#include "base/wait.h"

namespace rlctl {

/// Waits for any number of descriptors at once, to the µs; what it costs does not grow with how
/// many there are, but with how many are ready (epoll). Throws std::system_error where the system
/// refuses one.
class Poller {
 public:
  /// `interrupt`, which may be null, must outlive it; once it is raised a wait under way ends, and
  /// later ones take no notice of it, so that what is on its way can be awaited.
  explicit Poller(const Interrupt* interrupt);

  /// Looks for what can be read from `fd`, which must stay open until it is removed.
  void add(int fd, std::size_t id);
  /// Whether it is to look for room to write, too.
  void set_writing(int fd, std::size_t id, bool wanted);
  void remove(int fd);

  static constexpr std::size_t kAtOnce = 128;
  struct Ready {
    std::size_t id = 0;
    bool readable = false;  ///< or broken, which reading tells
    bool writable = false;
  };
  /// What is ready now, at most kAtOnce of them, in turn where there are more; where nothing is,
  /// what is so first until `deadline`. It may also end some time before that, with nothing. Valid
  /// until the next call.
  [[nodiscard]] std::span<const Ready> wait(Deadline deadline);

 private:
  void control(int operation, int fd, std::size_t id, unsigned events);
  [[nodiscard]] std::span<const Ready> look(int timeout_ms);

  FileDescriptor epoll_;
  const Interrupt* interrupt_;
  std::array<Ready, kAtOnce> ready_{};
};

}  // namespace rlctl
