#pragma once

#include "redis/interrupt.h"

namespace rlctl::cli {

/// While it lives, SIGINT, SIGTERM and SIGHUP raise interrupt() instead of ending the process,
/// once: a second one ends it at once. What the process was started to ignore (nohup, a background
/// job) stays ignored. SIGPIPE is ignored, so that writing says what happened. One at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] redis::Interrupt& interrupt() noexcept { return interrupt_; }

 private:
  redis::Interrupt interrupt_;
};

/// Ends the process by the signal itself, so that a shell sees 128+n and a loop around it stops.
/// Returns only where the signal was ignored from the start.
void die_by(int signal) noexcept;

}  // namespace rlctl::cli
