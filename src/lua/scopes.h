#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lua/lexer.h"

// Which local variables a Lua source declares, in which functions, and where its statements begin.
// substitute.cc needs this to put a local in place of `redis` without exceeding Lua's limits, and
// script/script.cc to tell, without a server, whether a text is Lua.

namespace rlctl::lua {

/// A local variable and where it is declared.
struct ScopedLocal {
  std::string_view name = {};
  int line = 1;
  std::size_t function = 0;  ///< index into Scopes::functions
  /// The `arg` that Lua itself declares in functions that take "...". It is not reported, but it
  /// hides an outer variable of that name.
  bool is_hidden = false;
  bool is_set_within = false;  ///< a function within its own assigns to it
};

struct ScopedFunction {
  std::size_t parent = 0;       ///< the function around it; the main function is its own
  int first_line = 0;           ///< the line of `function`; 0 for the main function
  int last_line = 0;            ///< the line of `end`; 0 for the main function
  bool takes_varargs = false;   ///< true for the main function
  bool uses_varargs = false;    ///< it contains "..."
  std::size_t most_locals = 0;  ///< live at one time, counted as Lua does
  /// Its upvalues: locals of enclosing functions that it, or a function in it, refers to.
  std::vector<std::size_t> outer = {};
  std::set<std::string_view> globals = {};  ///< those that it, or a function in it, refers to
};

/// Where a statement begins, or where one could be added without changing which lines the others
/// have instructions on: at the `end`, `else`, `elseif` or `until` of most blocks whose last
/// statement is on one line.
struct ScopedStatement {
  std::size_t offset = 0;  ///< where its first byte is
  int line = 1;
  std::size_t function = 0;
  std::size_t follows = 0;  ///< where a statement could be added: after which byte; else 0
  /// No token precedes it on its line, nor ends there, and it is not "a = a".
  bool begins_line = false;
  bool begins_function = false;
  /// The function's locals visible there, innermost last. Only set if the statement begins a line.
  std::vector<std::size_t> locals = {};
};

/// A place that reads a global by name.
struct GlobalRead {
  std::string_view name = {};
  std::size_t offset = 0;
};

/// Where what the main function returns is written.
struct Returned {
  std::size_t begin = 0, end = 0;
};

/// The declarations of a source.
struct Scopes {
  std::vector<std::size_t> line_offsets = {};    ///< as in Tokens
  std::vector<ScopedLocal> locals = {};          ///< in order of declaration
  std::vector<ScopedFunction> functions = {};    ///< the main function first, outer before inner
  std::vector<ScopedStatement> statements = {};  ///< in the order of the source
  /// Not the `a` of "function a.b()", and not where a global is assigned to.
  std::vector<GlobalRead> global_reads = {};
  /// Of each `return` of the main function whose values are on one line.
  std::vector<Returned> returned = {};
  std::set<std::string_view> names = {};  ///< all names, including fields
  std::size_t code_end = 0;               ///< after the last token
  bool ends_in_return = false;            ///< the main function ends in `return`
};

/// What Lua 5.1 allows in one function.
inline constexpr std::size_t kMaxLocals = 200, kMaxUpvalues = 60;

/// "__rl", with as many underscores as it takes for it not to begin any name in the source.
std::string unused_name(const Scopes& scopes);

/// Returns std::nullopt if the source is not valid Lua 5.1. (A few sources that the server rejects
/// are accepted: a `break` outside a loop, or a malformed number.) The names point into `source`.
std::optional<Scopes> find_scopes(std::string_view source);

}  // namespace rlctl::lua
