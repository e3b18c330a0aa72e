#include "lua/struct_library.h"

#include <lua.hpp>

namespace rlctl::lua {

int open_struct_library(lua_State* state) {
  lua_newtable(state);
  return 1;
}

}  // namespace rlctl::lua
