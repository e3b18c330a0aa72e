#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rlctl::ldb {

/// A parsed Lua value.
struct Value {
  enum class Kind {
    kNil,
    kBoolean,
    kNumber,
    kString,
    kTable,
    kCycle,   ///< a table that contains itself
    kOpaque,  ///< a function, a coroutine or userdata, without contents
    kRaw,     ///< server text in an unknown form
  };

  Kind kind = Kind::kNil;
  bool boolean = false;
  double number = 0;
  std::string text = {};  ///< kString: its bytes; kOpaque: its type, "function"; kRaw: the text
  /// kTable: the sequence 1, 2, 3... first; then other numbers, strings and the rest, each sorted.
  std::vector<std::pair<Value, Value>> fields = {};
  /// The value has only six digits or is truncated, or is a table that holds such a value.
  bool approximate = false;
  bool is_cut = false;  ///< kTable: fields are missing; it is then approximate

  /// Numbers are equal if Lua cannot tell them apart: nan equals nan, and 0 differs from -0.
  bool operator==(const Value& other) const;
};

/// Formats a value as Lua source: nil, true, 1700000000123456, 0.30000000000000004, inf, "a\n\000",
/// {1, 2, n = 3}, {["a b"] = {}}; function, thread, userdata; {...} for kCycle. Numbers have as
/// many digits as needed to read back the same. ~ precedes an approximate number or string, and {1,
/// 2, ...} is truncated.
void append_text(std::string& out, const Value& value);
[[nodiscard]] std::string text_of(const Value& value);

/// Sorts the fields of a table, and marks it approximate if a field is.
void settle_table(Value& table);

/// Appends a Lua literal with exactly this value; for a table, a copy. Returns false if there is
/// none, with `out` unspecified: for a function, a truncated table, or a table that holds one of
/// these.
[[nodiscard]] bool append_literal(std::string& out, const Value& value);

/// Parses a value as a server's debugger prints it: quoted strings, numbers of six digits, {1; 2},
/// {["a"]=1}, "function@0x...". Numbers that may have had more digits are approximate: 0.3, which
/// may be 0.1 + 0.2, but not integers of fewer than six digits. Returns kRaw for text in any other
/// form.
[[nodiscard]] Value parse_printed(std::string_view text);

}  // namespace rlctl::ldb
