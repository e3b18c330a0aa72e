#pragma once

#include <string_view>

namespace rlctl {

/// A Lua script that cmake/embed_lua.cmake wrote into a header.
struct EmbeddedScript {
  std::string_view sha1;  ///< lower-case hex: the name by which EVALSHA knows it
  std::string_view text;
};

}  // namespace rlctl
