// needs: server
#include "lua/runner.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "redis/server.h"
#include "support/forwarded_commands.h"
#include "support/limiters.h"
#include "support/server.h"

// What a script sees of its surroundings: the same as on Redis 7, except for what is listed here;
// and what a hostile script can do: nothing.

namespace lua_runner_test {

using namespace rlctl;
using namespace rlctl::test;
using support::is_model;
using namespace std::chrono_literals;

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
    "return redis.error_reply('MY x')", "return redis.error_reply('-MY x')",
    "return redis.error_reply('x')", "return redis.error_reply('')",
    "return redis.error_reply('-')", "return redis.error_reply('a b\\r\\n')",
    "return redis.error_reply(1)", "return redis.error_reply()",
    "return redis.error_reply('a','b')", "return redis.status_reply('x y')",
    "return redis.status_reply(1)", "return redis.status_reply()",
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
    "return {pcall(error, {1, 2})}", "return select('#', pcall(error, {}))",
    "return {pcall(error, {err=true})}", "return cjson.encode(redis.pcall('nonsense'))",
    "return #cjson.encode({('x'):rep(1e5)})", "return {map=redis.pcall('nonsense')}",
    "return _G[true]", "return _G[{}]", "math.randomseed(1) return math.random(-2^31, 2^31 - 1)",
    "return redis.setresp(2.5)", "return redis.set_repl(-0.5)", "return redis.acl_check_cmd()",
    "return redis.acl_check_cmd({})", "return redis.acl_check_cmd('get', 'x')",
    "return {bit.tohex(1, -2^32), bit.tohex(1, 2^32 + 3)}", "return bit.tohex(1, -4294967292)",
    "return {bit.tohex(-1, 2^31 - 1), bit.tohex(-1, 1 - 2^31)}",
    "return {bit.tohex(-1, 0/0), bit.tohex(-1, 1/0), bit.tohex(-1, 2^60)}", "#!lua",
    "#!lua flags=no-writes", "#!lua foo=bar\nreturn 1", "#!lua bar\nreturn 1",
    "#!lua flags=,\nreturn 1", "#!lua flags=no-writes,\nreturn 1", "x = \"a\n",
    "local x = [[q\nz]] y", "return {pcall(pcall)}", "return {pcall()}",
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
    "return dofile", "return loadfile", "return require", "return package", "return io",
    "return debug", "return module", "return getmetatable(redis)", "return math.pi",
    "return {math.random(), math.random(10), math.random(5, 7)}",
    "math.randomseed(7) return {math.random(100), math.random(1e9)}", "return math.random(0)",
    "return math.random(2, 1)", "return math.random(1, 2, 3)",
    "math.randomseed(3) return {math.random(1000), math.random(1000)}", "return _VERSION",
    "return redis.sha1hex('')", "return redis.sha1hex('abc')", "return redis.sha1hex(1)",
    "return redis.sha1hex()",
    "local t = {} for i = 0, 130 do t[i + 1] = redis.sha1hex(('x'):rep(i)) end return t",
    "return redis.log(redis.LOG_WARNING, 'x')", "return redis.log()", "return redis.log('x', 'y')",
    "return redis.log(9, 'y')", "return redis.log(-1, 'y')",
    "return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING}",
    ("return {redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, "
     "redis.REPL_ALL}"),
    "return redis.set_repl(redis.REPL_ALL)", "return redis.set_repl(4)", "return redis.set_repl()",
    "return redis.setresp(2)", "return redis.setresp(4)", "return redis.setresp()",
    "return redis.breakpoint()", "return redis.debug('x')", "return redis.replicate_commands()",
    "return redis.nonsense", "return type(redis.register_function)", "return tostring(1e15)",
    "return tostring(2^53)", "return tostring(0.1)", "return tostring(-0)",
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

