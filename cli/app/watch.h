#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "cli/app/command.h"

namespace rlctl::cli {

/// The option --watch.
struct Watch {
  bool is_given = false;
  std::chrono::microseconds interval{1'000'000};
};

/// Declares --watch=TIME, which refuses a TIME below 100 ms.
Option add_watch_option(Options& options, Watch& target, std::string_view help);

/// Whether watch() redraws a terminal; else it writes one text after another.
bool redraws(const Invocation& invocation);

/// Shows what `read` returns, which only reads from a server, at once and then every interval,
/// until a signal or an error ends it. After the first text, reports a failure to get an answer
/// (exit status 3), on the screen or once on stderr, and calls `read` again. Throws what `read` and
/// Output::flush() throw, and Interrupted.
[[noreturn]] void watch(const Watch& how, Invocation& invocation,
                        const std::function<std::string()>& read);

/// The output that draws a frame over the previous one: as many lines as fit, each cut to the width
/// and cleared to its end.
std::string frame_text(std::string_view text, std::size_t columns, std::size_t lines);

}  // namespace rlctl::cli
