#include "lua/shebang.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "lua/lexer.h"

namespace lua_shebang_test {

using namespace rlctl::lua;
using Names = std::vector<std::string_view>;

TEST_CASE("the first line of a script or a library is read") {
  CHECK_FALSE(read_shebang("return 1"));
  CHECK_FALSE(read_shebang("\n#!lua"));
  CHECK(read_shebang("#!lua")->library.empty());
  CHECK(read_shebang("#!lua name=mylib\nreturn 1")->library == "mylib");
  CHECK(read_shebang("#!lua flags=no-writes,allow-oom\r\nreturn 1")->flags ==
        Names{"no-writes", "allow-oom"});
}

TEST_CASE("the first line ends at a newline only, as in the server; a further one as in Lua") {
  CHECK(source_lines("#!lua\rx\r\nreturn 1\r2") == Names{"#!lua\rx", "return 1", "2"});
  CHECK(source_lines("#!lua\n\ry\n") == Names{"#!lua", "y"});
  CHECK(source_lines("#!lua\r") == Names{"#!lua\r"});
  CHECK(source_lines("#\r!\r\n\n\r3") == Names{"#", "!", "", "3"});
  const auto tokens = lex("#!lua\rx\r\nreturn 1\r--2");
  REQUIRE(tokens);
  CHECK(tokens->line_offsets.size() == 3);
}

TEST_CASE("flags that no server knows are found and removed") {
  CHECK(unknown_flags("#!lua flags=allow-key-locking\n") == Names{"allow-key-locking"});
  CHECK(unknown_flags("#!lua flags=no-writes\n").empty());
  CHECK(unknown_flags("return 1").empty());
  CHECK(without_unknown_flags("#!lua flags=a\nreturn 1") == "#!lua\nreturn 1");
  CHECK(without_unknown_flags("#!lua flags=a,no-writes,b\nreturn 1") ==
        "#!lua flags=no-writes\nreturn 1");
  CHECK(without_unknown_flags("#!lua\nreturn 1") == "#!lua\nreturn 1");
  CHECK(without_shebang("#!lua flags=a\nreturn 1") == "--lua flags=a\nreturn 1");
  CHECK(without_shebang("return 1") == "return 1");
}

TEST_CASE("the functions of a library are named by its literals") {
  CHECK(registered_functions("redis.register_function('a', f) redis.register_function(\"b\", "
                             "function(keys, args) return 1 end)") == Names{"a", "b"});
  CHECK(registered_functions("redis.register_function{callback=f, function_name='c', flags={}}") ==
        Names{"c"});
  CHECK(registered_functions("redis.register_function({function_name='d', callback=f})") ==
        Names{"d"});
  CHECK(registered_functions("local name = 'e' redis.register_function(name, f)").empty());
  CHECK(registered_functions("return return 'x").empty());
}

}  // namespace lua_shebang_test
