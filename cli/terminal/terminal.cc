#include "cli/terminal/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace rlctl::cli {

// ---- The environment ----

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string state_file(const std::string& name) {
  auto folder = environment("XDG_STATE_HOME");
  if (!folder || !folder->starts_with('/')) {
    folder = environment("HOME");
    if (!folder || !folder->starts_with('/')) return {};
    folder->append("/.local/state");
  }
  return *folder + "/rlctl/" + name;
}

// ---- The terminal ----

namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kLines = 24;

/// All zero if the size is unknown.
winsize size_of(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

bool is_terminal(int fd) noexcept {
  return ::isatty(fd) == 1;
}

std::size_t terminal_width(int fd) noexcept {
  const auto columns = size_of(fd).ws_col;
  return columns == 0 ? kColumns : columns;
}

std::size_t terminal_height(int fd) noexcept {
  const auto lines = size_of(fd).ws_row;
  return lines == 0 ? kLines : lines;
}

bool may_draw(int fd) {
  return is_terminal(fd) && environment("TERM").value_or("dumb") != "dumb";
}

bool has_colour(int fd, Colour when) {
  if (when != Colour::kAuto) return when == Colour::kAlways;
  if (environment("NO_COLOR")) return false;
  return may_draw(fd) || environment("CLICOLOR_FORCE").value_or("0") != "0";
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto locale = lower_case(environment(name).value_or(""));
    if (!locale.empty())
      return locale.find("utf-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

std::string without_micro_sign(std::string text, bool utf8) {
  constexpr std::string_view kSign = " \u00b5s", kPlain = " us";
  if (utf8) return text;
  for (auto at = text.find(kSign); at != text.npos; at = text.find(kSign, at + 1)) {
    if (at > 0 && is_digit(text[at - 1])) text.replace(at, kSign.size(), kPlain);
  }
  return text;
}

Look look_of(int fd, Colour when) {
  return {.columns = terminal_width(fd), .colour = has_colour(fd, when), .utf8 = locale_is_utf8()};
}

// ---- Colours and columns ----

namespace {

constexpr std::string_view kReset = "\033[0m";

/// The escape sequence of each Tone, in the order of the enum.
constexpr std::array<std::string_view, 6> kSequences{"",         "\033[1m",  "\033[2m",
                                                     "\033[32m", "\033[33m", "\033[31m"};

}  // namespace

std::string key_text(std::string_view key, const Look& look) {
  if (key.size() <= kLongestShownKey) return escaped_text(key);
  auto end = kLongestShownKey;
  const auto is_within_character = [&] {
    return (static_cast<unsigned char>(key[end]) & 0xC0U) == 0x80U;
  };
  // Keys that are not text may have any number of such bytes.
  constexpr auto kLeast = kLongestShownKey - 3;
  while (end > kLeast && is_within_character()) --end;
  return escaped_text(key.substr(0, end)) + (look.utf8 ? "…" : "...");
}

std::string toned(std::string_view text, Tone tone, bool colour) {
  std::string out;
  if (!colour || tone == Tone::kPlain || text.empty()) return out.append(text);
  const auto sequence = kSequences.at(static_cast<std::size_t>(tone));
  return out.append(sequence).append(text).append(kReset);
}

namespace {

/// The colour's sequence at the start of the text; empty if there is none.
std::string_view own_sequence_at(std::string_view text) noexcept {
  if (text.starts_with(kReset)) return kReset;
  for (const auto sequence : kSequences) {
    if (!sequence.empty() && text.starts_with(sequence)) return sequence;
  }
  return {};
}

bool is_kept(char c, Printed printed) noexcept {
  return printed != Printed::kLine && (c == '\n' || c == '\t');
}

}  // namespace

bool is_plain(std::string_view text, Printed printed) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return (c >= ' ' && c < '\x7f') || is_kept(c, printed); });
}

std::string printable(std::string_view text, Printed printed) {
  if (is_plain(text, printed)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const auto* special = std::find_if(text.begin(), text.end(),
                                       [&](char c) { return c == '\033' || is_kept(c, printed); });
    out += escaped_message(text.substr(0, static_cast<std::size_t>(special - text.begin())));
    text.remove_prefix(static_cast<std::size_t>(special - text.begin()));
    if (text.empty()) break;
    const auto sequence = printed == Printed::kLines ? std::string_view() : own_sequence_at(text);
    const auto kept = std::max(sequence.size(), std::size_t{1});
    const bool is_own = !sequence.empty() || text.front() != '\033';
    out += is_own ? std::string(text.substr(0, kept)) : escaped_message(text.substr(0, 1));
    text.remove_prefix(kept);
  }
  return out;
}

std::string cut_to_width(std::string_view line, std::size_t columns) {
  std::size_t bytes = 0;
  bool coloured = false;
  while (bytes < line.size()) {
    const auto glyph = glyph_at(line.substr(bytes));
    if (glyph.columns > columns) break;
    if (line[bytes] == '\033') coloured = line.substr(bytes, glyph.bytes) != kReset;
    columns -= glyph.columns;
    bytes += glyph.bytes;
  }
  std::string out(line.substr(0, bytes));
  if (coloured) out += kReset;
  return out;
}

std::string without_middle(std::string_view text, std::size_t columns, std::string_view mark) {
  auto width = display_width(text);
  if (width <= columns) return std::string(text);
  const auto of_mark = display_width(mark);
  if (columns <= of_mark) return cut_to_width(text, columns);
  const auto room = columns - of_mark;
  auto out = cut_to_width(text, room - room / 2).append(mark);
  while (width > room / 2) {
    const auto glyph = glyph_at(text);
    width -= glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return out.append(text);
}

void pad(std::string& out, std::size_t used, std::size_t columns) {
  if (used < columns) out.append(columns - used, ' ');
}

// ---- Questions ----

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

  int fd() const noexcept { return fd_; }

 private:
  int fd_;
  termios before_{};
};

/// Asks on `out` and reads from `in`: a line without its end, or the text before the end of input.
std::string ask_line(std::string_view question, int in, int out, const Interrupt& interrupt) {
  const auto say = [out](std::string_view text) {
    static_cast<void>(write_all(out, printable(text, Printed::kLines)));
  };
  say(question);
  std::string line;
  while (true) {
    pollfd fds[] = {{in, POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
    const int ready = ::poll(fds, 2, -1);
    if (interrupt.signal() != 0) say("\n");
    interrupt.check();
    if (ready < 0 || fds[0].revents == 0) continue;
    char byte = 0;  // one at a time, to leave the input after the line unread
    const auto count = ::read(in, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) say("\n");
    if (count <= 0 || byte == '\n') return line;
    line += byte;
  }
}

}  // namespace

bool can_confirm() noexcept {
  return is_terminal(STDIN_FILENO) && is_terminal(STDERR_FILENO);
}

bool confirm(std::string_view question, const Interrupt& interrupt) {
  const auto answer = lower_case(ask_line(question, STDIN_FILENO, STDERR_FILENO, interrupt));
  return answer == "y" || answer == "yes";
}

std::string ask_password(std::string_view prompt, const Interrupt& interrupt) {
  const SilentTerminal terminal;
  auto password = ask_line(prompt, terminal.fd(), terminal.fd(), interrupt);
  if (password.empty()) throw UsageError("--askpass: no password was given");
  return password;
}

}  // namespace rlctl::cli
