#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "cli/output.h"

namespace rlctl::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{100};

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

void Progress::update(std::size_t done_bytes, std::size_t total_bytes, std::size_t lines) {
  if (!enabled_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  const auto seconds = std::chrono::duration<double>(now - start_).count();
  const auto share =
      static_cast<double>(done_bytes) / static_cast<double>(std::max<std::size_t>(total_bytes, 1));
  const auto left = share > 0 ? seconds / share - seconds : 0;
  auto line = fmt::format("{:3.0f}%  {} lines  {:.0f}/s  {:.0f}s left", share * 100, lines,
                          static_cast<double>(lines) / seconds, left);
  // The last column stays free: some terminals wrap when it is written.
  line.resize(std::min(line.size(), terminal_width() - 1));
  write_stderr("\r" + line + "\033[K");
  shown_ = true;
}

void Progress::clear() noexcept {
  if (shown_) write_stderr("\r\033[K");
  shown_ = false;
}

}  // namespace rlctl::cli
