#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>

#include "base/file.h"
#include "base/wait.h"

namespace rlctl::cli {

/// While it exists, the first SIGINT, SIGTERM, SIGHUP or SIGQUIT raises interrupt(), and the same
/// signal again, a tenth of a second later or more, ends the process at once. Signals that were
/// ignored at the start (nohup, a background job) stay ignored. SIGPIPE and SIGXFSZ (ulimit -f) are
/// ignored, so that write() reports the error. One instance at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  Interrupt& interrupt() noexcept { return interrupt_; }

 private:
  Interrupt interrupt_;
};

/// The signals that Signals handles and that were not ignored at the start.
sigset_t handled_signals() noexcept;
/// Does for a signal that was waited for what the handler does for the first. Requires Signals.
void take_signal(int signal) noexcept;

/// Gives the signals the dispositions that they had before Signals: for a program that is executed
/// in this process or in a child. Safe after fork().
void restore_signals() noexcept;

/// A pipe to this process itself, by which a signal handler ends a poll(). Throws
/// std::system_error.
class WakeUp {
 public:
  WakeUp();

  /// Readable after notify(), until clear().
  int fd() const noexcept { return read_end_.get(); }
  void notify() noexcept;
  void clear() noexcept;

 private:
  FileDescriptor read_end_, write_end_;
};

/// While it exists, the first SIGINT is only recorded, for callers that run something that can be
/// stopped separately; another one before clear(), a tenth of a second later or more, acts as
/// usual. Requires Signals. One instance at a time.
class BreakKey {
 public:
  BreakKey();
  ~BreakKey();
  BreakKey(const BreakKey&) = delete;
  BreakKey& operator=(const BreakKey&) = delete;

  bool pressed() const noexcept { return pressed_.load(); }
  /// Forgets the signal.
  void clear() noexcept;
  /// Readable after the signal; for poll().
  int fd() const noexcept { return wake_up_.fd(); }
  /// Called by the signal handler. Returns false if already pressed, and not just now by the same
  /// signal of a process, which may come twice; `is_typed`: it comes from the terminal, and once.
  bool press(bool is_typed) noexcept;

 private:
  WakeUp wake_up_;
  std::atomic<bool> pressed_ = false;
  std::atomic<std::int64_t> pressed_at_ = 0;  ///< in ns
};

/// Whether SIGPIPE was ignored when the process started.
bool ignores_pipe() noexcept;

/// Ends the process with the signal, so that a shell sees 128+n and a loop around it stops, even if
/// the signal was ignored at the start. Returns only if the signal cannot end this process, as in
/// the first process of a container.
void die_by(int signal) noexcept;

/// While it exists, fd() tells that Ctrl-Z (SIGTSTP) stopped the process and it continues. If
/// SIGTSTP was ignored at the start, it stays ignored. One instance at a time.
class Suspension {
 public:
  Suspension();
  ~Suspension();
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;

  /// Readable after the process was stopped and continued; for poll().
  int fd() const noexcept { return wake_up_.fd(); }
  /// Forgets the signal.
  void clear() noexcept { wake_up_.clear(); }
  /// Called by the signal handler.
  void stop() noexcept;

 private:
  WakeUp wake_up_;
};

}  // namespace rlctl::cli
