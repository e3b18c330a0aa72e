#pragma once

#include <string_view>

// The build writes every script that the binary contains into a header, embedded_*.h, as a value
// of this type (cmake/embed_scripts.cmake). limiter/, stored/, traffic/, ldb/ and lua/ include
// those headers, and load the text into a server, call it by its SHA1, or put it before a script.

namespace rlctl {

/// A script, mostly Lua, that cmake/embed_scripts.cmake wrote into a header.
struct EmbeddedScript {
  std::string_view sha1;  ///< lower-case hex, as EVALSHA takes it
  std::string_view text;
};

}  // namespace rlctl
