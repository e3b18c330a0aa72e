#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Values of Lua variables at one moment (frames.cc reads them), and how they are shown. Numbers and
// strings of any bytes keep their exact value.

namespace rlctl::lua {

/// A value of a Lua variable. It refers to nothing in Lua.
struct Value {
  enum class Kind {
    kNil,
    kBoolean,
    kNumber,
    kString,
    kTable,
    kCycle,   ///< a table that contains itself
    kOpaque,  ///< a function, a coroutine or userdata, without contents; or what is only printed
  };

  Kind kind = Kind::kNil;
  bool boolean = false;
  double number = 0;
  std::string text = {};  ///< kString: its bytes; kOpaque: its type, "function", or as printed
  /// kOpaque: which function, coroutine or userdata of a script it is; only to compare.
  std::uintptr_t identity = 0;
  /// kTable: the sequence 1, 2, 3... first; then other numbers, strings and the rest, each sorted.
  std::vector<std::pair<Value, Value>> fields = {};
  bool is_cut = false;  ///< kTable: fields are missing

  /// Numbers are equal if Lua cannot tell them apart: nan equals nan, and 0 differs from -0.
  bool operator==(const Value& other) const;
};

/// Which characters of a string are written as themselves, and not as their bytes.
enum class Characters {
  kAscii,
  kUtf8,  ///< all but control characters; see control_character_at()
};

/// Formats a value as Lua source: nil, true, 1700000000123456, 0.30000000000000004, inf, "a\n\000",
/// {1, 2, n = 3}, {["a b"] = {}}; function, thread, userdata; {...} for kCycle. Numbers have as
/// many digits as needed to read back the same. {1, 2, ...} is truncated.
std::string text_of(const Value& value, Characters characters = Characters::kAscii);

/// Whether a text is a name, which a keyword is not.
bool is_name(std::string_view text);

/// Sorts the fields of a table.
void sort_fields(Value& table);

/// Whether no table in the value is truncated.
bool is_complete(const Value& value);

/// A Lua literal of a string of any bytes: "a\n\000". It is one line without control characters.
std::string string_literal(std::string_view bytes, Characters characters = Characters::kAscii);

}  // namespace rlctl::lua
