#include "lua/calls.h"

#include <doctest/doctest.h>

#include <string>

namespace lua_calls_test {

using rlctl::lua::may_read_ttl;

TEST_CASE("a megabyte of functions and aliases is read once") {
  std::string functions, aliases;
  for (int i = 0; i < 100'000; ++i) functions += "function(";
  for (int i = 0; i < 30'000; ++i) {
    aliases += "do local c" + std::to_string(i) + " = redis.call end\n";
  }
  CHECK_FALSE(may_read_ttl(functions));
  CHECK_FALSE(may_read_ttl(aliases));
  CHECK(may_read_ttl(functions + ") redis.call('TTL', 'x')"));
}

}  // namespace lua_calls_test
