#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/term/terminal.h"
#include "limiter/inspection.h"

namespace rlctl::cli {

/// Appends what a person wants to know of a key, most urgent first, in lines no wider than the look
/// allows where keys and holders, which are never cut, leave room for that. What is inferred has a
/// '~' before it. Where nothing is stored, `server` says where that is so.
void append_inspection_text(std::string& out, const limiter::Inspection& inspection,
                            const Look& look, std::string_view server = {});

/// How many bars fit beside their label.
[[nodiscard]] std::size_t columns_for_bars(const Look& look) noexcept;

/// Appends one JSON object and a line end. What is not known is null; "inferred" names the fields
/// that follow from an inferred window.
void append_inspection_json(std::string& out, const limiter::Inspection& inspection);

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
