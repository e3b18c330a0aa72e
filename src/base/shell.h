#pragma once

#include <string>
#include <string_view>
#include <vector>

// Commands as a shell reads them: the words of what a user types (--exec, the debugger's prompt),
// and the commands that rlctl prints for a user to paste. And the environment of what rlctl starts.

namespace rlctl {

/// Splits a text into words as a shell does: at blanks, tabs and line ends, with 'single' and
/// "double" quotes and backslashes as in POSIX. Nothing is expanded: $, *, ~, #, ; and the like
/// stay as they are. Throws UsageError for an unclosed quote or a final backslash.
std::vector<std::string> shell_words(std::string_view text);

/// A text that shell_words() splits into exactly these words, with as few quotes as possible.
std::string joined_words(const std::vector<std::string>& words);

/// Whether shell_quoted() writes the word so that every shell reads it. Words with control
/// characters or with bytes that are not UTF-8 need $'...', which not every /bin/sh knows.
bool every_shell_reads(std::string_view word);
/// A word as a shell reads it: quoted if necessary, without bytes that a terminal would interpret.
/// In every shell it is one word, but the same one only if every_shell_reads() it. A word with a
/// NUL, which no argument can hold, is cut there.
std::string shell_quoted(const std::string& word);
/// The command on one line, ready to paste into a shell.
std::string command_line(const std::vector<std::string>& words);

/// These variables ("NAME=value"), and those of this process that have other names: of a name that
/// is there twice, some programs take the first value, and others the last.
std::vector<std::string> environment_with(std::vector<std::string> own);
/// Pointers to the words, and a null pointer, as execve() takes arguments and variables. Valid as
/// long as the words stay as they are.
std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace rlctl
