#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rlctl {

/// Insertions, deletions, changes and swaps of neighbours that make `b` out of `a`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `typed`, the first of equals; empty where none is near enough to be
/// meant: at most 2 edits, and at most a third of what was typed. Leading dashes do not count.
[[nodiscard]] std::string_view closest(std::string_view typed,
                                       std::span<const std::string_view> candidates);

/// "; did you mean 'check'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view typed,
                                       std::span<const std::string_view> candidates);

/// "a, b or c"
[[nodiscard]] std::string one_of(std::span<const std::string_view> words);

}  // namespace rlctl
