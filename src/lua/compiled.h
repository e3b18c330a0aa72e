#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

// Reads, from what Lua compiles a script to, the lines where it can stop and the globals that it
// uses.

namespace rlctl::lua {

/// The lines of a script at which a hook or Redis's debugger stops: those with an instruction that
/// any path can reach, so not an `end` after a `return`. Empty if the script does not compile or
/// has more than 256 KiB, for some of which Lua would take very long.
///
/// lua_getinfo() lists the lines of a function that exists, reachable or not, and inner functions
/// exist only once the script has made them; so this reads the compiled script.
std::set<int> stop_lines(std::string_view source);

using Globals = std::set<std::string, std::less<>>;

/// The globals that a source reads, in any of its functions. Returns std::nullopt if the source
/// does not compile or has more than 256 KiB.
std::optional<Globals> read_globals(std::string_view source);

}  // namespace rlctl::lua
