#include "lua/struct_library.h"

#include <lua5.1/lua.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/number.h"
#include "base/text.h"

// Servers leave two things to their processor, and this does what x86-64 does: the conversion of
// numbers that an integer of 8 bytes cannot hold, and the sign of integers of more than 8 bytes.

namespace rlctl::lua {
namespace {

constexpr std::size_t kMostIntegerBytes = 32;

/// The letters of a format that stand for values.
constexpr struct PackedValues {
  std::string_view letters;
  std::size_t size;       ///< bytes; 0 if they depend on the value
  bool is_sized = false;  ///< a number after the letter replaces the size
} kPackedValues[] = {{"bB", 1},
                     {"hH", sizeof(short)},
                     {"iI", sizeof(int), true},
                     {"f", sizeof(float)},
                     {"lLT", sizeof(long)},
                     {"d", sizeof(double)},
                     {"c", 1, true},
                     {"s", 0}};

/// The format in the first argument, read letter by letter.
class PackedFormat {
 public:
  explicit PackedFormat(lua_State* state) : state_(state), rest_(luaL_checkstring(state, 1)) {}

  char letter = '\0';
  bool is_value = false;
  std::size_t size = 0;     ///< bytes of the value; 0 if they depend on it
  std::size_t padding = 0;  ///< bytes before it

  bool is_string() const { return letter == 's' || letter == 'c'; }
  /// The offset, in the value, of the byte that holds its bits from 8 * i.
  std::size_t place(std::size_t i) const { return is_big_endian_ ? size - 1 - i : i; }

  /// Reads a letter and its size, for a value at `position`. Returns false at the end.
  bool next(std::size_t position) {
    if (rest_.empty()) return false;
    letter = rest_.front();
    rest_.remove_prefix(1);
    const auto* values = std::ranges::find_if(kPackedValues, [&](const auto& row) {
      return row.letters.find(letter) != row.letters.npos;
    });
    is_value = values != std::end(kPackedValues);
    size = is_value ? values->size : 0;
    if (is_value && values->is_sized) size = take_number(size);
    padding = letter == 'x' ? 1 : 0;
    if (is_string() || size == 0) return true;
    if (size > kMostIntegerBytes) {
      luaL_error(state_, "integral size %d is larger than limit of %d", static_cast<int>(size),
                 static_cast<int>(kMostIntegerBytes));
    }
    // A size such as 3 is not a power of 2; the original pads by the same formula.
    const std::size_t mask = std::min(size, alignment_) - 1;
    padding = (mask + 1 - (position & mask)) & mask;
    return true;
  }

  /// Obeys a letter that stands for no value: byte order, alignment, padding or a space.
  void control() {
    if (letter == '<' || letter == '>') {
      is_big_endian_ = letter == '>';
    } else if (letter == '!') {
      alignment_ = take_number(alignof(double));
      if (std::has_single_bit(alignment_)) return;
      luaL_error(state_, "alignment %d is not a power of 2", static_cast<int>(alignment_));
    } else if (letter != ' ' && letter != 'x') {
      luaL_argerror(state_, 1, lua_pushfstring(state_, "invalid format option '%c'", letter));
    }
  }

 private:
  std::size_t take_number(std::size_t otherwise) {
    if (rest_.empty() || !is_digit(rest_.front())) return otherwise;
    std::size_t number = 0;
    for (; !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1)) {
      number = number * 10 + static_cast<std::size_t>(rest_.front() - '0');
      if (number > std::numeric_limits<int>::max()) luaL_error(state_, "integral size overflow");
    }
    return number;
  }

  lua_State* state_;
  std::string_view rest_;
  bool is_big_endian_ = std::endian::native == std::endian::big;
  std::size_t alignment_ = 1;
};

/// Converts any number, as x86-64 does.
std::uint64_t to_integer(lua_Number number) {
  if (number >= 0x1p64) return 0;
  if (number >= 0) return static_cast<std::uint64_t>(number);
  if (number > -0x1p63) return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
  return std::uint64_t{1} << 63U;  // including NaN
}

void add_number(luaL_Buffer& buffer, const PackedFormat& format, lua_Number number) {
  std::uint64_t bits = to_integer(number);
  if (format.letter == 'd') bits = std::bit_cast<std::uint64_t>(number);
  if (format.letter == 'f') bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  std::array<char, kMostIntegerBytes> bytes{};
  for (std::size_t i = 0; i < format.size && i < sizeof(bits); ++i) {
    bytes[format.place(i)] = static_cast<char>(bits >> (8 * i));
  }
  luaL_addlstring(&buffer, bytes.data(), format.size);
}

lua_Number read_number(const PackedFormat& format, const char* bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = format.size; i-- > 0;) {
    bits = bits << 8U | static_cast<unsigned char>(bytes[format.place(i)]);
  }
  if (format.letter == 'd') return std::bit_cast<double>(bits);
  if (format.letter == 'f') return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (format.letter < 'a') return static_cast<lua_Number>(bits);
  const std::uint64_t sign = ~std::uint64_t{0} << ((format.size * 8 - 1) % 64);
  if ((bits & sign) != 0) bits |= sign;
  return static_cast<lua_Number>(static_cast<std::int64_t>(bits));
}