    "local n = 0 return load(function() n = n + 1 return ({'return ', '7'})[n] end)()",
    "return {loadstring('x x')}", "return {loadstring('return 1', 'chunk')}",
    "return {loadstring('x x', '=named')}", "return {loadstring('x x', '@file')}",
    "return {loadstring('\\27Lua')}", "return {load(function() return nil end, 'x')}",
    "return {load(function() return 'x x ' end)}", "return {load(function() return {} end)}",
    "return {load(function() return '\\27Lua' end)}", "return {load(function() error('x') end)}",
    "return {load(function() return '' end)}", "return load('return 1')",
    "local n = 0 return {load(function() n = n + 1 return ({'', '\\27Lua'})[n] end)}",
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
    "return cjson.decode_max_depth()", "return cjson._NAME",
    "return {bit.band(255, 15), bit.bor(1, 2), bit.bxor(3, 1), bit.bnot(0), bit.lshift(1, 31)}",
    "return {bit.rshift(-1, 1), bit.arshift(-8, 1), bit.rol(1, 1), bit.ror(1, 1), bit.bswap(1)}",
    "return {bit.tohex(255), bit.tohex(255, 4), bit.tohex(-1, -8), bit.tohex(5, 0)}",
    "return bit.tobit(2^31)", "return bit.band('x', 1)", "return bit.tobit(1e15)",
    "return struct.pack('>I2', 258)", "return {struct.unpack('>I2', '\\1\\2')}",
    "return struct.size('>I2I4')", "return struct.pack('nonsense', 1)"};

TEST_CASE("a script sees the same as on Redis 7") {
  TestServer evaluating;
  TestServer forwarded;
  if (!is_model(evaluating.connection())) {
    MESSAGE("skipped: needs Redis 7");
    return;
  }
  for (const auto snippet : kSame) {
    const std::string source(snippet);
    CAPTURE(source);
    for (auto* server : {&evaluating, &forwarded}) server->call({"FLUSHALL"});
    const auto expected =
        to_resp(evaluating.call({"EVAL", source, "2", "k", "k2", "10", "0.1", "x"}));
    const auto actual = run_on(forwarded.connection(), source);
    CHECK(actual == expected);
    CHECK(forwarded.dump("k") == evaluating.dump("k"));
  }
}

/// What a script sees here, but not on Redis 7.
struct Difference {
  std::string_view source;
  std::string_view reply;  ///< its beginning
  std::string_view why;
};

constexpr Difference kDifferences[] = {
    {"return type(os.clock())", "$6\r\nnumber", "Redis has os.clock() since 7.4"},
    {"return type(server.call)", "$8\r\nfunction", "Valkey's name for redis"},
    {"return redis.acl_check_cmd('nonsense')", ":1", "there are no users"},
    {"return type(getmetatable(redis))", "$7\r\nboolean", "a metatable protects the table"},
    {"return type(getmetatable(_G))", "$7\r\nboolean", "as above, and theirs has no more use"},
    {"return string.find('x', string.rep('x', 10001))",
     "-ERR user_script:1: pattern has more than 10000 bytes",
     "matching a long pattern can overflow the stack"},
    {"return [[ a [[ b ]]", "-ERR Error compiling script (new function): user_script:1: nesting of",
     "Debian's Lua keeps this rule of Lua 5.0"},
    {"#!lua flags=\"no-writes\"\nreturn 1", "-ERR Unexpected flag", "quotes are not read"},
    {"table.remove(string)", "-ERR Attempt to modify", "the table is not looked at"},
    {"return {map=bit}", "*0", "a protected table is empty within a reply"},
    {"return type(__redis__err__handler)", "-ERR user_script:1: Script attempted",
     "the handler is not a global"},
    {"error(string)", "-ERR Attempt to modify a readonly table script", "and so it has no place"},
    {"local n = 0 local function f() n = n + 1 f() end pcall(f) return n", ":16380",
     "one call of the stack is the runner's"}};

