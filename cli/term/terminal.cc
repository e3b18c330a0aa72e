#include "cli/term/terminal.h"

#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string_view>

#include "cli/term/environment.h"

namespace rlctl::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kLines = 24;

/// All zero where it is not known.
winsize size_of(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

bool names_utf8(std::string_view locale) noexcept {
  for (const std::string_view name : {"utf-8", "utf8"}) {
    for (std::size_t at = 0; at + name.size() <= locale.size(); ++at) {
      if (::strncasecmp(locale.data() + at, name.data(), name.size()) == 0) return true;
    }
  }
  return false;
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

bool may_colour(int fd) {
  return may_draw(fd) && !environment("NO_COLOR");
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const auto locale = environment(name)) return names_utf8(*locale);
  }
  return false;
}

Look look_of(int fd) {
  return {.columns = terminal_width(fd), .colour = may_colour(fd), .utf8 = locale_is_utf8()};
}

}  // namespace rlctl::cli
