#pragma once

#include <chrono>

namespace rlctl::stored {

using std::chrono::microseconds;

/// TTLs are in ms, rounded up and down.
inline constexpr microseconds kTtlError{2'000};

/// The possible windows.
struct WindowRange {
  microseconds least, most;
};

/// The window in the range that a person would most likely choose.
microseconds roundest_window(const WindowRange& range);

/// Whether people choose such a window: a few of a usual span, as 5 × 10 min; not 29 × 2 min.
bool is_round_window(microseconds window);

}  // namespace rlctl::stored
