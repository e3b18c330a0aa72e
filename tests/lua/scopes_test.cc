#include "lua/scopes.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ldb_lua_scopes_test {

namespace {

using namespace rlctl::lua;
using Strings = std::vector<std::string>;

Scopes scopes(std::string_view source) {
  auto found = find_scopes(source);
  REQUIRE_MESSAGE(found.has_value(), std::string(source));
  return *std::move(found);
}

/// The outer variables that each function except the main one refers to: "a0" is the local that is
/// declared first.
Strings upvalues_of(std::string_view source) {
  const auto found = scopes(source);
  Strings functions;
  for (std::size_t i = 1; i < found.functions.size(); ++i) {
    std::string names;
    for (const auto local : found.functions[i].outer) {
      names += " " + std::string(found.locals[local]) + std::to_string(local);
    }
    functions.push_back(names);
  }
  return functions;
}

std::vector<int> lines_of_tokens(std::string_view source) {
  const auto found = lex(source);
  REQUIRE(found.has_value());
  std::vector<int> lines;
  for (const auto& token : found->tokens) lines.push_back(token.line);
  return lines;
}

Strings texts_of(std::string_view source) {
  const auto found = lex(source);
  REQUIRE(found.has_value());
  Strings texts;
  for (const auto& token : found->tokens) texts.emplace_back(token.text);
  return texts;
}

}  // namespace

TEST_CASE("lines are counted as Lua counts them") {
  CHECK(lines_of_tokens("a\nb\rc\r\nd\n\re\n\nf\r\rg") == std::vector{1, 2, 3, 4, 5, 7, 9, 9});
  CHECK(lines_of_tokens("a --[[\n\r\n]] b --[==[ ]]\r]==] c") == std::vector{1, 3, 4, 4});
  CHECK(lines_of_tokens("'a\\\r\nb' c [[\n\n]] d \"\\\n\\\r\" e") ==
        std::vector{1, 2, 2, 4, 4, 6, 6});
  CHECK(lines_of_tokens("#!lua name='\r\nlocal") == std::vector{2, 2});
}

TEST_CASE("tokens are the same as Lua's") {
  CHECK(texts_of("a.b..c...1..2 3e+4-0x1F .5 ==~=<=>=[[x]][=[]]]=][ 'a\\'b'--x") ==
        Strings{"a",  ".",  "b",  "..", "c",  "...",   "1..2",     "3e+4", "-",       "0x1F",
                ".5", "==", "~=", "<=", ">=", "[[x]]", "[=[]]]=]", "[",    "'a\\'b'", ""});
  for (const auto* source : {"'a", "'a\nb'", "[[a", "[=x", "--[[", "$", "a = \x80", "!", "~"}) {
    CAPTURE(source);
    CHECK_FALSE(lex(source).has_value());
  }
  CHECK_FALSE(lex("#!lua").has_value());
}

TEST_CASE("a local is visible from after its statement to the end of its block") {
  const std::string use = " f(function() return a end) ";
  CHECK(upvalues_of("local a" + use + "local a = a" + use + "do local a" + use + "end" + use) ==
        Strings{" a0", " a1", " a2", " a1"});
  CHECK(upvalues_of("local a if x then local a" + use + "elseif y then" + use + "else local a" +
                    use + "end") == Strings{" a1", " a0", " a2"});
  CHECK(upvalues_of("local a for a = 1, 2 do" + use + "end for k, a in next, t do" + use +
                    "end while a do local a" + use + "end" + use) ==
        Strings{" a1", " a3", " a4", " a0"});
}

TEST_CASE("parameters and self belong to their function") {
  CHECK(upvalues_of("local self, x = {}, 1\n"
                    "function self.b:c(x) return function() return self, x end end\n"
                    "function self.d(x) return function() return self, x end end") ==
        Strings{"", " self2 x3", " self0", " self0 x4"});
}

TEST_CASE("until sees the locals of the loop body") {
  CHECK(upvalues_of("local a\nrepeat\n local a = 1\nuntil (function() return a end)()\n"
                    "return function() return a end") == Strings{" a1", " a0"});
}

TEST_CASE(
    "a local function is visible in its own body, and a local assigned a function value is not") {
  CHECK(upvalues_of("local function f() return f() end\n"
                    "local g = function() return g() end\n"
                    "local g\n"
                    "local g = function() return g() end") == Strings{" f0", "", " g2"});
}

TEST_CASE("arg is declared only in functions that take varargs") {
  CHECK(upvalues_of("local arg = 1\n"
                    "local function f(...) return arg end\n"
                    "local function g() return arg end\n"
                    "return function(...) return function() return arg end end") ==
        Strings{"", " arg0", "", " arg4"});
}

TEST_CASE("a function also refers to the outer variables of the functions nested in it") {
  CHECK(upvalues_of("local a, b, c\n"
                    "local function f()\n"
                    "  local c\n"
                    "  return function() return function() a = c end end\n"
                    "end\n") == Strings{" a0", " a0 c4", " a0 c4"});
}

