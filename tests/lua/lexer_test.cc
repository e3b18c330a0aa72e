#include "lua/lexer.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace lua_lexer_test {

namespace {

using namespace rlctl::lua;
using Strings = std::vector<std::string>;

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

}  // namespace lua_lexer_test
