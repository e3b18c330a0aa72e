// needs: server
#include "lua/runner.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "redis/server.h"
#include "support/forwarded_commands.h"
#include "support/limiters.h"

// What a script sees of its surroundings: the same as on Redis 7, except for what is listed here;
// and what a hostile script can do: nothing.

namespace lua_runner_test {

using namespace rlctl;
using namespace rlctl::test;
using namespace std::chrono_literals;

/// Answers of both are compared on Redis 7 alone, since other servers word errors otherwise.
bool is_model(redis::Connection& connection) {
  const auto version = redis::version_of(connection).value();
  return version.family == "redis" && version.major_number() == 7;
}

std::string run_on(redis::Connection& connection, const std::string& source,
                   const lua::Bounds& bounds = {}) {
  ForwardedCommands commands(connection);
  const std::string_view keys[] = {"k", "k2"};
  const std::string_view arguments[] = {"10", "0.1", "x"};
  std::string reply;
  try {
    lua::Runner(source, bounds).run("", keys, arguments, commands, reply);
  } catch (const lua::InvalidScript& invalid) {
    return fmt::format("-{}\r\n", invalid.what());
  }
  return reply;
}

constexpr std::string_view kSame[] = {
    // Values as replies.
    "return 1", "return 3.99", "return -3.99", "return 1e300", "return -1e300", "return 0/0",
    "return 1/0", "return 2^53", "return 2^63", "return -2^63", "return ''", "return 'a\\0b\\r\\n'",
    "return true", "return false", "return nil", "return", "", "-- nothing", "return 1, 2",
    "return {}", "return {1,2,nil,4}", "return {1,'a',{2,{3}},false,true}", "return {nil,1}",
    "return {a=1}", "return {ok='fine'}", "return {ok='a\\r\\nb'}", "return {ok=1}",
    "return {err='MY error'}", "return {err='a\\r\\nb'}", "return {err=1}", "return {err=''}",
    "return {double=0.1}", "return {double=3}", "return {double=1/0}", "return {double='x'}",
    "return {big_number='12345678901234567890'}", "return {big_number=1}",
    "return {verbatim_string={format='txt',string='a'}}", "return {verbatim_string={string='a'}}",
    "return {verbatim_string={format='txt'}}", "return {verbatim_string='a'}", "return {map={a=1}}",
    "return {set={a=true}}", "return {map=1}", "return {1,err='x y'}", "return function() end",
    "return coroutine.create(function() end)", "return print", "return redis",
    "return {{err='MY inner'},{ok='x'}}", "return setmetatable({},{__index={1,2}})",
    "local t = {} t[1] = t return t", "return redis.error_reply('MY x')",
    "return redis.error_reply('-MY x')", "return redis.error_reply('x')",
    "return redis.error_reply('')", "return redis.error_reply('-')",
    "return redis.error_reply('a b\\r\\n')", "return redis.error_reply(1)",
    "return redis.error_reply()", "return redis.error_reply('a','b')",
    "return redis.status_reply('x y')", "return redis.status_reply(1)",
    "return redis.status_reply()",
    // Commands: words, replies and errors.
    "return redis.call('SET', KEYS[1], 'v')", "return redis.call('set', KEYS[1], 1e17)",
    "redis.call('SET', 'k', 0.1) return redis.call('GET', 'k')",
    "redis.call('SET', 'k', 3) return redis.call('GET', 'k')",
    "redis.call('SET', 'k', 2^53) return redis.call('GET', 'k')",
    "redis.call('SET', 'k', -0.0) return redis.call('GET', 'k')",
    "redis.call('SET', 'k', 1/3) return redis.call('GET', 'k')",
    "redis.call('SET', 'k', 'a\\0b') return redis.call('GET', 'k')",
    "redis.call('RPUSH', 'l', 'a', 'b') return redis.call('LRANGE', 'l', 0, -1)",
    "return redis.call('GET', 'none')", "return type(redis.call('GET', 'none'))",
    "return type(redis.call('SET', 'k', 1).ok)", "return redis.call('LRANGE', 'none', 0, -1)",
    "return redis.call('HGETALL', 'none')", "return redis.call('ZADD', 'z', 1.5, 'm')",
    "redis.call('ZADD','z',1.5,'m') return redis.call('ZRANGE','z',0,-1,'WITHSCORES')",
    "redis.call('RPUSH', 'l', 'a') return redis.call('GET', 'l')",
    "redis.call('RPUSH', 'l', 'a') return redis.pcall('GET', 'l')",
    "redis.call('RPUSH', 'l', 'a') return redis.pcall('GET', 'l').err",
    "redis.call('RPUSH', 'l', 'a') local ok, e = pcall(redis.call, 'GET', 'l') return {type(e), e}",
    "redis.call('RPUSH', 'l', 'a') error(redis.pcall('GET', 'l'))", "return redis.call()",
    "return redis.pcall()", "return redis.call('nonsense')", "return redis.pcall('nonsense').err",
    "return redis.call('GET')", "return redis.call('GET', 'a', 'b')",
    "return redis.call('SUBSCRIBE', 'a')", "return redis.call('EVAL', 'return 1', 0)",
    "return redis.call('AUTH', 'x')", "return redis.call('MULTI')", "return redis.call('GET', {})",
    "return redis.call('GET', nil)", "return redis.call({})", "return redis.call('GET', true)",
    "return redis.pcall('GET', {}).err", "return redis.call('INCR', KEYS[1])",
    "return {KEYS[1], KEYS[2], KEYS[3], ARGV[2], #ARGV}", "KEYS[1] = 'other' return KEYS[1]",
    "KEYS = {}", "ARGV[9] = 1 return ARGV[9]",
    "#!lua flags=no-writes\nreturn redis.call('SET', 'k', 1)",
    "#!lua flags=no-writes\nreturn redis.call('GET', 'k')", "#!lua\nreturn 1",
    "#!lua flags=nonsense\nreturn 1", "#!python\nreturn 1", "#!lua flags=no-writes,allow-oom\nx y",
    // Errors and their places.
    "x = 1", "return x", "local x = nil x.y = 1", "return nil + 1", "return 'a' + 1",
    "return 1 < 'a'", "return {} .. ''", "return #5", "nonsense()", "error('x')", "error('x', 0)",
    "error('x', 2)", "error({err='MY x'})", "error({err=1})", "error()", "error(nil)", "error(5)",
    "error(true)", "error({err='x', source='s', line=9})",
    "local function f() error('deep') end f()", "\n\nerror('third line')",
    "local f = loadstring('error(1)') f()", "return assert(false)", "return assert(nil, 'x')",
    "return assert(false, {err='MY x'})", "string.rep()", "return ('x'):rep('y')",
    "return tostring()", "setmetatable(1, {})", "return string.format('%d', 'x')",
    "return string.format('%q %5.2f %s %x', 'a\"', 3.14159, 'b', 255)", "return math.floor('x')",
    "return {pcall(error)}", "return {pcall(error, 'x')}", "return {pcall(error, {err='MY x'})}",
    "return {pcall(error, {1, 2})}", "return {pcall(pcall)}", "return {pcall()}",
    "return {pcall(function() return 1, 2, 3 end)}", "return {select('#', pcall(function() end))}",
    "return {xpcall(function() error('x') end, function(e) return 'h ' .. e end)}",
    "return {xpcall(function() return redis.call('nonsense') end, function(e) return e.err end)}",
    "return {xpcall(function() error('x') end, error)}",
    "return {coroutine.resume(coroutine.create(function() error('x') end))}",
    "return {coroutine.resume(coroutine.create(function() redis.call('nonsense') end))}",
    "return coroutine.wrap(function() return redis.call('SET', 'k', 1) end)()",
    "return coroutine.wrap(function() error('in a coroutine') end)()", "return coroutine.yield(1)",
    "local function f() return f() + 1 end return f()", "return unpack({1, 2, 3}, 2)",
    "return unpack({}, 1, 1e8)", "return {unpack({1, 2, 3}, -1, 2)}",
    "local s = '' for i = 1, 300 do s = '(' .. s .. ')' end return loadstring('return ' .. s)",
    "return table.concat({1, 2, {}})", "return table.concat({1, 'a', 2.5}, '-')", "syntax error",
    "return 'unfinished", "return ]]", "goto x", "break", "local a <const> = 1", "return 1 // 2",
    "for i = 1 do end", "return ...", "return select('#', ...)",
    // The globals.
    "return type(_G)", "return _G.x", "return rawget(_G, 'x')", "_G.x = 1", "rawset(_G, 'x', 1)",
    "return _G._G == _G", "redis = nil", "redis.call = nil", "redis.x = 1", "string.x = 1",
    "string.format = nil", "table.insert(table, 1)", "setmetatable(_G, {})",
    "setmetatable(string, {})", "getmetatable('').__index = nil", "getmetatable('').x = 1",
    "return type(getmetatable('').__index)", "return getmetatable('').__index == string",
    "return type(getmetatable(_G))", "return dofile", "return loadfile", "return require",
    "return package", "return io", "return debug", "return module", "return getmetatable(redis)",
    "return math.pi", "return {math.random(), math.random(10), math.random(5, 7)}",
    "math.randomseed(7) return {math.random(100), math.random(1e9)}", "return math.random(0)",
    "return math.random(2, 1)", "return math.random(1, 2, 3)",
    "return {math.random(1000), math.random(1000), math.random(1000)}", "return _VERSION",
    "return redis.sha1hex('')", "return redis.sha1hex('abc')", "return redis.sha1hex(1)",
    "return redis.sha1hex()", "return redis.sha1hex(string.rep('x', 1000))",
    "return redis.log(redis.LOG_WARNING, 'x')", "return redis.log()", "return redis.log('x', 'y')",
    "return redis.log(9, 'y')", "return redis.log(-1, 'y')",
    "return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING}",
    "return {redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, "
    "redis.REPL_ALL}",
    "return redis.set_repl(redis.REPL_ALL)", "return redis.set_repl(4)", "return redis.set_repl()",
    "return redis.setresp(2)", "return redis.setresp(4)", "return redis.setresp()",
    "return redis.breakpoint()", "return redis.debug('x')", "return redis.replicate_commands()",
    "return redis.nonsense", "return type(redis.register_function)", "return os and type(os.clock)",
    "return tostring(1e15)", "return tostring(2^53)", "return tostring(0.1)", "return tostring(-0)",
    "return tonumber('0x10')", "return tonumber(' 5 ')", "return tonumber('1e400') == math.huge",
    "return tonumber('5x')", "return tonumber('z', 36)", "return 7 % -3", "return -7 % 3",
    "return 5 % 0", "return 2^0.5", "return 10 == '10'", "return '10' + 5", "return '0x10' + 0",
    "return #'a\\0b'", "return ('abc'):sub(-2)", "return {('a b'):match('(%a) (%a)')}",
    "return {('hello'):find('l')}", "return (('hello'):gsub('l', {l='L'}))",
    "local n = 0 for k in pairs({1, 2, a=3}) do n = n + 1 end return n",
    "local t = {} for w in ('a b c'):gmatch('%a') do t[#t+1] = w end return t",
    "local t = {3, 1, 2} table.sort(t) return t",
    "local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return t",
    "local t = {1} table.insert(t, 2) table.insert(t, 1, 0) table.remove(t) return t",
    "return next({})", "return {next({5})}", "return rawequal('a', 'a')", "return type(next)",
    "return select(-1, 1, 2)", "return {select(2, 'a', 'b', 'c')}",
    "return collectgarbage('count') > 0", "return load(function() return nil end)()",
    "return {load(function() return 1 end)}",
    "local n = 0 return load(function() n = n + 1 return ({'return ', '7'})[n] end)()",
    "return {loadstring('x x')}", "return {loadstring('return 1', 'chunk')}",
    "return {loadstring('x x', '=named')}", "return {loadstring('x x', '@file')}",
    "return {loadstring('\\27Lua')}", "return {load(function() return nil end, 'x')}",
    "local f = loadstring(string.dump(function() return 1 end)) return f == nil",
    "return loadstring('return KEYS[1]')()", "return loadstring('y = 1')()",
    // cjson, bit and struct.
    "return cjson.encode({1, 2, {a='b'}, true, cjson.null})", "return cjson.encode({})",
    "return cjson.encode('a\\0\\31\\127/\"')", "return cjson.encode(0.1)",
    "return cjson.encode(2^53)", "return cjson.encode(1e100)", "return cjson.encode(1/0)",
    "return cjson.encode({[3]=1})", "return cjson.encode({[1e6]=1})",
    "return cjson.encode({1, a=2})", "return cjson.encode(function() end)",
    "return cjson.decode('[1, 2.5, \"x\", null, {}]')",
    "return cjson.decode('{\"a\": {\"b\": [true]}}').a.b", "return cjson.decode('')",
    "return cjson.decode('{')", "return cjson.decode('[1,]')", "return cjson.decode('nul')",
    "return cjson.decode('\"\\\\ud83d\\\\ude00\"')", "return cjson.decode('123456789012345678')",
    "return cjson.decode('null') == cjson.null", "return tostring(cjson.decode('null'))",
    "return #cjson.encode(string.rep('x', 10000))", "return cjson.decode(string.rep('[', 1001))",
    "local t = {} t.t = t return cjson.encode(t)", "return cjson.decode('0x10')",
    "return cjson.decode('[1e5, -0, 1E+2]')", "return cjson.decode('NaN')",
    "cjson.encode_keep_buffer(false) return cjson.encode({1})", "return cjson._VERSION",
    "return cjson.encode_max_depth()", "return cjson.decode_max_depth()", "return cjson._NAME",
    "return {bit.band(255, 15), bit.bor(1, 2), bit.bxor(3, 1), bit.bnot(0), bit.lshift(1, 31)}",
    "return {bit.rshift(-1, 1), bit.arshift(-8, 1), bit.rol(1, 1), bit.ror(1, 1), bit.bswap(1)}",
    "return {bit.tohex(255), bit.tohex(255, 4), bit.tohex(-1, -8), bit.tohex(5, 0)}",
    "return bit.tobit(2^31)", "return bit.band('x', 1)", "return bit.tobit(1e15)",
    "return struct.pack('>I2', 258)", "return {struct.unpack('>I2', '\\1\\2')}",
    "return struct.size('>I2I4')", "return struct.pack('nonsense', 1)"};

TEST_CASE("a script sees the same as on Redis 7") {
  TestServer evaluating;
  TestServer forwarded;
  for (const auto snippet : kSame) {
    const std::string source(snippet);
    CAPTURE(source);
    for (auto* server : {&evaluating, &forwarded}) server->call({"FLUSHALL"});
    const auto expected =
        to_resp(evaluating.call({"EVAL", source, "2", "k", "k2", "10", "0.1", "x"}));
    const auto actual = run_on(forwarded.connection(), source);
    if (is_model(evaluating.connection())) CHECK(actual == expected);
    CHECK(forwarded.dump("k") == evaluating.dump("k"));
  }
}

}  // namespace lua_runner_test
