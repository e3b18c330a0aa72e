#pragma once

#include <set>
#include <string_view>

namespace rlctl::lua {

/// The lines of a script at which a hook or Redis's debugger stops: those with an instruction that
/// any path can reach, so not an `end` after a `return`. Empty if the script does not compile.
///
/// lua_getinfo() lists the lines of a function that exists, reachable or not, and inner functions
/// exist only once the script has made them; so this reads the compiled script.
std::set<int> stop_lines(std::string_view source);

}  // namespace rlctl::lua
