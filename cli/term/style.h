#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rlctl::cli {

/// What a piece of text is, and so how it looks.
enum class Tone { kPlain, kLabel, kDim, kGood, kWarning, kBad };

/// The text, in its colour where there are colours. What it holds must have been escaped.
[[nodiscard]] std::string toned(std::string_view text, Tone tone, bool colour);

/// How many columns a text takes on a terminal: UTF-8, in which some characters take two and some
/// none. What toned() puts around it takes none.
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;

/// As much of a line as fits; a colour that was begun is ended.
[[nodiscard]] std::string cut_to_width(std::string_view line, std::size_t columns);

/// Appends so many blanks that `used` columns become `columns`.
void pad(std::string& out, std::size_t used, std::size_t columns);

}  // namespace rlctl::cli
