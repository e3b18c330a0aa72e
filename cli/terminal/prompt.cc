#include "cli/terminal/prompt.h"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli {
namespace {

/// Turns off echo on the terminal until destroyed.
class SilentTerminal {
 public:
  SilentTerminal() : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (fd_ < 0 || ::tcgetattr(fd_, &before_) != 0) {
      if (fd_ >= 0) ::close(fd_);
      throw UsageError("--askpass needs a terminal, and this process has none",
                       "without a terminal, use --password-file or REDISCLI_AUTH");
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

void say(int out, std::string_view text) {
  [[maybe_unused]] const auto written = ::write(out, text.data(), text.size());
}

/// Asks on `out` and reads from `in`: a line without its end, or the text before the end of input.
std::string ask_line(std::string_view question, int in, int out, const Interrupt& interrupt) {
  say(out, question);
  std::string line;
  while (true) {
    pollfd fds[] = {{in, POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
    const int ready = ::poll(fds, 2, -1);
    if (interrupt.signal() != 0) say(out, "\n");
    interrupt.check();
    if (ready < 0 || fds[0].revents == 0) continue;
    char byte = 0;  // one at a time, to leave the input after the line unread
    const auto count = ::read(in, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) say(out, "\n");
    if (count <= 0 || byte == '\n') return line;
    line += byte;
  }
}

}  // namespace

bool can_confirm() noexcept {
  return is_terminal(STDIN_FILENO) && is_terminal(STDERR_FILENO);
}

bool confirm(std::string_view question, const Interrupt& interrupt) {
  std::string answer = ask_line(question, STDIN_FILENO, STDERR_FILENO, interrupt);
  for (char& c : answer) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return answer == "y" || answer == "yes";
}

std::string ask_password(std::string_view prompt, const Interrupt& interrupt) {
  const SilentTerminal terminal;
  auto password = ask_line(prompt, terminal.fd(), terminal.fd(), interrupt);
  if (password.empty()) throw UsageError("--askpass: no password was given");
  return password;
}

}  // namespace rlctl::cli
