#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rlctl::cli {

/// The words of a text as a shell splits it: at blanks, tabs and line ends, with 'single' and
/// "double" quotes and backslashes as in POSIX. Nothing is expanded: $, *, ~, #, ; and the like are
/// themselves. Throws UsageError for a quote that is not closed, or a backslash at the end.
[[nodiscard]] std::vector<std::string> shell_words(std::string_view text);

}  // namespace rlctl::cli
