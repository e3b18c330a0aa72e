#include "cli/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{100};

}  // namespace

bool Progress::is_due() {
  if (!enabled_ || Clock::now() < next_) return false;
  next_ = Clock::now() + kInterval;
  return true;
}

void Progress::show(std::string line) {
  // Leave the last column free: some terminals wrap after writing it.
  line = cut_to_width(without_micro_sign(std::move(line), locale_is_utf8()),
                      terminal_width(STDERR_FILENO) - 1);
  write_stderr("\r" + line + "\033[K");
  shown_ = true;
}

void Progress::update(std::size_t done_bytes, std::size_t total_bytes, std::size_t lines) {
  if (!is_due()) return;
  const auto seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto share =
      static_cast<double>(done_bytes) / static_cast<double>(std::max<std::size_t>(total_bytes, 1));
  const auto left = share > 0 ? seconds / share - seconds : 0;
  show(fmt::format("{:3.0f}%  {} lines  {:.0f}/s  {:.0f}s left", share * 100, lines,
                   static_cast<double>(lines) / seconds, left));
}

void Progress::update(double share, std::string_view what) {
  if (!is_due()) return;
  show(fmt::format("{:3.0f}%  of {}; Ctrl-C stops", share * 100, what));
}

void Progress::update(std::string line) {
  if (is_due()) show(std::move(line));
}

void Progress::clear() noexcept {
  if (shown_) write_stderr("\r\033[K");
  shown_ = false;
}

}  // namespace rlctl::cli