TEST_CASE("what a script sees here and not on Redis 7 is known") {
  TestServer evaluating;
  TestServer forwarded;
  for (const auto& row : kDifferences) {
    const auto& [source, reply, why] = row;
    CAPTURE(row.source);
    CAPTURE(row.why);
    CHECK(run_on(forwarded.connection(), std::string(source)).starts_with(reply));
    if (!is_model(evaluating.connection())) continue;
    CHECK_FALSE(to_resp(evaluating.call({"EVAL", source, "0"})).starts_with(reply));
  }
}

/// Commands that a script must not reach.
class NoCommands final : public lua::Commands {
 public:
  void call(std::span<const std::string_view> /*words*/, bool /*read_only*/,
            std::string& reply) override {
    reply += "+OK\r\n";
  }
};

std::string reply_of(lua::Runner& runner) {
  NoCommands commands;
  std::string reply;
  runner.run("", {}, {}, commands, reply);
  return reply;
}

constexpr lua::Bounds kSmall{.memory = std::size_t{16} << 20, .instructions = 2'000'000};

TEST_CASE("a script that does not end is ended, whatever it catches") {
  constexpr lua::Bounds kShort{.memory = kSmall.memory, .instructions = 200'000};
  for (const std::string source :
       {"while true do end", "repeat until false", "while true do pcall(error) end",
        "while true do pcall(function() while true do end end) end",
        "local function f() return pcall(f) end while true do f() end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        ("local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) "
         "while true do pcall(function() return t[1] end) end"),
        "local f f = function() return f() end f()", "while true do redis.pcall('GET', 'x') end",
        "while true do loadstring('return 1')() end",
        "return table.sort(setmetatable({3, 2, 1}, {}), function() while true do end end)",
        "return ('x'):gsub('x', function() while true do end end)",
        "return load(function() while true do end end)",
        "while true do load(function() while true do end end) end",
        "while true do coroutine.create(function() end) end"}) {
    CAPTURE(source);
    lua::Runner runner(source, kShort);
    CHECK_THROWS_AS(static_cast<void>(reply_of(runner)), lua::RanTooLong);
    // The next run of the same state has all of its instructions again.
    lua::Runner fresh("return 1", kShort);
    CHECK(reply_of(fresh) == ":1\r\n");
  }
}

TEST_CASE("a pattern whose repetitions match little at once may have many, in a long text") {
  for (const std::string call :
       {"#s:gsub('(%d+):(%d+);', '')", "#s:gsub('[^,;:]+', '')",
        "#s:gsub('%s*(%w*)%s*:%s*(%w*)%s*;', '')", "(s:find('^(.-):(.*)$'))",
        "(s:find('%f[%d]%d+'))", "(s:find('.-.-.-.-.-', 1, true) or 0)",
        "(s:find('1*2*3*4*5*6*7*8*9*'))"}) {
    CAPTURE(call);
    lua::Runner runner("local s = ('1767225600:17;'):rep(600) return " + call + " >= 0 and 1 or 0");
    CHECK(reply_of(runner) == ":1\r\n");
  }
  lua::Runner state(
      "return ('1767225600:17:3:0.25:'):rep(3):find('(.-):(.-):(.-):(.-):(.-):') and 1 or 0");
  CHECK(reply_of(state) == ":1\r\n");
  lua::Runner words(
      "local s, n, at = ('1767225600,'):rep(3000), 0, 1\n"
      "while at do n, at = n + 1, select(2, s:find('[^,]+,', at)) at = at and at + 1 end return n");
  CHECK(reply_of(words) == ":3001\r\n");
}

TEST_CASE("what only a server has ends a script, whatever it catches") {
  for (const std::string call : {"redis.setresp(3)", "cmsgpack.pack(1)", "('x'):rep(1e9)"}) {
    CAPTURE(call);
    lua::Runner runner(
        "\nlocal ok = pcall(function() return " + call + " end) return ok and 1 or 0", kSmall);
    CHECK_THROWS_AS(static_cast<void>(reply_of(runner)), lua::NotImplementedHere);
    CHECK((runner.stopped_line() == 2 || call == "('x'):rep(1e9)"));
    lua::Runner fresh("return 1", kSmall);
    CHECK(reply_of(fresh) == ":1\r\n");
  }
}

