#include "lua/value.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace lua_value_test {

namespace {

using namespace rlctl::lua;
using Kind = Value::Kind;

Value number(double number) {
  Value value;
  value.kind = Kind::kNumber;
  value.number = number;
  return value;
}

Value string(std::string text) {
  Value value;
  value.kind = Kind::kString;
  value.text = std::move(text);
  return value;
}

Value table(std::vector<std::pair<Value, Value>> fields) {
  Value value;
  value.kind = Kind::kTable;
  value.fields = std::move(fields);
  sort_fields(value);
  return value;
}

}  // namespace

TEST_CASE("numbers are written with the digits needed to read the same value back") {
  CHECK(text_of(number(1'700'000'000'123'456)) == "1700000000123456");
  CHECK(text_of(number(0.1 + 0.2)) == "0.30000000000000004");
  CHECK(text_of(number(-0.0)) == "-0");
  CHECK(text_of(number(std::nan(""))) == "nan");
  CHECK(text_of(number(-std::numeric_limits<double>::infinity())) == "-inf");
}

TEST_CASE("a table's fields are in a fixed order, whatever order they came in") {
  CHECK(text_of(table({{string("b"), number(1)},
                       {number(4), number(4)},
                       {number(2), number(2)},
                       {Value{.kind = Kind::kBoolean}, number(0)},
                       {string("a b"), table({})},
                       {number(1), number(1)},
                       {number(-1), string("\n\"\\\x01\xff")}})) ==
        R"({1, 2, [-1] = "\n\"\\\001\255", [4] = 4, ["a b"] = {}, b = 1, [false] = 0})");
}

TEST_CASE("UTF-8 is written as itself if asked for, except control characters") {
  const auto value =
      table({{string("gr\u00f6\u00dfe"), string("\u20ac\xe2\x82 \u0085\u202e\x7f")}});
  CHECK(text_of(value, Characters::kUtf8) ==
        "{[\"gr\u00f6\u00dfe\"] = \"\u20ac\\226\\130 \\194\\133\\226\\128\\174\\127\"}");
  CHECK(text_of(value).find("\\226\\130\\172\\226\\130 ") != std::string::npos);
}

TEST_CASE("a keyword is not written as a bare field name") {
  CHECK(text_of(table({{string("end"), number(1)}})) == R"({["end"] = 1})");
}

TEST_CASE("numbers that Lua cannot distinguish are equal") {
  CHECK(number(std::nan("1")) == number(-std::nan("2")));
  CHECK_FALSE(number(0) == number(-0.0));
  CHECK(table({{number(1), number(std::nan(""))}}) == table({{number(1), number(std::nan(""))}}));
}

TEST_CASE("a table is complete unless fields of it, or of one in it, are missing") {
  auto inner = table({{string("a"), number(1)}});
  CHECK(is_complete(table({{number(1), inner}})));
  inner.is_cut = true;
  const auto outer = table({{number(1), inner}});
  CHECK_FALSE(is_complete(outer));
  CHECK(text_of(outer) == "{{a = 1, ...}}");
}

}  // namespace lua_value_test