TEST_CASE("fields, table keys and methods are not variables") {
  CHECK(upvalues_of("local a, b, c\n"
                    "return function() return x.a, x:b(), {c = 1, [a] = 2, b}, x['c'] end") ==
        Strings{" a0 b1"});
}

TEST_CASE("global reads are distinguished from global writes") {
  const auto found = scopes(
      "server.call()\nserver = 1\nx, server = server\n"
      "function server.f() end\nserver.y = 2\nlocal server = server\n"
      "return server");
  std::vector<std::size_t> offsets;
  for (const auto& read : found.global_reads) {
    if (read.name == "server") offsets.push_back(read.offset);
  }
  CHECK(offsets == std::vector<std::size_t>{0, 37, 68, 96});
}

TEST_CASE("locals are counted as in Lua, including the unnamed ones") {
  CHECK(scopes("local a, b\nfor i = 1, 2 do local c end").functions[0].most_locals == 7);
  CHECK(scopes("local function f(a, ...) for k, v in a do end end").functions[1].most_locals == 7);
  CHECK(scopes("do local a, b, c end local d").functions[0].most_locals == 3);
}

TEST_CASE("more locals than Lua allows at one time are rejected, however many there are") {
  const auto blocks = [](int count, const std::string& block) {
    std::string source;
    for (int i = 0; i < count; ++i) source += block;
    return source;
  };
  CHECK(find_scopes(blocks(200, "local a\n")).has_value());
  CHECK_FALSE(find_scopes(blocks(201, "local a\n")).has_value());
  CHECK_FALSE(find_scopes(blocks(100'000, "local a\n")).has_value());
  CHECK(find_scopes(blocks(100'000, "do local a end\n")).has_value());
  // Those of the outer function do not count.
  CHECK(find_scopes(blocks(200, "local a\n") + "function f() local b end").has_value());
}

// Lua 5.1 has neither | nor an empty statement.
TEST_CASE("every syntactic form of Lua is accepted") {
  std::istringstream sources(
      "-- x|return|return;|return 1, 2;|do end|do return end|while x do break end|"
      "while x do break; end|repeat until x|f{1, 2; 3,}|f'x''y'[[z]]{}()|a.b.c[1].d = 2|"
      "a.b:c'x':d{}:e()|(f)()|(f or g)(1)|local a, b, c = ...|a, b.c, d[1] = 1, 2|"
      "x = not -#a ^ -2 .. 'b'|x = function(...) return ... end|"
      "x = {['a'] = 1, b = 2; 3, (f()), ...}|for i = 1, 2, 3 do end|"
      "for a, b, c in f, g, h do end|if a then elseif b then else end|"
      "function a.b.c:d(e, f, ...) end|local function f() end|"
      "x = 1 < 2 and 3 <= 4 or 5 ~= 6 == 7 >= 8 > 9|x = a % 2 * 3 / 4 + 5 - 6|"
      "x = nil == true == false|x = ((((1))))|x = a.b.c(d)(e)[f].g:h(i)");
  for (std::string source; std::getline(sources, source, '|');) {
    CAPTURE(source);
    CHECK(find_scopes(source).has_value());
  }
  CHECK(find_scopes("").has_value());
}

TEST_CASE("text that is not valid Lua is rejected") {
  std::istringstream sources(
      "local|local 1|x|x.y|x =|= 1|f(|f)|f(,)|if x|if x then|else|end|do|do end end|for|"
      "for i do end|for i, j = 1, 2 do end|return 1 x = 2|break x = 1|function f|"
      "function (a) end|function f(a,) end|function f(..., a) end|x = {|x = {a b}|x = {1 = 2}|"
      "(f())|f() = 1|a, f() = 1|a, b|local function a.b() end|f\n(g)()|"
      "x = function() return ... end|goto a|::a::|x = a // b|x = 1 & 2|a:b = 1|a:b|"
      "local a <const> = 1|'x'()|not x|x = = 1|until x|repeat|while x|while do end|x = +1|;");
  for (std::string source; std::getline(sources, source, '|');) {
    CAPTURE(source);
    CHECK_FALSE(find_scopes(source).has_value());
  }
}

TEST_CASE("a source nested as deeply as Lua allows is accepted, and a deeper one is rejected") {
  const auto nested = [](std::size_t depth) {
    return "x = " + std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  CHECK(find_scopes(nested(190)).has_value());
  CHECK_FALSE(find_scopes(nested(100'000)).has_value());
  std::string blocks, tables, functions;
  for (int i = 0; i < 100'000; ++i) {
    blocks += "do ";
    tables += "x = {";
    functions += "f(function() ";
  }
  for (const auto& source : {blocks, tables, functions}) {
    CHECK_FALSE(find_scopes(source).has_value());
  }
  std::string chain = "x = 1";
  for (int i = 0; i < 100'000; ++i) chain += " + f(-1).y";
  CHECK(find_scopes(chain).has_value());
}

}  // namespace ldb_lua_scopes_test
