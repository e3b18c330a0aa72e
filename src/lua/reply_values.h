#pragma once

#include <cstddef>
#include <string>
#include <string_view>

struct lua_State;

// How values of a script and replies of a server become each other, as Redis 7 converts them for a
// client that speaks RESP2. Each function may raise an error of Lua, and needs a few free places on
// the stack.

namespace rlctl::lua {

/// Pushes a reply as redis.pcall() returns it: an array is a table, nil is false, a status is
/// {ok = …}, an error is {err = …}. Ends the run with std::runtime_error if `reply` is not one
/// reply in RESP2.
void push_reply(lua_State* state, std::string_view reply);

/// Pushes {err = text}. In front of a text without a leading "-" comes the code ERR; with one, its
/// first word is the code.
void push_error(lua_State* state, std::string_view text);

/// Appends the value on the top of the stack, which is popped, as RESP2.
void append_value(lua_State* state, std::string& out);

/// Appends an error reply, without the line ends behind its text.
void append_error(std::string& out, std::string_view text);

/// The text with blanks in place of line ends, which a line of RESP2 cannot have.
std::string on_one_line(std::string_view text);

/// Appends a number as C's "%.17g" writes it, and Redis therefore.
void append_double(std::string& out, double number);

}  // namespace rlctl::lua
