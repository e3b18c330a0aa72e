#pragma once

#include <string_view>

namespace rlctl {

/// A script, mostly Lua, that cmake/embed_scripts.cmake wrote into a header.
struct EmbeddedScript {
  std::string_view sha1;  ///< lower-case hex, as EVALSHA takes it
  std::string_view text;
};

}  // namespace rlctl
