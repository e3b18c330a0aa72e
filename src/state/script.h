#pragma once

#include <span>
#include <string_view>

namespace rlctl::state {

/// A Lua script that servers run for rlctl: that of an algorithm, or a helper of a command, which
/// is no interface and changes from version to version.
struct Script {
  std::string_view name;     ///< of the algorithm or the helper; the file is NAME.lua
  std::string_view summary;  ///< what it does, in a few words
  std::string_view text;     ///< the Lua source
  std::string_view sha1;     ///< of `text`, in lower-case hex, for EVALSHA
  std::string_view keys;     ///< how many KEYS it takes: "1", "1 or more"
  /// The names of its ARGV, separated by blanks; "each key:" precedes those that are repeated.
  std::string_view arguments;
  bool is_algorithm = false;
};

/// All scripts: the algorithms in the order of the manual, then the helpers.
[[nodiscard]] std::span<const Script> scripts();
/// Null if no script has that name.
[[nodiscard]] const Script* find_script(std::string_view name);

}  // namespace rlctl::state
