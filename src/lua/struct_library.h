#pragma once

struct lua_State;

namespace rlctl::lua {

/// Pushes the table of `struct`, the library that packs numbers and strings into bytes as C lays
/// them out: pack(), unpack() and size(). After Roberto Ierusalimschy's struct 0.2, which is what
/// Redis embeds. A lua_CFunction.
int open_struct_library(lua_State* state);

}  // namespace rlctl::lua
