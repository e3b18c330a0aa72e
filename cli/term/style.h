#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rlctl::cli {

/// The meaning of a piece of text, which decides its colour.
enum class Tone { kPlain, kLabel, kDim, kGood, kWarning, kBad };

/// The text, in its colour where there are colours. It must have been escaped.
[[nodiscard]] std::string toned(std::string_view text, Tone tone, bool colour);

/// As much of a line as fits into so many columns; a colour that has begun is ended.
[[nodiscard]] std::string cut_to_width(std::string_view line, std::size_t columns);

/// Appends blanks until `used` columns have become `columns`.
void pad(std::string& out, std::size_t used, std::size_t columns);

}  // namespace rlctl::cli
