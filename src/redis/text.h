#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace rlctl::redis {

/// Bytes of a server or a user as they may stand in a one-line message: control bytes and
/// backslashes become \n, \x1b ...; what is longer than `limit` bytes is cut and ends in "...".
[[nodiscard]] std::string escape(std::string_view bytes,
                                 std::size_t limit = std::string_view::npos);

/// A sentence of the system's as part of one of ours: without its initial capital, but "I/O error"
/// keeps its own.
[[nodiscard]] std::string without_initial_capital(std::string text);

/// What errno means, in lower case: "connection refused".
[[nodiscard]] std::string errno_text(int error);

/// "1s", "1.5s", "250ms", "40us".
[[nodiscard]] std::string format_duration(std::chrono::microseconds duration);

}  // namespace rlctl::redis
