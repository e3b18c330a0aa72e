#include "lua/calls.h"

#include <doctest/doctest.h>

#include <string>

namespace lua_calls_test {

using rlctl::lua::may_make_keys;

TEST_CASE("a script makes keys unless each call names one of its KEYS") {
  for (const auto* source : {
           "return 1",
           "return redis.call('INCR', KEYS[1])",
           "return #KEYS + redis.call('INCR', KEYS[1]) + #{unpack(KEYS)}",
           "local k = KEYS[1]\nredis.call('SET', k, 1, 'EX', 5) return redis.pcall('GET', k)",
           "local a, b = KEYS[1], KEYS[2] return redis.call('GET', a) + redis.call(\"GET\", b)",
           "redis.log(redis.LOG_DEBUG, 'x') redis.replicate_commands() return redis.call('TIME')",
           "local k = KEYS[1] if k == 'x' then redis.error_reply('no') end redis.call('TTL', k)",
           "redis.call('ZADD', KEYS[ 1 ], 1, tostring({}))",
           "local call = redis.call local key = KEYS[1] return call('INCR', key)",
           "local ask = redis.pcall return ask('GET', KEYS[1]) or {call = 5}.call",
       }) {
    CAPTURE(source);
    CHECK_FALSE(may_make_keys(source));
  }
  for (const auto* source : {
           "return redis.call('INCR', KEYS[1] .. ':x')",
           "return redis.call('INCR', ARGV[1])",
           "return redis.call('INCR', 'all')",
           "local key = 'rl:' .. KEYS[1] return redis.call('INCR', key)",
           "local key = KEYS[1] .. ARGV[1] return redis.call('INCR', key)",
           "local key = KEYS[1]\nkey = key .. 'x' return redis.call('INCR', key)",
           "local key = KEYS[1] do local key = ARGV[1] redis.call('INCR', key) end",
           "local key = KEYS[1] local f = function(key) redis.call('INCR', key) end f('x')",
           "for i, key in ipairs(ARGV) do redis.call('INCR', key) end local key = KEYS[1]",
           "local call = redis.call return call('INCR', 'x')",
           "local call = redis.call local f = call return f('INCR', KEYS[1])",
           "local call = redis.call return {call = call}",
           "local call = redis.call call = tostring return call('x')",
           "local call = redis.call 'TIME' return call('INCR', KEYS[1])",
           "local call = redis.call [[TIME]] return call('INCR', KEYS[1])",
           "return redis['call']('INCR', KEYS[1])",
           "local r = redis return r.call('INCR', KEYS[1])",
           "return _G.redis.call('INCR', KEYS[1])",
           "redis.call('RENAME', KEYS[1], 'x')",
           "redis.call('bitop', 'NOT', 'x', KEYS[1])",
           "redis.call(ARGV[1], KEYS[1])",
           "redis.call([[SET]], KEYS[1])",
           "redis.call('SET', KEYS[i])",
           "local KEYS = {KEYS[1] .. ':x'} return redis.call('INCR', KEYS[1])",
           "KEYS[1] = 'x' return redis.call('INCR', KEYS[1])",
           "table.insert(KEYS, 1, 'x') return redis.call('INCR', KEYS[1])",
           "local function f(KEYS) return redis.call('INCR', KEYS[1]) end return f({'x'})",
           "redis.call('BLMOVE', KEYS[1], 'x', 'LEFT', 'LEFT', 0)",
           "redis.call('brpoplpush', KEYS[1], 'x', 0)",
           "redis.call('SET', unpack(KEYS))",
       }) {
    CAPTURE(source);
    CHECK(may_make_keys(source));
  }
}

TEST_CASE("a megabyte of functions and aliases is read once") {
  std::string functions, aliases;
  for (int i = 0; i < 100'000; ++i) functions += "function(";
  for (int i = 0; i < 30'000; ++i) {
    aliases += "do local c" + std::to_string(i) + " = redis.call end\n";
  }
  CHECK_FALSE(may_make_keys(functions));
  CHECK_FALSE(may_make_keys(aliases));
  CHECK(may_make_keys(functions + ") redis.call('SET', 'x')"));
}

}  // namespace lua_calls_test
