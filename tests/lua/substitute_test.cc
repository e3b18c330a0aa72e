#include "lua/substitute.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace lua_substitute_test {

using namespace rlctl::lua;

TEST_CASE("substitutes are on the first line, so that lines keep their numbers") {
  const Substitutes time{.time = true};
  for (const std::string source :
       {"return 1", "-- c\n\nreturn redis\n", "#!lua flags=no-writes\nreturn 1", ""}) {
    CAPTURE(source);
    const auto text = with_substitutes(source, time);
    REQUIRE(text);
    CHECK(std::count(text->begin(), text->end(), '\n') ==
          std::count(source.begin(), source.end(), '\n'));
    const auto body = source.substr(source.starts_with("#!") ? source.find('\n') + 1 : 0);
    CHECK(text->ends_with(body));
  }
  CHECK(with_substitutes("#!lua\nreturn redis", time)->starts_with("#!lua\nlocal redis="));
  CHECK(with_substitutes("return 1", {}) == "return 1");
}

TEST_CASE("a source that is not valid Lua, or has no room, gets no substitutes") {
  const Substitutes time{.time = true};
  for (const auto* source : {"return return", ".call()", ";", "#!lua"}) {
    CHECK_FALSE(with_substitutes(source, time));
  }
  std::string source;
  for (int i = 0; i < 60; ++i) source += "local v" + std::to_string(i) + "=1\n";
  source += "local function f() return redis";
  for (int i = 0; i < 60; ++i) source += ",v" + std::to_string(i);
  CHECK_FALSE(with_substitutes(source + " end", time));
}

TEST_CASE("a main function with as many locals as Lua allows gets no substitutes") {
  std::string source;
  for (int i = 0; i < 199; ++i) source += "local v" + std::to_string(i) + "=1\n";
  const std::string calls = "return redis.call('TIME')";
  CHECK(with_substitutes(source + calls, {.time = true}));
  CHECK_FALSE(with_substitutes(source + "local v=1 " + calls, {.time = true}));
}

TEST_CASE("`server` is Valkey's alias, unless the script has only a variable of that name") {
  struct Row {
    const char* source;
    const char* with;  ///< null: no substitutes
  };
  const Row rows[] = {
      {"return server.call('TIME')", "return __rl(server).call('TIME')"},
      {"local server = server return server", "local server = __rl(server) return __rl(server)"},
      {"server = 1\nx, server = server\nfunction server.f() end\nserver.y = {server = 2}",
       "server = 1\nx, server = __rl(server)\nfunction server.f() end\n"
       "__rl(server).y = {server = 2}"},
      {"return x.server, x:server(), x..server == 'server'",
       "return x.server, x:server(), x..__rl(server) == 'server'"},
      {"local function f(server) return server end return f(redis)",
       "local function f(server) return server end return f(redis)"},
      {"local function f(server) return server end return f(server)", nullptr},
      {"for k, server in pairs(t) do end return server", nullptr},
  };
  for (const auto& row : rows) {
    CAPTURE(row.source);
    for (const auto& text : {with_substitutes(row.source, {.other_keys = true}),
                             library_with_substitutes(row.source, {.other_keys = true})}) {
      REQUIRE(text.has_value() == (row.with != nullptr));
      if (text) CHECK(text->ends_with(" " + std::string(row.with)));
    }
  }
}

TEST_CASE("the name for Valkey's alias is not one of the script's") {
  const auto text = with_substitutes("local __rl = server return __rl", {.time = true});
  REQUIRE(text);
  CHECK(text->starts_with("local redis,__rl_="));
  CHECK(text->ends_with("local __rl = __rl_(server) return __rl"));
}

TEST_CASE("calls of TIME by name are replaced where they are, others by a table") {
  CHECK(with_substitutes("(f or redis)()", {.time = true})->ends_with("; (f or redis)()"));
  const auto ends = [](const std::string& source) {
    const auto text = with_substitutes(source, {.time = true});
    REQUIRE(text);
    return text->substr(text->rfind(" end end; ") == std::string::npos
                            ? 0
                            : text->rfind(" end end; ") + std::string(" end end; ").size());
  };
  CHECK(ends("return redis.call('TIME')") == "return __rl('TIME')");
  CHECK(ends("redis.call('SET', KEYS[1], redis\n .pcall(\n \"time\" ))") ==
        "redis.call('SET', KEYS[1], \n __rl(\n \"time\" ))");
  CHECK(ends("local call = redis.call\nreturn call('time'), t.call('TIME')") ==
        "local call = redis.call\nreturn __rl('time'), t.call('TIME')");
  for (const auto* source : {
           "local call = redis.call local f = call return f('TIME')",
           "local call, n = redis.call, 1 return call('TIME')",
           "local function f(redis) return redis.call('TIME') end return f(redis)",
           "return redis.call(ARGV[1])",
           "return redis['call']('TIME')",
           "local redis = redis return redis.call('TIME')",
           "return redis.call('TI\\77E')",
           "return server.call('TIME')",
           "local t = redis.call 'TIME' return 1",
       }) {
    CAPTURE(source);
    CHECK(with_substitutes(source, {.time = true})->starts_with("local redis"));
  }
}

TEST_CASE("only what a script may do needs a substitute") {
  const auto needed = [](std::string_view source) {
    return rlctl::lua::needed_substitutes(source, {});
  };
  CHECK_FALSE(needed("local time = ARGV[1] return redis.call('GET', KEYS[1])").any());
  CHECK(needed("return redis.call('TIME')").time);
  CHECK(needed("local c = redis.call return c('TIME')").time);
  CHECK_FALSE(needed("local c = redis.call return c('TTL', KEYS[1]) -- the time").any());
  CHECK(needed("return redis.call('EXPIREAT', KEYS[1], 5)").expiry);
  CHECK(needed("return redis.call('TI' .. 'ME')").time);
  CHECK(needed("return redis.call(ARGV[1], KEYS[1], 5)").expiry);
  CHECK(needed("return redis.call('SET', KEYS[1], 1, 'PXAT', 5)").expiry);
  const std::string_view words[] = {"EXAT"};
  CHECK(rlctl::lua::needed_substitutes("return redis.call('SET', KEYS[1], 1, ARGV[1], 5)", words)
            .expiry);
}

TEST_CASE("one line: comments, indentation and line ends go") {
  CHECK(one_line("-- a\nlocal x = 1 -- b\n\n  return x\n") == "local x = 1  return x ");
  CHECK(one_line("").empty());
}

}  // namespace lua_substitute_test