TEST_CASE("memory and the stacks are bounded") {
  for (const std::string source :
       {"local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end",
        "local s = 'x' while true do s = s .. s end",
        "return ('x'):rep(1e9)",
        "return {unpack({}, 1, 1e7)}",
        "return unpack({}, -2147483648, 2147483647)",
        "return unpack({}, 0, 2147483647)",
        "return unpack({}, -1, 2147483646)",
        "local function f() return 1 + f() end return f()",
        "local function f() f() end f()",
        "local t = {} for i = 1, 1e8 do t[i] = i end",
        "return ('a'):rep(100):find(('a?'):rep(6000))",
        "return cjson.decode(('['):rep(1e6))",
        "local t = {} for i = 1, 1e4 do t = {t} end return cjson.encode(t)",
        "return loadstring(('('):rep(1e5))()",
        "return struct.pack('i999999999', 1)",
        "return struct.unpack('c2147483647', 'x')",
        "return bit.tohex(1, {})",
        "return string.format('%999d', 1)",
        "return table.concat({}, 'x', 1, 2^31)",
        "local s = ('x'):rep(1e6) while true do s = s:gsub('x', 'xx') end",
        "return load(function() return ('x'):rep(1e6) end)",
        "return collectgarbage('setpause', 1e9) + {}",
        ("local s = ('x'):rep(1e6) local n = 0 local function r() n = n + 1 "
         "return n < 100 and s or nil end return load(r)"),
        ("return {redis.call(unpack({('x'):rep(9e6), ('y'):rep(5e6), ('y'):rep(1e6), "
         "('y'):rep(1e6)}))}"),
        "return loadstring(('a = 1 '):rep(20000))"}) {
    CAPTURE(source);
    lua::Runner runner(source, kSmall);
    std::string reply;
    try {
      reply = reply_of(runner);
    } catch (const lua::NotImplementedHere& error) {
      CHECK(std::string(error.what()) ==
            "it needs more than the 16 MiB of memory that rlctl gives it");
      continue;
    }
    CHECK(reply.substr(0, 200).find_first_of("-$") == 0);
  }
  lua::Runner itself("local t = {} t[1] = t return t", kSmall);
  CHECK(reply_of(itself).ends_with("*1\r\n-ERR reached lua stack limit\r\n"));
  for (const auto* digits : {"-2^31", "2^31", "2^31 + 2^32", "2^31 - 0.4"}) {
    CAPTURE(digits);
    lua::Runner hex(fmt::format("return bit.tohex(-1, {})", digits), kSmall);
    CHECK(reply_of(hex).starts_with("$8\r\nFFFFFFFF"));
  }
  // A source cannot tell the collector of garbage what to do in the next run.
  lua::Runner stopping(
      "collectgarbage('stop') local t = {} for i = 1, 2e4 do t[i] = {i} end "
      "return 5",
      {.memory = std::size_t{8} << 20});
  for (int i = 0; i < 20; ++i) CHECK(reply_of(stopping) == ":5\r\n");
}

