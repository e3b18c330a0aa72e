#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/wait.h"

namespace rlctl::cli {

/// The reader of our output has closed it (`| head -1`): the process ends by SIGPIPE.
class OutputClosed : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "standard output is closed"; }
};

/// Standard output. Text is kept until flush(), and nothing is lost silently: flush() throws
/// OutputClosed, OutputError (a full disk) or Interrupted. Once interrupted, it writes what it can
/// without blocking, and throws if that is not everything.
class Output {
 public:
  Output(int fd, const Interrupt& interrupt) : fd_(fd), interrupt_(interrupt) {}

  /// To append to.
  [[nodiscard]] std::string& buffer() noexcept { return buffer_; }
  void write(std::string_view text) { buffer_ += text; }
  void flush();
  /// Throws what flush() would throw if standard output was closed from the start: for callers that
  /// are about to do something that cannot be undone.
  void require_open() const;
  [[nodiscard]] bool pending() const noexcept { return !buffer_.empty(); }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  void wait_for_room() const;
  std::size_t write_some(std::string_view text);

  int fd_;
  const Interrupt& interrupt_;
  std::string buffer_;
};

/// Writes to stderr, if possible with one write. A failure there cannot be reported.
void write_stderr(std::string_view text) noexcept;

/// Opens /dev/null for each of 0, 1 and 2 that is closed, so that no socket gets its number;
/// reading and writing there stay errors.
void guard_standard_descriptors() noexcept;

/// The destination of one form of the report: a file, standard output, or none.
class Destination {
 public:
  /// "-" is standard output. Opens the file, so that one that cannot be written is known before
  /// anything runs.
  Destination(std::string_view option, const std::optional<std::string>& path, Output& out)
      : out_(out), to_stdout_(path == "-") {
    if (path && !to_stdout_) file_.emplace(option, *path);
  }

  [[nodiscard]] bool is_wanted() const noexcept { return to_stdout_ || file_; }
  [[nodiscard]] bool to_stdout() const noexcept { return to_stdout_; }
  void write(std::string_view text) {
    if (file_) file_->write(text);
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

}  // namespace rlctl::cli
