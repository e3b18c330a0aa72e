#include "ldb/value.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/limiters.h"

namespace ldb_value_test {

namespace {

using namespace rlctl::ldb;
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
  settle_table(value);
  return value;
}

/// The parsed text, as Lua writes it.
std::string read(std::string_view printed) {
  return text_of(parse_printed(printed));
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

TEST_CASE("a keyword is not written as a bare field name") {
  CHECK(text_of(table({{string("end"), number(1)}})) == R"({["end"] = 1})");
}

TEST_CASE("numbers that Lua cannot distinguish are equal") {
  CHECK(number(std::nan("1")) == number(-std::nan("2")));
  CHECK_FALSE(number(0) == number(-0.0));
  CHECK(table({{number(1), number(std::nan(""))}}) == table({{number(1), number(std::nan(""))}}));
}

TEST_CASE("the debugger's output is parsed") {
  CHECK(read("nil") == "nil");
  CHECK(read("true") == "true");
  CHECK(read("false") == "false");
  CHECK(read("12345") == "12345");
  CHECK(read("-0.5") == "~-0.5");
  CHECK(read("inf") == "inf");
  CHECK(read("-nan") == "nan");
  CHECK(read(R"("a\"\\\r\n\t\a\b\x00\xff")") == R"("a\"\\\r\n\t\007\008\000\255")");
  CHECK(read("\"\"") == "\"\"");
  CHECK(read("{}") == "{}");
  CHECK(read("{1; \"a; }\"; {2}}") == "{1, \"a; }\", {2}}");
  CHECK(read(R"({["a"]=1; ["b"]={["c d"]=true}; [3]=4})") ==
        R"({[3] = 4, a = 1, b = {["c d"] = true}})");
  CHECK(read("\"function@0x7f8a\"") == "function");
  CHECK(read("function@0x7f8a") == "function");
  CHECK(read("{[\"a\"]={[<max recursion level reached! Nested table?>]="
             "<max recursion level reached! Nested table?>}}") == "{a = {...}}");
}

TEST_CASE("the output of Valkey's Lua modules is parsed") {
  CHECK(read("{1; 2; }") == "{1, 2}");
  CHECK(read("{[ok]=OK; }") == "{ok = OK}");
  CHECK(read("{[a]={b c; 5; }; [3]=x=y; }") == "{[3] = x=y, a = {b c, 5}}");
  CHECK(read(" \"function@0x7f8a\"") == "function");
  CHECK(read("{[f]= \"thread@0x7f\"; }") == "{f = thread}");
  const auto value = parse_printed("abc def");
  CHECK(value.kind == Kind::kRaw);
  CHECK(value.text == "abc def");
}

TEST_CASE("numbers that may have had more digits are approximate") {
  for (const auto* exact : {"0", "5", "12345", "-15", "99999", "inf", "nan"}) {
    CAPTURE(exact);
    CHECK_FALSE(parse_printed(exact).approximate);
  }
  for (const auto* rounded :
       {"123456", "1.23457e+06", "1e+06", "0.3", "-1.5", "0.333333", "-100000", "1.7e+15"}) {
    CAPTURE(rounded);
    CHECK(parse_printed(rounded).approximate);
  }
  CHECK(read("1.7e+15") == "~1700000000000000");
  CHECK(parse_printed("{1; 0.333333}").approximate);
  CHECK_FALSE(parse_printed("{1; 2}").approximate);
}

TEST_CASE("a truncated value is approximate") {
  CHECK(read("\"abc ...") == "~\"abc\"");
  const auto cut = parse_printed("{1; {\"x\"; \"yz ...");
  CHECK(cut.approximate);
  CHECK(text_of(cut) == "{1, {\"x\", ~\"yz\", ...}, ...}");
  // A complete string that ends in dots.
  CHECK_FALSE(parse_printed("\"abc ...\"").approximate);
}

TEST_CASE("text in an unknown format is shown as it is") {
  for (const auto* text : {"", "{", "{1", "\"", "\"\\q\"", "\"\\x4\"", "1 2", "{1}x", "nilx",
                           "function@0x1 y", "{[1=2}", "}", "thread"}) {
    CAPTURE(text);
    const auto value = parse_printed(text);
    CHECK(value.kind == Kind::kRaw);
    CHECK(value.text == text);
  }
  const std::string deep(10'000, '{');
  CHECK(parse_printed(deep).kind == Kind::kRaw);
}

TEST_CASE("text that nested tables would be tried on again and again ends as it is") {
  // Each level that fails is a string without quotes, and what follows it is read once more.
  for (const int levels : {10, 20, 1000}) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += "{2; {2; ";
    text += "x; y";
    CHECK(parse_printed(text).kind == Kind::kRaw);
  }
  CHECK(read("{a; {1; b}; c; 4}") == "{a, {1, b}, c, 4}");
}

TEST_CASE("the output of this server's debugger is parsed") {
  rlctl::test::TestServer server;
  auto& connection = server.connection();
  REQUIRE(server.call({"SCRIPT", "DEBUG", "SYNC"}).text() == "OK");
  connection.append({"EVAL",
                     "local n, s, t, f = 1.5, 'a', {1, {x = 'y z'}, n = true}, tostring\n"
                     "return n",
                     "0"});
  (void)connection.read();
  (void)connection.call({"step"});
  const auto printed = connection.call({"print"});
  REQUIRE(printed.size() == 4);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < printed.size(); ++i) {
    const auto item = printed[i].text();
    texts.push_back(read(item.substr(item.find(" = ") + 3)));
  }
  // Valkey 9 does not quote strings.
  const bool quotes = texts[1] == "\"a\"";
  CHECK(texts == std::vector<std::string>{
                     "~1.5", quotes ? "\"a\"" : "a",
                     quotes ? "{1, {x = \"y z\"}, n = true}" : "{1, {x = y z}, n = true}",
                     "function"});
}

}  // namespace ldb_value_test
