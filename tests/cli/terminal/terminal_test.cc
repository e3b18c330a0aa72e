#include "cli/terminal/terminal.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "base/file.h"

namespace rlctl::cli::terminal_test {
namespace {

/// Sets environment variables and restores their old values at the end.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& values) {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "TERM"}) {
      const char* before = std::getenv(name);
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      ::unsetenv(name);
    }
    for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

bool utf8_with(const std::map<std::string, std::string>& values) {
  const Environment environment(values);
  return locale_is_utf8();
}

/// A pseudo-terminal for this test; closed if the system provides none.
struct Pty {
  FileDescriptor master{::posix_openpt(O_RDWR | O_NOCTTY)};
  FileDescriptor slave;

  Pty() {
    if (master.get() < 0 || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0) return;
    slave = FileDescriptor(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY));
  }
  void resize(unsigned short columns, unsigned short lines) const {
    const winsize size{.ws_row = lines, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(slave.get(), TIOCSWINSZ, &size);
  }
};

}  // namespace

TEST_CASE("terminal: the first locale variable that is not empty determines whether it is UTF-8") {
  CHECK_FALSE(utf8_with({}));
  CHECK(utf8_with({{"LANG", "de_DE.UTF-8"}}));
  CHECK(utf8_with({{"LANG", "C"}, {"LC_CTYPE", "C.utf8"}}));
  CHECK(utf8_with({{"LC_ALL", ""}, {"LC_CTYPE", "en_GB.Utf-8"}}));
  CHECK_FALSE(utf8_with({{"LC_ALL", "C"}, {"LC_CTYPE", "C.UTF-8"}, {"LANG", "C.UTF-8"}}));
  CHECK_FALSE(utf8_with({{"LC_CTYPE", "POSIX"}, {"LANG", "C.UTF-8"}}));
  CHECK_FALSE(utf8_with({{"LANG", "de_DE.ISO-8859-1"}}));
}

TEST_CASE("terminal: a file that is not a terminal has 80 columns, 24 lines and no colour") {
  const FileDescriptor null(::open("/dev/null", O_WRONLY));
  CHECK_FALSE(is_terminal(null.get()));
  CHECK(terminal_width(null.get()) == 80);
  CHECK(terminal_height(null.get()) == 24);
  CHECK_FALSE(has_colour(null.get()));
}

TEST_CASE("terminal: the size may change, and colours are used unless disabled") {
  const Pty pty;
  if (pty.slave.get() < 0) {
    MESSAGE("skipped: no terminal to be had here");
    return;
  }
  const int fd = pty.slave.get();
  CHECK(is_terminal(fd));
  pty.resize(0, 0);
  CHECK(terminal_width(fd) == 80);
  CHECK(terminal_height(fd) == 24);
  pty.resize(40, 10);
  CHECK(terminal_width(fd) == 40);
  CHECK(terminal_height(fd) == 10);
  const auto colour_with = [&](const std::map<std::string, std::string>& values) {
    const Environment environment(values);
    return has_colour(fd);
  };
  CHECK(colour_with({{"TERM", "xterm"}}));
  CHECK(colour_with({{"TERM", "xterm"}, {"NO_COLOR", ""}}));
  CHECK_FALSE(colour_with({{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  CHECK_FALSE(colour_with({{"TERM", "dumb"}}));
  CHECK_FALSE(colour_with({{"TERM", ""}}));
  CHECK_FALSE(colour_with({}));
}

TEST_CASE("terminal: without UTF-8, durations have a u") {
  CHECK(without_micro_sign("within 20 µs, +500 µs", false) == "within 20 us, +500 us");
  CHECK(without_micro_sign("within 20 µs", true) == "within 20 µs");
  CHECK(without_micro_sign(" µs, key µs, 20µs", false) == " µs, key µs, 20µs");
}

}  // namespace rlctl::cli::terminal_test
