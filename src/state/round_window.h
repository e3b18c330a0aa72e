#pragma once

#include <chrono>

namespace rlctl::state {

using std::chrono::microseconds;

/// TTLs are in ms, rounded up and down.
inline constexpr microseconds kTtlError{2'000};

/// The possible windows.
struct WindowRange {
  microseconds least, most;
};

/// The window in the range that a person would most likely choose.
[[nodiscard]] microseconds roundest_window(const WindowRange& range);

}  // namespace rlctl::state
