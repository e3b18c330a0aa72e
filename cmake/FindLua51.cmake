# Lua 5.1, the version that Redis embeds, with cjson and bit, as the target Lua51::Lua51: static libraries, since the
# C++ build of Lua unwinds with exceptions, and a shared library would be one more to load at each start.

find_path(LUA51_INCLUDE_DIR lua5.1/lua.hpp)
find_library(LUA51_LIBRARY liblua5.1-c++.a)
find_library(LUA51_CJSON_LIBRARY liblua5.1-cjson.a)
find_library(LUA51_BITOP_LIBRARY liblua5.1-bitop.a)
mark_as_advanced(LUA51_INCLUDE_DIR LUA51_LIBRARY LUA51_CJSON_LIBRARY LUA51_BITOP_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Lua51
  REQUIRED_VARS LUA51_LIBRARY LUA51_CJSON_LIBRARY LUA51_BITOP_LIBRARY LUA51_INCLUDE_DIR)

if(Lua51_FOUND AND NOT TARGET Lua51::Lua51)
  # Imported, so that its C headers count as system headers and cause no warnings.
  add_library(Lua51::Lua51 UNKNOWN IMPORTED)
  set_target_properties(Lua51::Lua51 PROPERTIES
    IMPORTED_LOCATION "${LUA51_CJSON_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LUA51_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${LUA51_BITOP_LIBRARY};${LUA51_LIBRARY};m")
endif()
