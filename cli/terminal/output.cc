#include "cli/terminal/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <new>

#include "base/error.h"
#include "base/text.h"
#include "cli/terminal/signals.h"

namespace rlctl::cli {

namespace {

/// The number of bytes that a pipe accepts without blocking if poll() reports room. Whole lines if
/// possible, so that lines of several processes do not mix.
std::size_t size_of_piece(std::string_view text) {
  if (text.size() <= PIPE_BUF) return text.size();
  const auto newline = text.substr(0, PIPE_BUF).rfind('\n');
  return newline == text.npos ? PIPE_BUF : newline + 1;
}

void write_raw_stderr(std::string_view bytes) noexcept {
  static_cast<void>(write_all(STDERR_FILENO, bytes));
}

OutputError cannot_write(int error) {
  return OutputError("cannot write to standard output: " + errno_text(error));
}

}  // namespace

void Output::require_open() const {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) throw cannot_write(EBADF);
}

void Output::write_raw(std::string_view bytes) {
  escape_new();
  buffer_ += bytes;
  escaped_ = buffer_.size();
}

/// Escapes what was added to the buffer since the last call.
void Output::escape_new() {
  escaped_ = std::min(escaped_, buffer_.size());
  const auto added = std::string_view(buffer_).substr(escaped_);
  if (!is_plain(added, Printed::kLines)) {
    buffer_.replace(escaped_, std::string::npos,
                    printable(added, look().colour ? Printed::kColouredLines : Printed::kLines));
  }
  escaped_ = buffer_.size();
}

void Output::flush() {
  escape_new();
  std::size_t written = 0;
  try {
    while (written < buffer_.size()) {
      wait_for_room();
      written += write_some(std::string_view(buffer_).substr(written));
    }
  } catch (...) {
    buffer_.erase(0, written);  // so that a later flush() does not write it again
    escaped_ = buffer_.size();
    throw;
  }
  buffer_.clear();
  escaped_ = 0;
}

/// A signal only ends the wait: the buffered answers were counted, so write what does not block.
void Output::wait_for_room() const {
  pollfd fds[] = {{fd_, POLLOUT, 0}, {interrupt_.fd(), POLLIN, 0}};
  while (::poll(fds, 2, -1) <= 0 || fds[0].revents == 0) interrupt_.check();
}

std::size_t Output::write_some(std::string_view text) {
  const auto count = ::write(fd_, text.data(), size_of_piece(text));
  if (count >= 0) return static_cast<std::size_t>(count);
  const int error = errno;
  if (error == EINTR || error == EAGAIN || error == EWOULDBLOCK) return 0;
  buffer_.clear();
  // A terminal that has hung up takes nothing any more; its SIGHUP is the reason to tell.
  if (error == EIO) interrupt_.check();
  if (error == EPIPE && !ignores_pipe()) throw OutputClosed();
  if (error == EPIPE) throw OutputError("standard output is closed");
  throw cannot_write(error);
}

bool write_stdout(std::string_view text) {
  return write_all(STDOUT_FILENO, printable(text, Printed::kLines));
}

void write_stderr(std::string_view text) noexcept {
  if (is_plain(text, Printed::kLines)) return write_raw_stderr(text);
  try {
    write_raw_stderr(printable(text, Printed::kLines));
  } catch (const std::bad_alloc&) {
    write_raw_stderr("rlctl: out of memory\n");
  }
}

void clear_progress() noexcept {
  if (may_draw(STDERR_FILENO)) write_raw_stderr("\r\033[K");
}

void guard_standard_descriptors() noexcept {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free number, which is fd. The wrong access mode makes using it
    // fail, as before: a closed standard input is not an empty one. For a program that is executed,
    // it is closed again.
    [[maybe_unused]] const int opened =
        ::open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

void require_one_on_stdout(int asked, const char* hint) {
  if (asked > 1) throw UsageError("standard output is asked for more than once", hint);
}

// ---- Progress ----

bool Progress::is_due() {
  constexpr std::chrono::milliseconds kInterval{100};
  if (!enabled_ || Clock::now() < next_) return false;
  next_ = Clock::now() + kInterval;
  return true;
}

std::string Progress::time_left(double share) const {
  constexpr std::pair<double, std::string_view> kUnits[] = {
      {86'400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  constexpr double kMostShown = 9999;
  const auto seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto left = share > 0 ? seconds / share - seconds : HUGE_VAL;
  // Two of a unit are the least that it shows, so that the number is not coarse.
  const auto* unit = std::ranges::find_if(
      kUnits, [left](const auto& one) { return one.first == 1 || left >= 2 * one.first; });
  return fmt::format("{:.0f} {} left", std::min(left / unit->first, kMostShown), unit->second);
}

void Progress::show(std::string line) {
  // Leave the last column free: some terminals wrap after writing it.
  line = cut_to_width(without_micro_sign(printable(line, Printed::kLine), locale_is_utf8()),
                      terminal_width(STDERR_FILENO) - 1);
  write_raw_stderr("\r" + line + "\033[K");
  shown_ = true;
}

void Progress::update(std::size_t done_bytes, std::size_t total_bytes, std::size_t lines) {
  if (!is_due()) return;
  const auto seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto share =
      static_cast<double>(done_bytes) / static_cast<double>(std::max<std::size_t>(total_bytes, 1));
  show(fmt::format("{:3.0f}%  {} lines  {:.0f}/s  {}", share * 100, lines,
                   static_cast<double>(lines) / seconds, time_left(share)));
}

void Progress::update(double share, std::string_view what) {
  if (!is_due()) return;
  show(fmt::format("{:3.0f}%  of {}; {}; Ctrl-C stops", share * 100, what, time_left(share)));
}

void Progress::update(std::string line) {
  if (is_due()) show(std::move(line));
}

void Progress::clear() noexcept {
  if (shown_) write_raw_stderr("\r\033[K");
  shown_ = false;
}

}  // namespace rlctl::cli
