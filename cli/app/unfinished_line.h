#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/wait.h"
#include "cli/options/completions.h"

namespace rlctl::cli {

/// What may stand where the user is typing.
struct LineCompletions {
  Completions completions = {};  ///< only those that begin with the unfinished word
  /// The index of the program in the words, if the unfinished word belongs to a command line of its
  /// own: `rlctl run KEY -- PROGRAM ARGUMENT...`.
  std::optional<std::size_t> program = std::nullopt;
};

/// Completes the last of the words, which may be empty. `words` is the command line after "rlctl".
/// Asks a server only for keys; see complete_key().
[[nodiscard]] LineCompletions complete_line(std::span<const std::string> words,
                                            const Interrupt& interrupt);

}  // namespace rlctl::cli
