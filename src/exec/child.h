#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

// A program that rlctl starts, talks to, and ends. program.h talks to it.

namespace rlctl::exec {

/// A running program, with pipes to its standard input and from its output and error. It leads a
/// process group of its own, so that Ctrl-C in the terminal is for this process alone, and dies
/// with this process (Linux: PR_SET_PDEATHSIG, so start it from a thread that lives as long).
class [[nodiscard]] Child {
 public:
  /// Starts it. `words` are the program, which is looked up in PATH unless its name has a slash,
  /// and its arguments; `folder` is where it runs, if not empty; `environment` ("NAME=VALUE") is
  /// added to this process's, in place of what has the same names. Throws std::system_error if it
  /// cannot be run.
  Child(const std::vector<std::string>& words, const std::string& folder,
        const std::vector<std::string>& environment);
  /// Sends SIGTERM, and SIGKILL if that does not end it soon, to the whole group, and waits.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const noexcept { return pid_; }
  /// Descriptors that do not block: to write to, and to read from.
  int input() const noexcept { return input_.get(); }
  int output() const noexcept { return output_.get(); }
  int error() const noexcept { return error_.get(); }
  void close_input() noexcept { input_.reset(); }
  void close_error() noexcept { error_.reset(); }

  /// Waits for its end, at most this long. Whether it has ended.
  bool ends_within(std::chrono::milliseconds time);
  /// "ended with status 1", "was killed by signal 9 (SIGKILL)"; std::nullopt before ends_within()
  /// has returned true.
  const std::optional<std::string>& end() const noexcept { return how_; }

 private:
  void signal_group(int signal) const noexcept;

  FileDescriptor input_, output_, error_;
  pid_t pid_ = -1;
  std::optional<std::string> how_;  ///< see end()
};

}  // namespace rlctl::exec
