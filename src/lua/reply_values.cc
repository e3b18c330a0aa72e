#include "lua/reply_values.h"

#include <fmt/format.h>

#include <lua5.1/lua.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <stdexcept>

#include "base/number.h"
#include "lua/lexer.h"
#include "lua/sandbox.h"

namespace rlctl::lua {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

/// Reads a reply from the front of `rest`.
class ReplyPusher {
 public:
  ReplyPusher(lua_State* state, std::string_view reply) : state_(state), rest_(reply) {}

  void push() {
    const auto head = line();
    const auto text = head.substr(std::min<std::size_t>(1, head.size()));
    luaL_checkstack(state_, 3, "the reply is nested too deeply");
    switch (head.empty() ? '\0' : head.front()) {
      case ':':
        return lua_pushnumber(state_, static_cast<lua_Number>(number_in(text)));
      case '+':
        lua_createtable(state_, 0, 1);
        lua_pushlstring(state_, text.data(), text.size());
        return lua_setfield(state_, -2, "ok");
      case '-':
        push_error(state_, head);
        lua_pushboolean(state_, 1);
        return lua_setfield(state_, -2, "ignore_error_stats_update");  // in Redis 7, a field
      case '$':
        return push_bulk(number_in(text));
      case '*':
        return push_array(number_in(text));
      default:
        refuse();
    }
  }
  bool is_at_end() const { return rest_.empty(); }
  [[noreturn]] void refuse() const {
    Sandbox::stop(state_, std::make_exception_ptr(std::runtime_error("a reply is not RESP2")));
  }

 private:
  std::string_view take(std::size_t size) {
    if (rest_.size() < size + kLineEnd.size()) refuse();
    const auto text = rest_.substr(0, size);
    rest_.remove_prefix(size + kLineEnd.size());
    return text;
  }
  std::string_view line() {
    const auto end = rest_.find(kLineEnd);
    if (end == rest_.npos) refuse();
    return take(end);
  }
  std::int64_t number_in(std::string_view text) const {
    const auto number = to_number<std::int64_t>(text);
    if (!number) refuse();
    return *number;
  }
  void push_bulk(std::int64_t size) {
    if (size < 0) return lua_pushboolean(state_, 0);
    if (static_cast<std::uint64_t>(size) > rest_.size()) refuse();
    const auto text = take(static_cast<std::size_t>(size));
    lua_pushlstring(state_, text.data(), text.size());
  }
  void push_array(std::int64_t size) {
    if (size < 0) return lua_pushboolean(state_, 0);
    if (static_cast<std::uint64_t>(size) > rest_.size()) refuse();
    lua_createtable(state_, static_cast<int>(size), 0);
    for (int i = 1; i <= size; ++i) {
      push();
      lua_rawseti(state_, -2, i);
    }
  }

  lua_State* state_;
  std::string_view rest_;
};

/// Writes values of Lua, each popped from the top of the stack.
class ValueWriter {
 public:
  ValueWriter(lua_State* state, std::string& out) : state_(state), out_(out) {}

  void append() {
    if (lua_checkstack(state_, 4) == 0) {
      append_error(out_, "ERR reached lua stack limit");
    } else if (lua_istable(state_, -1)) {
      append_table();
    } else if (lua_type(state_, -1) == LUA_TSTRING) {
      append_bulk(text_at_top());
    } else if (lua_type(state_, -1) == LUA_TNUMBER) {
      append_integer(lua_tonumber(state_, -1));
    } else {
      out_ += lua_isboolean(state_, -1) && lua_toboolean(state_, -1) != 0 ? ":1\r\n" : "$-1\r\n";
    }
    lua_pop(state_, 1);
  }

 private:
  std::string_view text_at_top() const {
    std::size_t size = 0;
    const char* text = lua_tolstring(state_, -1, &size);
    return {text, size};
  }
  void append_bulk(std::string_view text) {
    fmt::format_to(std::back_inserter(out_), "${}\r\n{}\r\n", text.size(), text);
  }
  /// Writes the number rounded towards 0; one that no int64 holds becomes the smallest, as on
  /// x86-64.
  void append_integer(double number) {
    constexpr auto kEnd = 9223372036854775808.0;  // 2^63
    const bool fits = number >= -kEnd && number < kEnd;
    fmt::format_to(
        std::back_inserter(out_), ":{}\r\n",
        fits ? static_cast<std::int64_t>(number) : std::numeric_limits<std::int64_t>::min());
  }
  /// RESP2 has no doubles.
  void append_double_text(double number) {
    std::string digits;
    append_double(digits, number);
    append_bulk(digits);
  }

