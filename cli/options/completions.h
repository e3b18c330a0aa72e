#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configuration.h"
#include "cli/options/options.h"

namespace rlctl::cli {

/// A word that may stand where the user is typing.
struct Completion {
  std::string word;
  std::string about = {};  ///< a few words for shells that show descriptions; may be empty
};

/// What a shell offers for an unfinished word. The words need not begin with it.
struct Completions {
  std::vector<Completion> words = {};
  bool files = false;  ///< and the names of files
};

/// The command line before the unfinished word.
struct CompletionContext {
  std::string_view word;                  ///< what there is of it
  std::span<const std::string> operands;  ///< without the command
  const Options& options;                 ///< those that are given
  ConfigurationSource& configuration;
};

// How to complete what several commands take. Nothing comes from a configuration file that cannot
// be read or parsed; other mistakes in it do not matter.

Completions complete_file(const CompletionContext& typed);
/// The bundled algorithms that count requests, which are all but concurrency.
Completions complete_counting_algorithm(const CompletionContext& typed);
/// The time zone of a limit, once its @ is there.
Completions complete_limit(const CompletionContext& typed);
/// The policies in the configuration file.
Completions complete_policy(const CompletionContext& typed);
/// The scripts in the configuration file.
Completions complete_script_name(const CompletionContext& typed);
/// The scripts in the configuration file, and files.
Completions complete_script(const CompletionContext& typed);
/// The scripts in the configuration file, files, and the bundled algorithms.
Completions complete_limiter(const CompletionContext& typed);
/// The names of a table's rows, without descriptions.
template <typename Rows, typename Name = std::identity>
Completions to_completions(const Rows& rows, Name name = {}) {
  Completions completions;
  for (const auto& row : rows) completions.words.push_back({std::string(std::invoke(name, row))});
  return completions;
}
/// The completions of both.
Completions joined(Completions completions, Completions others);

}  // namespace rlctl::cli
