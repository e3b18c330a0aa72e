#pragma once

#include <span>
#include <string_view>

namespace rlctl::cli::scripts {

/// A Lua script that `rlctl scripts` lists: that of an algorithm, or a helper of a
/// command.
struct BundledScript {
  std::string_view name;     ///< of the algorithm or the helper; the file is NAME.lua
  std::string_view summary;  ///< what it does, in a few words
  std::string_view text;     ///< the Lua source
  std::string_view sha1;     ///< of `text`, in lower-case hex, for EVALSHA
  std::string_view keys;     ///< how many KEYS it takes: "1", "1 or more"
  /// The names of its ARGV, separated by blanks; "each key:" precedes those that are repeated.
  std::string_view arguments;
  bool is_algorithm = false;
};

/// The algorithms in the order of the manual, then the helpers that handle stored state.
[[nodiscard]] std::span<const BundledScript> bundled_scripts();

}  // namespace rlctl::cli::scripts
