#pragma once

#include <string_view>

namespace rlctl {

/// A Lua script that cmake/embed_lua.cmake wrote into a header.
struct EmbeddedScript {
  std::string_view sha1;  ///< lower-case hex, as EVALSHA takes it
  std::string_view text;
};

}  // namespace rlctl
