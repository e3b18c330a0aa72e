#include "cli/askpass.h"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "cli/failure.h"

namespace rlctl::cli {
namespace {

/// The terminal without echo, until destroyed.
class SilentTerminal {
 public:
  SilentTerminal() : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (fd_ < 0 || ::tcgetattr(fd_, &before_) != 0) {
      if (fd_ >= 0) ::close(fd_);
      throw UsageError("--askpass needs a terminal, and this process has none",
                       "without one the password can come from REDISCLI_AUTH");
    }
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent.c_lflag |= ECHONL;
    ::tcsetattr(fd_, TCSAFLUSH, &silent);
  }
  ~SilentTerminal() {
    ::tcsetattr(fd_, TCSANOW, &before_);
    ::close(fd_);
  }
  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
  termios before_{};
};

}  // namespace

std::string ask_password(std::string_view prompt, const Interrupt& interrupt) {
  const SilentTerminal terminal;
  [[maybe_unused]] auto written = ::write(terminal.fd(), prompt.data(), prompt.size());
  std::string password;
  while (true) {
    pollfd fds[] = {{terminal.fd(), POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
    const int ready = ::poll(fds, 2, -1);
    if (interrupt.signal() != 0) {
      written = ::write(terminal.fd(), "\n", 1);
      interrupt.check();
    }
    if (ready < 0 || fds[0].revents == 0) continue;
    char bytes[256];
    const auto count = ::read(terminal.fd(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    password.append(bytes, static_cast<std::size_t>(count));
    if (const auto end = password.find('\n'); end != password.npos) {
      password.resize(end);
      break;
    }
  }
  if (password.empty()) throw UsageError("--askpass: no password was given");
  return password;
}

}  // namespace rlctl::cli
