#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/wait.h"

namespace rlctl::cli {

/// While it lives, SIGINT, SIGTERM, SIGHUP and SIGQUIT raise interrupt() instead of ending the
/// process, once: a second one ends it at once. What the process was started to ignore (nohup, a
/// background job) stays ignored. SIGPIPE is ignored, so that write() reports it. One at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] Interrupt& interrupt() noexcept { return interrupt_; }

 private:
  Interrupt interrupt_;
};

/// While it lives, a first SIGINT is only noted, for callers that run something which can be
/// stopped by itself; another one before clear() acts as usual. One at a time, while there are
/// Signals.
class BreakKey {
 public:
  BreakKey();
  ~BreakKey();
  BreakKey(const BreakKey&) = delete;
  BreakKey& operator=(const BreakKey&) = delete;

  [[nodiscard]] bool pressed() const noexcept { return pressed_.load(); }
  /// Forgets the signal.
  void clear() noexcept;
  /// Readable once pressed; for poll().
  [[nodiscard]] int fd() const noexcept { return read_end_.get(); }
  /// The signal handler's part. False if it had been pressed before.
  bool press() noexcept;

 private:
  FileDescriptor read_end_, write_end_;
  std::atomic<bool> pressed_ = false;
};

/// While it lives, a second signal, which ends the process at once, writes this text to stderr
/// first: what the process leaves behind. One at a time, while there are Signals.
class LastWords {
 public:
  explicit LastWords(std::string text);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// Called in the handler.
  void write() const noexcept;

 private:
  std::string text_;
};

/// Ends the process by the signal itself, so that a shell sees 128+n and a loop around it stops.
/// Returns only if the signal was ignored from the start.
void die_by(int signal) noexcept;

/// While it lives, a window that changes its size (SIGWINCH) ends a poll(), with EINTR. One at a
/// time.
class ResizeSignal {
 public:
  ResizeSignal();
  ~ResizeSignal();
  ResizeSignal(const ResizeSignal&) = delete;
  ResizeSignal& operator=(const ResizeSignal&) = delete;
};

/// While it lives, Ctrl-Z (SIGTSTP) writes `leave` to a terminal before the process stops, and
/// `enter` once it goes on, at once, even during a wait. If SIGTSTP was ignored from the start, it
/// stays ignored. One at a time.
class Suspension {
 public:
  /// The texts must outlive it.
  Suspension(int terminal, std::string_view leave, std::string_view enter);
  ~Suspension();
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;

  /// Readable once the process was stopped and goes on; for poll().
  [[nodiscard]] int fd() const noexcept { return read_end_.get(); }
  /// Forgets the signal.
  void clear() noexcept;
  /// The signal handler's part.
  void stop() noexcept;

 private:
  int terminal_;
  std::string_view leave_, enter_;
  FileDescriptor read_end_, write_end_;
};

}  // namespace rlctl::cli
