#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rlctl::cli {

/// A row of bars on one scale, the highest full; a point where there is nothing, so that none and
/// few differ. One column each. Without UTF-8 shades of ASCII.
[[nodiscard]] std::string bars_text(std::span<const std::int64_t> counts, bool utf8);

/// Into how many parts to cut a window where `columns` of them fit: as many as fit, or up to half
/// as many where a part is a rounder number then (60 s in 60 parts of 1 s, not in 69).
[[nodiscard]] int bars_for(std::chrono::microseconds window, std::size_t columns);

/// A bar of `columns` columns that is filled to `share`, 0 to 1; full and empty only where it is.
[[nodiscard]] std::string gauge_text(double share, std::size_t columns, bool utf8);

}  // namespace rlctl::cli
