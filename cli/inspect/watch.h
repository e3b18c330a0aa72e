#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/command.h"

namespace rlctl::cli {

/// How --watch goes on.
struct Watch {
  std::chrono::microseconds interval{1'000'000};
  /// On a screen, where the terminal is good for that (may_draw()); else one text follows another.
  bool redraws = false;
};

/// What --watch[=TIME] says. Throws UsageError below 100 ms.
[[nodiscard]] std::chrono::microseconds parse_watch(const OptionalValue& option);

/// Shows what `read` returns, at once and then every interval, until a signal or an error ends it.
/// Once there was a first text, no answer (exit status 3) is no error: it is said, on the screen or
/// once on stderr, and `read` is called again. Throws what `read` and Output::flush() throw, and
/// Interrupted.
[[noreturn]] void watch(const Watch& how, Invocation& invocation,
                        const std::function<std::string()>& read);

}  // namespace rlctl::cli