TEST_CASE("no script leaves its sandbox, or changes what another run sees") {
  // Each must fail, or leave what `probe` says as it was.
  for (const std::string attack : {"redis = nil",
                                   "redis.call = function() end",
                                   "_G.redis = {}",
                                   "rawset(_G, 'redis', {})",
                                   "rawset(redis, 'call', 1)",
                                   "string.format = 1",
                                   "getmetatable('').__index.format = 1",
                                   "getmetatable('').__index = {}",
                                   "rawset(getmetatable('').__index, 'format', 1)",
                                   "rawset(string, 'format', 1)",
                                   "rawset(getmetatable(''), '__index', {})",
                                   "setmetatable(string, {__index = {}})",
                                   "for _, t in pairs(_G) do pcall(rawset, t, 'x', 1) end",
                                   "for _, t in pairs(_G) do pcall(setmetatable, t, nil) end",
                                   "for k in pairs(_G) do pcall(rawset, _G, k, nil) end",
                                   "local _, t = pairs(_G) t.redis = nil",
                                   "local _, t = pairs(redis) rawset(t, 'call', nil)",
                                   "table.insert(string, 'x')",
                                   "table.remove(string, 'format')",
                                   "table.sort(redis)",
                                   "table.foreach(redis, function(k) redis[k] = nil end)",
                                   "_G.tonumber = nil",
                                   "local m = getmetatable(_G) m.__index = nil",
                                   "pcall(function() getmetatable(_G).x = 1 end)",
                                   "loadstring('redis = nil')()",
                                   "coroutine.wrap(function() redis = nil end)()",
                                   "tostring = nil",
                                   "math.random = function() return 4 end",
                                   "cjson.encode = nil",
                                   "newproxy(true)",
                                   "debug.sethook()",
                                   "setfenv(1, {})",
                                   "getfenv(0).redis = nil",
                                   "io.open('/etc/passwd')",
                                   "os.execute('true')",
                                   "os.exit()",
                                   "os.getenv('HOME')",
                                   "require('os')",
                                   "package.loadlib('x', 'y')",
                                   "dofile('/etc/passwd')",
                                   "loadfile('/etc/passwd')()",
                                   "module('x')",
                                   "print('x')",
                                   "string.dump(redis.call)",
                                   "load(function() return '\\27Lua' end)()",
                                   "loadstring(string.dump(function() end))()",
                                   "KEYS = nil",
                                   "ARGV = 1"}) {
    CAPTURE(attack);
    lua::Runner runner(
        "pcall(function() " + attack +
            " end) "
            "return {type(redis.call), redis.call('x').ok, ('x'):format(), type(_G), "
            "type(tostring), tostring(1), type(cjson.encode), type(KEYS), type(ARGV), "
            "tostring(rawget(_G, 'x')), tostring(rawget(string, 'x')), "
            "type(string.format), type(rawset), type(math.random(5))}",
        kSmall);
    const auto first = reply_of(runner);
    CHECK(first ==
          "*14\r\n$8\r\nfunction\r\n$2\r\nOK\r\n$1\r\nx\r\n$5\r\ntable\r\n$8\r\n"
          "function\r\n$1\r\n1\r\n$8\r\nfunction\r\n$5\r\ntable\r\n$5\r\ntable\r\n"
          "$3\r\nnil\r\n$3\r\nnil\r\n$8\r\nfunction\r\n$8\r\nfunction\r\n"
          "$6\r\nnumber\r\n");
    CHECK(reply_of(runner) == first);
  }
}

TEST_CASE("what stops a run passes through it: Ctrl-C, and an exception of the commands") {
  struct Failing final : lua::Commands {
    void call(std::span<const std::string_view> /*words*/, bool /*read_only*/,
              std::string& /*reply*/) override {
      throw std::invalid_argument("no server");
    }
  } failing;
  lua::Runner caught("while true do pcall(redis.pcall, 'GET', 'x') end", kSmall);
  std::string reply = "before";
  CHECK_THROWS_WITH_AS(caught.run("", {}, {}, failing, reply), "no server", std::invalid_argument);
  CHECK(reply == "before");

  Interrupt interrupt;
  interrupt.raise(2);
  lua::Runner endless("while true do pcall(error) end", {.interrupt = &interrupt});
  CHECK_THROWS_AS(static_cast<void>(reply_of(endless)), Interrupted);

  struct Malformed final : lua::Commands {
    std::string_view answer;
    void call(std::span<const std::string_view> /*words*/, bool /*read_only*/,
              std::string& out) override {
      out += answer;
    }
  } malformed;
  lua::Runner runner("return redis.pcall('GET', 'x')", kSmall);
  for (const auto* answer : {"", "+OK", "x\r\n", "$5\r\nab\r\n", "*2\r\n:1\r\n", ":x\r\n",
                             "$-2x\r\n", "*9999999999\r\n", ":1\r\n:2\r\n", "\r\n"}) {
    CAPTURE(answer);
    malformed.answer = answer;
    CHECK_THROWS_WITH_AS(runner.run("", {}, {}, malformed, reply), "a reply is not RESP2",
                         std::runtime_error);
  }
}

