#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

// What Lua's own compiler says about a source.

namespace rlctl::lua {

/// The lines of a script at which a hook or Redis's debugger stops: those with an instruction that
/// any path can reach, so not an `end` after a `return`. Empty if the script does not compile.
///
/// lua_getinfo() lists the lines of a function that exists, reachable or not, and inner functions
/// exist only once the script has made them; so this reads the compiled script.
std::set<int> stop_lines(std::string_view source);

/// The globals that a source reads, in any of its functions. Returns std::nullopt if the source
/// does not compile. Its size is not bounded, as that of a script for a server is not.
std::optional<std::set<std::string, std::less<>>> read_globals(std::string_view source);

}  // namespace rlctl::lua
