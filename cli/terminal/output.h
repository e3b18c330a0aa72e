#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/wait.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli {

/// The reader of the output closed it (`| head -1`): the process ends with SIGPIPE. If that was
/// ignored when it started, as under systemd, this is an OutputError instead.
class OutputClosed : public std::exception {
 public:
  const char* what() const noexcept override { return "standard output is closed"; }
};

/// Standard output. Escapes all text as printable() does, and buffers it until flush(), which
/// throws OutputClosed, OutputError (such as a full disk) or Interrupted, so that nothing is lost
/// silently. Once interrupted, it writes what it can without blocking, and throws if that is not
/// everything.
class Output {
 public:
  Output(int fd, const Interrupt& interrupt) : fd_(fd), interrupt_(interrupt) {}

  /// The buffer; append text to it.
  std::string& buffer() noexcept { return buffer_; }
  void write(std::string_view text) { buffer_ += text; }
  /// Writes bytes as they are: for formats that have other readers than people.
  void write_raw(std::string_view bytes);
  void flush();
  /// flush(), once there is so much that one more write costs little.
  void flush_if_large() {
    if (buffer_.size() > kLarge) flush();
  }
  /// Throws what flush() would throw if standard output was closed from the start: call it before
  /// doing something that cannot be undone.
  void require_open() const;
  bool pending() const noexcept { return !buffer_.empty(); }
  int fd() const noexcept { return fd_; }
  /// How text for people is formatted there.
  Look look() const { return look_of(fd_, colour_); }
  void set_colour(Colour when) noexcept { colour_ = when; }

  static constexpr std::size_t kLarge = std::size_t{1} << 16;

 private:
  void escape_new();
  void wait_for_room() const;
  std::size_t write_some(std::string_view text);

  int fd_;
  const Interrupt& interrupt_;
  Colour colour_ = Colour::kAuto;
  std::string buffer_;
  std::size_t escaped_ = 0;  ///< the bytes of the buffer that are written as they are
};

/// Writes to standard output at once, escaped as by printable(). Returns whether it could.
bool write_stdout(std::string_view text);
/// Writes to stderr, escaped as by printable(), with one write() if possible. Ignores failures.
void write_stderr(std::string_view text) noexcept;

/// Removes a line of progress that a process which was killed may have left on stderr.
void clear_progress() noexcept;

/// Opens /dev/null for each of 0, 1 and 2 that is closed, so that no socket gets its number;
/// reading and writing there still fail.
void guard_standard_descriptors() noexcept;

/// The destination of one format of the report: a file, standard output, or none.
class Destination {
 public:
  /// "-" means standard output. Opens the file, so that an unwritable file is reported before
  /// anything runs.
  Destination(std::string_view option, const std::optional<std::string>& path, Output& out)
      : out_(out), to_stdout_(path == "-") {
    if (path && !to_stdout_) file_.emplace(option, *path);
  }

  bool is_wanted() const noexcept { return to_stdout_ || file_; }
  bool to_stdout() const noexcept { return to_stdout_; }
  void write(std::string_view text) {
    if (file_) file_->write(printable(text, Printed::kLines));
    if (!to_stdout_) return;
    out_.write(text);
    out_.flush();
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  Output& out_;
  bool to_stdout_ = false;
  std::optional<OutputFile> file_;
};

/// Throws UsageError if standard output is asked for more than once.
void require_one_on_stdout(int asked, const char* hint);

/// A progress line on stderr, a terminal, for long work: appears after the first second, changes at
/// most ten times a second, never exceeds the width of the terminal, and is removed at the end.
class Progress {
 public:
  explicit Progress(bool enabled) : enabled_(enabled) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool enabled() const noexcept { return enabled_; }
  /// For a batch: bytes and lines of input.
  void update(std::size_t done_bytes, std::size_t total_bytes, std::size_t lines);
  /// For a share, 0 to 1, of `what` ("1000000 entries").
  void update(double share, std::string_view what);
  /// A whole line.
  void update(std::string line);
  /// Call this before writing anything else to stderr.
  void clear() noexcept;

 private:
  bool is_due();
  /// "42 s left", as far as the time that this share of the work took tells, or in a longer unit.
  std::string time_left(double share) const;
  void show(std::string line);

  bool enabled_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds{1};
};

}  // namespace rlctl::cli