TEST_CASE("a call has the line that makes it, and a run tells the number that it returned") {
  struct Lines final : lua::Commands {
    const lua::Runner* runner = nullptr;
    std::vector<int> lines = {};
    void call(std::span<const std::string_view> /*words*/, bool /*read_only*/,
              std::string& out) override {
      lines.push_back(runner->line());
      out += "+OK\r\n";
    }
  } commands;
  lua::Runner runner(
      "#!lua flags=no-writes\n"
      "redis.call('GET', 'x')\n"
      "pcall(redis.call, 'GET', 'x')\n"
      "local function get(key)\n"
      "  return redis.pcall('GET',\n"
      "                     key)\n"
      "end\n"
      "get('x')\n"
      "coroutine.wrap(get)('x')\n"
      "if #ARGV > 0 then return 'text' end\n"
      "return 0.5",
      kSmall);
  commands.runner = &runner;
  std::string reply;
  runner.run("", {}, {}, commands, reply);
  CHECK(commands.lines == std::vector{2, 3, 5, 5});
  CHECK(runner.returned_number() == 0.5);
  const std::string_view argument[] = {"x"};
  runner.run("", {}, argument, commands, reply);
  CHECK_FALSE(runner.returned_number());
  CHECK(reply == ":0\r\n$4\r\ntext\r\n");
}

TEST_CASE("a library registers functions, and they are called as by FCALL") {
  const std::string library = R"(#!lua name=lib
local calls = 0
redis.register_function('count', function(keys, args) calls = calls + 1 return {calls, keys, args} end)
redis.register_function{function_name='look', callback=function() return redis.call('SET', 'k', 1) end,
  flags={'no-writes'}, description='it may not write'}
redis.register_function('fails', function() error('broken') end)
)";
  TestServer server;
  lua::Runner runner(library);
  CHECK(runner.functions() == std::vector<std::string>{"count", "look", "fails"});
  ForwardedCommands commands(server.connection());
  const std::string_view keys[] = {"a"};
  const std::string_view arguments[] = {"b"};
  const bool has_functions =
      !server.call({"FUNCTION", "LOAD", library}).is_error() && is_model(server.connection());
  for (const auto* name : {"count", "count", "look", "fails", "nonsense"}) {
    CAPTURE(name);
    std::string reply;
    runner.run(name, keys, arguments, commands, reply);
    if (has_functions) CHECK(reply == to_resp(server.call({"FCALL", name, "1", "a", "b"})));
    CHECK_FALSE(reply.empty());
  }
  for (const std::string wrong :
       {"local floor = math.floor", "redis.call('PING')", "redis.sha1hex('x')", "x = 1",
        "error('y')", "redis.register_function('a b', function() end)",
        "redis.register_function('f', nil)",
        "redis.register_function('f', function() end) redis.register_function('f', function() end)",
        "redis.register_function({function_name='f'})", "local x = ", "return 1"}) {
    CAPTURE(wrong);
    const auto source = "#!lua name=wrong\n" + wrong;
    CHECK_THROWS_AS(lua::Runner{source}, lua::InvalidScript);
    if (!has_functions) continue;
    CHECK(server.call({"FUNCTION", "LOAD", source}).is_error());
  }
}

}  // namespace lua_runner_test
