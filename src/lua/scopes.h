#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lua/lexer.h"

// Which local variables a Lua source declares, and which variables its functions refer to.
// substitute.cc needs this to put a local in place of `redis` without exceeding Lua's limits, and
// script/script.cc to tell, without a server, whether a text is Lua.

namespace rlctl::lua {

struct ScopedFunction {
  bool takes_varargs = false;   ///< true for the main function
  bool uses_varargs = false;    ///< it contains "..."
  std::size_t most_locals = 0;  ///< live at one time, counted as Lua does
  /// Its upvalues: locals of enclosing functions that it, or a function in it, refers to.
  std::vector<std::size_t> outer = {};
  std::set<std::string_view> globals = {};  ///< those that it, or a function in it, refers to
};

/// A place that reads a global by name.
struct GlobalRead {
  std::string_view name = {};
  std::size_t offset = 0;
};

/// The declarations of a source.
struct Scopes {
  std::vector<std::size_t> line_offsets = {};  ///< as in Tokens
  std::vector<std::string_view> locals = {};   ///< their names, in order of declaration
  std::vector<ScopedFunction> functions = {};  ///< the main function first, outer before inner
  /// Not the `a` of "function a.b()", and not where a global is assigned to.
  std::vector<GlobalRead> global_reads = {};
  std::set<std::string_view> names = {};  ///< all names, including fields
};

/// What Lua 5.1 allows in one function.
inline constexpr std::size_t kMaxLocals = 200, kMaxUpvalues = 60;

/// "__rl", with as many underscores as it takes for it not to begin any name in the source.
std::string unused_name(const Scopes& scopes);

/// Returns std::nullopt if the source is not valid Lua 5.1. (A few sources that the server rejects
/// are accepted: a `break` outside a loop, or a malformed number.) The names point into `source`.
std::optional<Scopes> find_scopes(std::string_view source);

}  // namespace rlctl::lua
