#include "cli/term/confirm.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "cli/term/output.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {
namespace {

/// Without its line end; what there was, where the input ended before one.
std::string read_line(const Interrupt& interrupt) {
  std::string line;
  while (true) {
    pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
    const int ready = ::poll(fds, 2, -1);
    if (interrupt.signal() != 0) write_stderr("\n");
    interrupt.check();
    if (ready < 0 || fds[0].revents == 0) continue;
    char byte = 0;  // one at a time: what follows the line is not ours
    const auto count = ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) write_stderr("\n");
    if (count <= 0 || byte == '\n') return line;
    line += byte;
  }
}

}  // namespace

bool can_confirm() noexcept {
  return is_terminal(STDIN_FILENO) && is_terminal(STDERR_FILENO);
}

bool confirm(std::string_view question, const Interrupt& interrupt) {
  write_stderr(question);
  std::string answer = read_line(interrupt);
  for (char& c : answer) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return answer == "y" || answer == "yes";
}

}  // namespace rlctl::cli
