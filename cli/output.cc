#include "cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "cli/problem.h"
#include "redis/text.h"

namespace rlctl::cli {

void Output::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const auto count = ::write(fd_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    const int error = errno;
    if (error == EINTR) {
      interrupt_.check();
    } else if (error == EAGAIN || error == EWOULDBLOCK) {
      pollfd fds[] = {{fd_, POLLOUT, 0}, {interrupt_.fd(), POLLIN, 0}};
      ::poll(fds, 2, -1);
      interrupt_.check();
    } else if (error == EPIPE) {
      buffer_.clear();
      throw OutputClosed();
    } else {
      buffer_.clear();
      throw ProblemError(
          {.status = ExitStatus::kUsage,
           .code = "output",
           .message = "cannot write to standard output: " + redis::errno_text(error)});
    }
  }
  buffer_.clear();
}

void write_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void guard_standard_descriptors() noexcept {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is fd itself. Opened the wrong way round: using it fails, as it would
    // have; a closed standard input is not an empty one.
    [[maybe_unused]] const int opened = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace rlctl::cli
