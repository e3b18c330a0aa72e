#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rlctl {

/// The words of a text as a shell splits it: at blanks, tabs and line ends, with 'single' and
/// "double" quotes and backslashes as in POSIX. Nothing is expanded: $, *, ~, #, ; and the like are
/// themselves. Throws UsageError for a quote that is not closed, or a backslash at the end.
[[nodiscard]] std::vector<std::string> shell_words(std::string_view text);

/// A word as a shell takes it back: in quotes where it must be, and without what a terminal would
/// act on.
[[nodiscard]] std::string shell_quoted(const std::string& word);
/// The command as it may be pasted into a shell, in one line.
[[nodiscard]] std::string command_line(const std::vector<std::string>& words);

}  // namespace rlctl
