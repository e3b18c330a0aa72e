#include "cli/terminal/screen.h"

#include <poll.h>

#include "cli/terminal/terminal.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kOpen = "\033[?1049h\033[?25l";
constexpr std::string_view kClose = "\033[?25h\033[?1049l";
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kClearLine = "\033[K";
constexpr std::string_view kClearBelow = "\033[J";

}  // namespace

std::string frame_text(std::string_view text, std::size_t columns, std::size_t lines) {
  std::string out(kHome);
  std::size_t line = 0;
  for (; line < lines && !text.empty(); ++line) {
    if (line > 0) out += '\n';
    const auto end = text.find('\n');
    out += cut_to_width(text.substr(0, end), columns);
    out += kClearLine;
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  // If the text fills all lines, there is nothing to clear, and a line end would scroll.
  if (line < lines) out.append(line > 0 ? "\n" : "").append(kClearBelow);
  return out;
}

void Screen::draw(const std::string& header, const std::string& text, bool keeps_header) {
  if (!open_) {
    out_.write(kOpen);
    open_.emplace(out_.fd(), kClose, kOpen);
  }
  const auto lines = terminal_height(out_.fd());
  const auto frame = header + "\n" + text;
  last_ = keeps_header ? frame : text;
  out_.write(frame_text(frame, terminal_width(out_.fd()), lines));
  out_.flush();
}

void Screen::wait(const Interrupt& interrupt, Deadline deadline) {
  wait_for(open_ ? open_->fd() : -1, POLLIN, &interrupt, deadline);
  if (open_) open_->clear();
}

Screen::~Screen() {
  if (!open_) return;
  open_.reset();
  try {
    out_.write(kClose);
    out_.write(last_);
    out_.flush();
  } catch (...) {
    // The terminal is gone or no longer accepts output.
  }
}

}  // namespace rlctl::cli