  /// Pushes a field of the table on the top, and returns whether it has this type; pops it
  /// otherwise.
  bool push_field(const char* name, int type) {
    lua_pushstring(state_, name);
    lua_rawget(state_, -2);
    if (lua_type(state_, -1) == type) return true;
    lua_pop(state_, 1);
    return false;
  }

  void append_table() {
    if (push_field("err", LUA_TSTRING)) {
      // The text up to a zero byte, as C sees it.
      append_error(out_, lua_tostring(state_, -1));
    } else if (push_field("ok", LUA_TSTRING)) {
      out_.append("+").append(on_one_line(lua_tostring(state_, -1))).append(kLineEnd);
    } else if (push_field("double", LUA_TNUMBER)) {
      append_double_text(lua_tonumber(state_, -1));
    } else if (push_field("big_number", LUA_TSTRING)) {
      append_bulk(on_one_line(text_at_top()));
    } else if (append_verbatim()) {
      return;
    } else if (push_field("map", LUA_TTABLE)) {
      append_pairs(true);
    } else if (push_field("set", LUA_TTABLE)) {
      append_pairs(false);
    } else {
      append_array();
      return;
    }
    lua_pop(state_, 1);
  }
  bool append_verbatim() {
    if (!push_field("verbatim_string", LUA_TTABLE)) return false;
    bool appended = false;
    if (push_field("format", LUA_TSTRING)) {
      lua_pop(state_, 1);
      appended = push_field("string", LUA_TSTRING);
      if (appended) {
        append_bulk(text_at_top());
        lua_pop(state_, 1);
      }
    }
    lua_pop(state_, 1);
    return appended;
  }
  /// RESP2 has neither maps nor sets: their keys and values are an array.
  void append_pairs(bool with_values) {
    std::size_t count = 0;
    for (lua_pushnil(state_); lua_next(state_, -2) != 0; lua_pop(state_, 1)) ++count;
    fmt::format_to(std::back_inserter(out_), "*{}\r\n", with_values ? 2 * count : count);
    lua_pushnil(state_);
    while (lua_next(state_, -2) != 0) {
      if (!with_values) lua_pop(state_, 1);
      lua_pushvalue(state_, with_values ? -2 : -1);
      append();
      if (with_values) append();
    }
  }
  /// Ends at the first nil.
  void append_array() {
    int size = 0;
    for (;; ++size) {
      lua_rawgeti(state_, -1, size + 1);
      const bool is_end = lua_isnil(state_, -1);
      lua_pop(state_, 1);
      if (is_end) break;
    }
    fmt::format_to(std::back_inserter(out_), "*{}\r\n", size);
    for (int i = 1; i <= size; ++i) {
      lua_rawgeti(state_, -1, i);
      append();
    }
  }

  lua_State* state_;
  std::string& out_;
};

}  // namespace

void push_reply(lua_State* state, std::string_view reply) {
  ReplyPusher pusher(state, reply);
  pusher.push();
  if (!pusher.is_at_end()) pusher.refuse();
}

void push_error(lua_State* state, std::string_view text) {
  std::string_view code = "ERR";
  if (text.starts_with('-')) {
    text.remove_prefix(1);
    const auto blank = text.find(' ');
    if (blank != text.npos) {
      code = text.substr(0, blank);
      text.remove_prefix(blank + 1);
    }
  }
  while (!text.empty() && is_line_end(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_line_end(text.back())) text.remove_suffix(1);
  lua_createtable(state, 0, 1);
  lua_pushlstring(state, code.data(), code.size());
  lua_pushliteral(state, " ");
  lua_pushlstring(state, text.data(), text.size());
  lua_concat(state, 3);
  lua_setfield(state, -2, "err");
}

void append_value(lua_State* state, std::string& out) {
  ValueWriter(state, out).append();
}

void append_error(std::string& out, std::string_view text) {
  while (!text.empty() && is_line_end(text.back())) text.remove_suffix(1);
  out.append("-").append(on_one_line(text)).append(kLineEnd);
}

std::string on_one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, is_line_end, ' ');
  return line;
}

void append_double(std::string& out, double number) {
  // A whole number of 15 digits is the same with 17, and is written faster.
  constexpr double kWhole = 1e15;
  if (std::abs(number) < kWhole && number == std::trunc(number) && !std::signbit(number)) {
    return append_number(out, static_cast<std::int64_t>(number));
  }
  std::array<char, 32> digits{};
  const int size = std::snprintf(digits.data(), digits.size(), "%.17g", number);
  out.append(digits.data(), static_cast<std::size_t>(size));
}

}  // namespace rlctl::lua