int pack_values(lua_State* state) {
  PackedFormat format(state);
  lua_pushnil(state);  // a missing argument reads as this, and not as a piece of the buffer
  luaL_Buffer buffer;
  luaL_buffinit(state, &buffer);
  int argument = 2;
  for (std::size_t position = 0; format.next(position); position += format.padding + format.size) {
    for (std::size_t i = 0; i < format.padding; ++i) luaL_addchar(&buffer, '\0');
    if (!format.is_value) {
      format.control();
    } else if (!format.is_string()) {
      add_number(buffer, format, luaL_checknumber(state, argument++));
    } else {
      std::size_t length = 0;
      const char* chars = luaL_checklstring(state, argument++, &length);
      if (format.size == 0) format.size = length;
      // As in the original, the error counts one argument too many.
      luaL_argcheck(state, format.size <= length, argument, "string too short");
      if (format.letter == 's') ++format.size;  // with the zero that Lua keeps after a string
      luaL_addlstring(&buffer, chars, format.size);
    }
  }
  luaL_pushresult(&buffer);
  return 1;
}

int unpack_values(lua_State* state) {
  PackedFormat format(state);
  std::size_t length = 0;
  const char* data = luaL_checklstring(state, 2, &length);
  // A negative position is far beyond any data, unless padding leads from there to the first byte.
  auto position = static_cast<std::size_t>(luaL_optinteger(state, 3, 1));
  luaL_argcheck(state, position != 0, 3, "offset must be 1 or greater");
  --position;
  const auto require_data = [&] {
    luaL_argcheck(state, format.size <= length && position <= length - format.size, 2,
                  "data string too short");
  };
  int results = 0;
  for (; format.next(position); position += format.size) {
    position += format.padding;
    require_data();
    luaL_checkstack(state, 2, "too many results");
    if (!format.is_value) {
      format.control();
      continue;
    }
    if (format.letter == 's') {
      format.size = std::string_view(data + position, length - position).find('\0') + 1;
      if (format.size == 0) luaL_error(state, "unfinished string in data");
      lua_pushlstring(state, data + position, format.size - 1);
    } else if (format.letter == 'c') {
      if (format.size == 0) {
        if (results == 0 || lua_isnumber(state, -1) == 0) {
          luaL_error(state, "format 'c0' needs a previous size");
        }
        format.size = to_integer(lua_tonumber(state, -1));
        lua_pop(state, 1);
        --results;
        require_data();
      }
      lua_pushlstring(state, data + position, format.size);
    } else {
      lua_pushnumber(state, read_number(format, data + position));
    }
    ++results;
  }
  lua_pushinteger(state, static_cast<lua_Integer>(position + 1));
  return results + 1;
}

int size_values(lua_State* state) {
  PackedFormat format(state);
  std::size_t position = 0;
  for (; format.next(position); position += format.padding + format.size) {
    if (format.is_string() && format.size == 0) {
      luaL_argerror(
          state, 1,
          format.letter == 's' ? "option 's' has no fixed size" : "option 'c0' has no fixed size");
    }
    // The original ignores letters that it does not know here.
    if (!format.is_value && !is_alphanumeric(format.letter)) format.control();
  }
  lua_pushinteger(state, static_cast<lua_Integer>(position));
  return 1;
}

}  // namespace

int open_struct_library(lua_State* state) {
  lua_newtable(state);
  for (const auto& [name, function] :
       {luaL_Reg{"pack", pack_values}, {"unpack", unpack_values}, {"size", size_values}}) {
    lua_pushcfunction(state, function);
    lua_setfield(state, -2, name);
  }
  return 1;
}

}  // namespace rlctl::lua
