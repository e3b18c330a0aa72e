#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rlctl::ldb {

/// A Lua value, taken apart.
struct Value {
  enum class Kind {
    kNil,
    kBoolean,
    kNumber,
    kString,
    kTable,
    kCycle,   ///< a table that is one of those around it
    kOpaque,  ///< a function, a coroutine, userdata: there is nothing to see in it
    kRaw,     ///< in words of the server's that are in no form known
  };

  Kind kind = Kind::kNil;
  bool boolean = false;
  double number = 0;
  std::string text = {};  ///< kString: its bytes; kOpaque: its type, "function"; kRaw: the words
  /// kTable: 1, 2, 3... first, as far as they go; then the others: numbers, strings, the rest,
  /// each in order.
  std::vector<std::pair<Value, Value>> fields = {};
  /// It was told to six digits only, or was cut off; so is a table that holds such a value.
  bool approximate = false;
  bool is_cut = false;  ///< kTable: there are more fields than these; it is approximate then

  /// Numbers are the same where Lua tells no difference by any means: nan is nan, and 0 not -0.
  bool operator==(const Value& other) const;
};

/// As Lua writes it: nil, true, 1700000000123456, 0.30000000000000004, inf, "a\n\000",
/// {1, 2, n = 3}, {["a b"] = {}}; function, thread, userdata; {...} for kCycle. Numbers have as
/// many digits as it takes to read the same back. ~ stands before a number or string that is
/// approximate, and {1, 2, ...} is cut.
void append_text(std::string& out, const Value& value);
[[nodiscard]] std::string text_of(const Value& value);

/// Puts the fields of a table in their order, and says that it is approximate where it is.
void settle_table(Value& table);

/// Appends what Lua reads as this value, exactly; of a table a copy. False if there is no such
/// text: of a function, a table that is cut, or one that holds such a thing. Then `out` is of no
/// use.
[[nodiscard]] bool append_literal(std::string& out, const Value& value);

/// What a probe tells of a value: d1.5, {d1;sx=n;}. None if it is not in this form.
[[nodiscard]] std::optional<Value> parse_told(std::string_view text);

/// What the debugger of a server prints of a value: quoted strings, numbers of six digits,
/// {1; 2}, {["a"]=1}, "function@0x...". Numbers that may have had more digits are approximate: 0.3,
/// which may be 0.1 + 0.2, but not whole ones of less than six.
/// kRaw for what is in no such form.
[[nodiscard]] Value parse_printed(std::string_view text);

}  // namespace rlctl::ldb
