#include "base/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace rlctl {

// Anything that is not lock-free could dead-lock in a signal handler.
static_assert(std::atomic<int>::is_always_lock_free);

Interrupt::Interrupt() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  }
  read_fd_ = ends[0];
  write_fd_ = ends[1];
}

Interrupt::~Interrupt() {
  ::close(read_fd_);
  ::close(write_fd_);
}

void Interrupt::raise(int signal) noexcept {
  const int saved_errno = errno;
  int none = 0;
  if (signal_.compare_exchange_strong(none, signal)) {
    // One byte that nobody ever reads: the pipe stays readable for every later poll().
    [[maybe_unused]] const auto written = ::write(write_fd_, "!", 1);
  }
  errno = saved_errno;
}

int Interrupt::signal() const noexcept {
  return signal_.load();
}

void Interrupt::check() const {
  if (signal() != 0) throw Interrupted();
}

}  // namespace rlctl
