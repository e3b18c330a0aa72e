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
#include "base/wait.h"
#include "cli/terminal/output.h"

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
    MESSAGE("skipped: needs a terminal");
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

TEST_CASE("what is printed has no control characters but line ends and the colours of rlctl") {
  const std::string red = toned("red", Tone::kBad, true);
  const std::string hostile = "\033[2J\a\r\x7f\xff\u009b\u202e" + red + "a\n\tb\\";
  const std::string shown = R"(\x1b[2J\x07\r\x7f\xff\xc2\x9b\xe2\x80\xae)";
  CHECK(printable(hostile, Printed::kColouredLines) == shown + red + "a\n\tb\\");
  CHECK(printable(hostile, Printed::kLines) == shown + R"(\x1b[31mred\x1b[0m)" + "a\n\tb\\");
  CHECK(printable(hostile, Printed::kLine) == shown + red + R"(a\n\tb\)");
  for (const auto printed : {Printed::kLine, Printed::kLines, Printed::kColouredLines}) {
    // Only whole sequences that toned() writes are colours.
    for (const std::string text : {"\033", "\033[", "\033[31", "\033[38;5;9m", "\033[?25lm"}) {
      CAPTURE(text);
      CHECK(printable(text, printed) == "\\x1b" + text.substr(1));
    }
    const auto once = printable(hostile, printed);
    CHECK(printable(once, printed) == once);
    CHECK(printable("5 \u00b5s, \u00e9\u2026", printed) == "5 \u00b5s, \u00e9\u2026");
    CHECK(printable("", printed).empty());
  }
}

TEST_CASE("standard output is escaped, except for what is written raw") {
  const Interrupt interrupt;
  int fds[2];
  REQUIRE(::pipe(fds) == 0);
  const FileDescriptor reader(fds[0]), writer(fds[1]);
  Output out(writer.get(), interrupt);
  out.set_colour(Colour::kNever);
  out.write("\033[31ma\n");
  out.write_raw("\033[H");
  out.buffer() += "\a";
  out.write_raw("\r");
  out.flush();
  out.set_colour(Colour::kAlways);
  out.write("\033[31mb\033[0m\033[H");
  out.flush();
  char bytes[200];
  const auto size = ::read(reader.get(), bytes, sizeof bytes);
  CHECK(std::string_view(bytes, static_cast<std::size_t>(size)) ==
        "\\x1b[31ma\n\033[H\\x07\r\033[31mb\033[0m\\x1b[H");
}

}  // namespace rlctl::cli::terminal_test
