#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/term/terminal.h"
#include "limiter/inspection.h"

namespace rlctl::cli {

/// Appends a description of a key for people, the most urgent first. Lines are no wider than the
/// look allows, except for keys and holders, which are never cut. Inferred values have a '~' before
/// them. `server` is named if nothing is stored.
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
  /// On a screen, for a terminal that may_draw(); else one text follows another.
  bool redraws = false;
};

/// The value of --watch[=TIME]. Throws UsageError below 100 ms.
[[nodiscard]] std::chrono::microseconds parse_watch(const OptionalValue& option);

/// Shows what `read` returns, at once and then every interval, until a signal or an error ends it.
/// After the first text, a failure to get an answer (exit status 3) is reported, on the screen or
/// once on stderr, and `read` is called again. Throws what `read` and Output::flush() throw, and
/// Interrupted.
[[noreturn]] void watch(const Watch& how, Invocation& invocation,
                        const std::function<std::string()>& read);

}  // namespace rlctl::cli
