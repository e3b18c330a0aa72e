#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/term/terminal.h"
#include "limiter/inspection.h"

namespace rlctl::cli {

/// A key, and where its limit comes from.
struct Found {
  limiter::Inspection inspection;
  /// The policy whose key template fits the key, if the limit is the policy's; else empty.
  std::string policy = {};
};

/// Appends a description of a key for people, most important facts first. No line is wider than the
/// look allows, except for keys and holders, which are never cut. Inferred values have the prefix
/// '~'. The text includes `server` if nothing is stored.
void append_inspection_text(std::string& out, const Found& found, const Look& look,
                            std::string_view server = {});

/// The number of bars that fit beside their label.
[[nodiscard]] std::size_t columns_for_bars(const Look& look) noexcept;

/// Appends one JSON object and a line end. Unknown values are null; "inferred" lists the fields
/// that follow from an inferred window.
void append_inspection_json(std::string& out, const limiter::Inspection& inspection);

/// The settings of --watch.
struct Watch {
  std::chrono::microseconds interval{1'000'000};
  /// Redraw the screen of a terminal that may_draw(); else append one text after another.
  bool redraws = false;
};

/// Parses the value of --watch[=TIME]. Throws UsageError below 100 ms.
[[nodiscard]] std::chrono::microseconds parse_watch(const OptionalValue& option);

/// Shows what `read` returns, at once and then every interval, until a signal or an error ends it.
/// After the first text, reports a failure to get an answer (exit status 3), on the screen or once
/// on stderr, and calls `read` again. Throws what `read` and Output::flush() throw, and
/// Interrupted.
[[noreturn]] void watch(const Watch& how, Invocation& invocation,
                        const std::function<std::string()>& read);

}  // namespace rlctl::cli
