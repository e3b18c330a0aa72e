// needs: server
#include "lua/substitute.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "lua/lexer.h"
#include "support/limiters.h"

namespace lua_shebang_test {

using namespace rlctl::lua;
using rlctl::test::TestServer;
using Names = std::vector<std::string_view>;

TEST_CASE("the first line of a script or a library is read") {
  CHECK_FALSE(read_shebang("return 1"));
  CHECK_FALSE(read_shebang("\n#!lua"));
  CHECK(read_shebang("#!lua")->library.empty());
  CHECK(read_shebang("#!lua name=mylib\nreturn 1")->library == "mylib");
  CHECK(read_shebang("#!lua flags=no-writes,allow-oom\r\nreturn 1")->flags ==
        Names{"no-writes", "allow-oom"});
  CHECK(read_shebang("#!lua\rname=l\tflags=no-writes\r\nreturn 1")->library == "l");
  CHECK(read_shebang("#!lua\rname=l\tflags=no-writes\r\nreturn 1")->flags == Names{"no-writes"});
}

TEST_CASE("the first line ends at a newline only, as in the server; a further one as in Lua") {
  CHECK(source_lines("#!lua\rx\r\nreturn 1\r2") == Names{"#!lua\rx", "return 1", "2"});
  CHECK(source_lines("#!lua\n\ry\n") == Names{"#!lua", "y"});
  CHECK(source_lines("#!lua\r\n\ry\n") == Names{"#!lua", "y"});
  CHECK(source_lines("#!lua\r\r\n\r\n\ry") == Names{"#!lua\r", "", "y"});
  CHECK(source_lines("#!lua\r") == Names{"#!lua\r"});
  CHECK(source_lines("#\r!\r\n\n\r3") == Names{"#", "!", "", "3"});
  const auto tokens = lex("#!lua\rx\r\nreturn 1\r--2");
  REQUIRE(tokens);
  CHECK(tokens->line_offsets.size() == 3);
}

TEST_CASE("the lines of a script with a first line are counted as the server counts them") {
  TestServer server;
  const bool knows_line = !server.call({"EVAL", "#!lua\nreturn 1", "0"}).is_error();
  for (const std::string first :
       {"#!lua\n", "#!lua\r\n", "#!lua\n\r", "#!lua\r\n\r", "#!lua\r\r\n\r\r",
        "#!lua\rflags=no-writes\n\n\r\n\n\r", "#!lua\r\n\r\n\r"}) {
    CAPTURE(first);
    const auto source = first + "error('here')";
    const auto lines = source_lines(source).size();
    CHECK(lex(source)->line_offsets.size() == lines);
    const auto is_refused_at = [&](const std::string& text) {
      const auto reply = server.call({"EVAL", text, "0"});
      REQUIRE(reply.is_error());
      return reply.text().find(":" + std::to_string(lines) + ": here") != std::string::npos;
    };
    CHECK(is_refused_at(without_shebang(source)));
    if (!knows_line) continue;
    CHECK(is_refused_at(source));
  }
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
  CHECK(without_unknown_flags("#!lua\tflags=a,no-writes\r\nreturn 1") ==
        "#!lua flags=no-writes\nreturn 1");
  CHECK(without_shebang("#!lua\rflags=a\r\nreturn 1") == "--lua flags=a \nreturn 1");
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
