#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "ldb/lua_lexer.h"

namespace rlctl::ldb {

/// A local variable and where it is declared.
struct ScopedLocal {
  std::string_view name = {};
  int line = 1;
  std::size_t function = 0;  ///< index into LuaScopes::functions
  /// What Lua declares by itself in functions that take "...": `arg`. Of no interest, but it hides
  /// what is called so outside.
  bool is_hidden = false;
};

struct ScopedFunction {
  std::size_t parent = 0;       ///< of the main one: itself
  int first_line = 0;           ///< that of `function`; of the main one 0
  int last_line = 0;            ///< that of `end`; of the main one 0
  bool takes_varargs = false;   ///< the main one does
  bool uses_varargs = false;    ///< "..." stands in it
  std::size_t most_locals = 0;  ///< at one time, counted as Lua does
  /// Locals of functions around it that it, or one in it, refers to: its upvalues.
  std::vector<std::size_t> outer = {};
  std::set<std::string_view> globals = {};  ///< that it, or one in it, refers to
};

/// Where a statement begins, or could be added without a change of which lines the others have
/// instructions on: at the `end`, `else`, `elseif` or `until` of most blocks whose last statement
/// stands on one line.
struct ScopedStatement {
  std::size_t offset = 0;  ///< of its first byte
  int line = 1;
  std::size_t function = 0;
  /// No token stands before it on its line, not the end of one either; and it is not "a = a".
  bool begins_line = false;
  bool begins_function = false;
  /// What the function's own names mean there, the innermost last. Only of one that begins a line.
  std::vector<std::size_t> locals = {};
};

/// A place where a global is read by its name.
struct GlobalRead {
  std::string_view name = {};
  std::size_t offset = 0;
  std::size_t function = 0;
};

/// What is declared where in a source.
struct LuaScopes {
  std::vector<std::size_t> line_offsets = {};    ///< as of LuaTokens
  std::vector<ScopedLocal> locals = {};          ///< in the order of their declarations
  std::vector<ScopedFunction> functions = {};    ///< the main one first, each after those around it
  std::vector<ScopedStatement> statements = {};  ///< in the order of the source
  /// Not those of "function a.b()", nor those that are assigned to.
  std::vector<GlobalRead> global_reads = {};
  std::set<std::string_view> names = {};  ///< all, fields too
  std::size_t code_end = 0;               ///< after the last token
  bool ends_in_return = false;            ///< the main function's last statement
};

/// None if the source is not Lua 5.1 as far as this knows. (There are sources that the server
/// does not compile and this takes: where `break` is in no loop, or a number none.) The names point
/// into `source`.
[[nodiscard]] std::optional<LuaScopes> find_scopes(std::string_view source);

}  // namespace rlctl::ldb
