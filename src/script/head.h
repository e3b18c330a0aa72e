#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// The head of a script: comments before the first statement that say how the script is called and
// how its reply is read.
//
//     -- rlctl: limit 5/60s
//     -- rlctl: args {limit} {window_ms} {now_ms}
//     -- rlctl: allowed r[1] == 1
//
// A head travels with its script, so that a limiter can be tested without options. The table of
// words, and what each value means, is in cli/options/script_options.cc: the same words are the
// values of --head and the keys of [script.NAME] in the configuration.

namespace rlctl::script {

struct HeadLine {
  std::string word = {};
  std::string value = {};  ///< never empty; without blanks at its ends
  int line = 0;            ///< in the source; 0 if it is from elsewhere
};

/// Splits "WORD VALUE". Throws UsageError for a word that is not one of `words`, with the word that
/// may be meant, and if the value is missing.
HeadLine parse_head_line(std::string_view text, std::span<const std::string_view> words);

/// The lines of a source's head, in order; none if the source is not Lua. "-- rlctl: allow" is the
/// beginning of an excuse, which lint/excuses.h reads. Throws InputError, which begins with
/// "FILE:LINE: ", for the mistakes of parse_head_line(), for a word that is there twice unless it
/// is `repeatable`, for a line of a head after the first statement, and for one that begins almost
/// as a line of a head does.
std::vector<HeadLine> read_head(std::string_view source, std::string_view file,
                                std::span<const std::string_view> words,
                                std::string_view repeatable);

}  // namespace rlctl::script
