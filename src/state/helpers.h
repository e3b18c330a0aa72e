#pragma once

#include <span>
#include <string_view>

namespace rlctl::state {

/// A Lua script that a command runs on the server. It is internal: its arguments and its reply may
/// change in any version.
struct Helper {
  std::string_view name;       ///< the file is NAME.lua
  std::string_view summary;    ///< the command, and what the script does, in a few words
  std::string_view text;       ///< the Lua source
  std::string_view sha1;       ///< of `text`, in lower-case hex, for EVALSHA
  std::string_view keys;       ///< how many KEYS it takes: "1", "0 or more"
  std::string_view arguments;  ///< the names of its ARGV; "each key:" precedes those for each key
};

/// Those with which stored state is read, removed and restored.
[[nodiscard]] std::span<const Helper> helpers();

}  // namespace rlctl::state
