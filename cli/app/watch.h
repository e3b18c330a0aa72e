#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/app/command.h"

namespace rlctl::cli {

/// The settings of --watch.
struct Watch {
  std::chrono::microseconds interval{1'000'000};
  /// Redraw the screen of a terminal that may_draw(); else append one text after another.
  bool redraws = false;
};

/// Parses the TIME of --watch=TIME. Throws UsageError below 100 ms.
[[nodiscard]] std::chrono::microseconds parse_watch(const std::string& text);

/// Shows what `read` returns, at once and then every interval, until a signal or an error ends it.
/// After the first text, reports a failure to get an answer (exit status 3), on the screen or once
/// on stderr, and calls `read` again. Throws what `read` and Output::flush() throw, and
/// Interrupted.
[[noreturn]] void watch(const Watch& how, Invocation& invocation,
                        const std::function<std::string()>& read);

}  // namespace rlctl::cli
