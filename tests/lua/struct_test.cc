// needs: server
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "lua/runner.h"
#include "support/limiters.h"
#include "support/random.h"

// The library `struct` must answer as the server's does: the same script runs in both. There are no
// differences, except that a server on another processor than x86-64 may convert numbers that are
// out of range in another way.

namespace lua_struct_test {

using rlctl::test::Random;
using rlctl::test::TestServer;

/// Defines all(function, ...), which calls the function and returns its results, or its error, as
/// one text; q(digits), a string from its bytes in hexadecimal; and the numbers `inf` and `nan`.
constexpr std::string_view kAll = R"lua(local inf, nan = math.huge, 0 / 0
local function q(digits)
  return (digits:gsub('..', function(byte) return string.char(tonumber(byte, 16)) end))
end
local function all(f, ...)
  local results, count = {}, 0
  local function keep(...)
    count = select('#', ...)
    for i = 1, count do results[i] = (select(i, ...)) end
  end
  keep(pcall(f, ...))
  if count > 20 then return 'results: ' .. count end
  for i = 1, count do
    if type(results[i]) == 'number' then
      results[i] = string.format('%.17g', results[i])
    elseif type(results[i]) == 'string' and results[1] == true then
      results[i] = "'" .. results[i]:gsub('.', function(c) return string.format('%02x', c:byte()) end) .. "'"
    else
      results[i] = tostring(results[i])
    end
  end
  return table.concat(results, ' ', 1, count)
end
)lua";

/// Never called.
struct NoCommands final : rlctl::lua::Commands {
  void call(std::span<const std::string_view>, bool, std::string&) override {}
};

/// The reply of a script that returns a text, as RESP.
std::string on_server(TestServer& server, const std::string& source) {
  const auto reply = server.call({"EVAL", source, "0"});
  REQUIRE_MESSAGE(!reply.is_error(), reply.text());
  return fmt::format("${}\r\n{}\r\n", reply.text().size(), reply.text());
}
std::string in_process(const std::string& source) {
  NoCommands commands;
  std::string reply;
  rlctl::lua::Runner(source).run("", {}, {}, commands, reply);
  return reply;
}

/// The expression for a call, which is written without brackets: "struct.pack, 'b', 1". The call is
/// in a function of its own, so that its errors name the function and the line.
std::string to_lua(std::string_view call) {
  const auto comma = call.find(',');
  return fmt::format("all(function(...) return {}(...) end{})", call.substr(0, comma),
                     call.substr(comma));
}

constexpr std::string_view kCalls[] = {
    // Each option, both ways, and their sizes.
    "struct.pack, '>bBhHiIlLT', -1, 255, -2, 65535, -3, 4294967295, -4, 5, 6",
    "struct.pack, '>fdsc3', 1.5, 2.5, 'ab', 'xyz'",
    "struct.pack, '<bBhHiIlLT', -1, 255, -2, 65535, -3, 4294967295, -4, 5, 6",
    "struct.pack, '<fdsc3', 1.5, 2.5, 'ab', 'xyz'",
    "struct.size, 'bBhHiIlLTfdxc3c'",
    "struct.size, '!bBhHiIlLTfdxc3c'",
    "struct.size, '!4 b l b h'",
    "struct.unpack, '<bBhH', q'ffff00800080'",
    "struct.unpack, '>iIlL', q'ffffffffffffffffffffffffffffffffffffffffffffffff'",
    "struct.unpack, '<fd', q'0000c03f000000000000f0bf'",
    "struct.unpack, 'T', q'ffffffffffffff7f'",
    "struct.unpack, 'xxbx', 'abcd'",
    "struct.unpack, 'x', ''",
    "struct.pack, 'xxx'",
    "struct.pack, ''",
    "struct.unpack, '', ''",
    "struct.unpack, 'b\\0z', 'ab'",
    // Integers of all sizes.
    "struct.pack, '<i0i1i3i5i9i16i32', 1, -2, -3, -4, -5, -6, -7",
    "struct.pack, '>i0i1i3i5i9i16i32', 1, -2, -3, -4, -5, -6, -7",
    "struct.unpack, 'i0I0', ''",
    "struct.unpack, '<i3I3', q'ffffffffffff'",
    "struct.unpack, '>i9', q'0000000000000000ff'",
    "struct.unpack, '>i16i32', string.rep(q'80', 48)",
    "struct.size, 'i32I32'",
    "struct.size, 'i33'",
    "struct.pack, 'I2147483647', 1",
    "struct.unpack, 'i2147483648', 'a'",
    "struct.size, 'c2147483647c2147483647c2147483647'",
    "struct.size, 'c99999999999999999999999999'",
    "struct.size, 'f9'",
    "struct.pack, 'b9', 1",
    // Numbers that an integer cannot hold.
    "struct.pack, '>lllll', inf, -inf, nan, 1e19, -1e19",
    "struct.pack, '>lll', -2^63 + 1024, -6e18, 6e18",
    "struct.pack, '>LLLL', 2^64, 2^64 - 2048, 2^63, -2^63",
    "struct.pack, '>bbb', 300, -300, 0.9",
    "struct.pack, '>bbb', -0.9, -1.9, '0x10'",
    "struct.pack, '>fffd', inf, 1e300, 1e-300, nan",
    "struct.unpack, '>fffd', q'7f8000007fc00000ffc000007ff8000000000000'",
    // Strings.
    "struct.pack, 'c0c0s', 'abc', '', 'd\\0e'",
    "struct.pack, 'cc2', 'abc', 'def'",
    "struct.pack, 'c4', 'abc'",
    "struct.pack, 's', 12.5",
    "struct.unpack, 'sss', 'a\\0\\0bc\\0d'",
    "struct.unpack, 's', 'abc'",
    "struct.unpack, 's', ''",
    "struct.unpack, 'cc2c3', 'abcdef'",
    "struct.unpack, 'c2', 'a'",
    "struct.unpack, 'bc0', q'03616263'",
    "struct.unpack, 'bc0', q'04616263'",
    "struct.unpack, 'bc0', q'00616263'",
    "struct.unpack, 'bc0', q'ff616263'",
    "struct.unpack, 'sc0', '2\\0abc'",
    "struct.unpack, 'sc0', 'x\\0abc'",
    "struct.unpack, 'c0', 'abc'",
    "struct.unpack, 'c0', 'abc', 1",
    "struct.unpack, 'c0', '1'",
    "struct.unpack, '<xc0', 1, 1",
    "struct.unpack, 'bc0c0', q'0161'",
    "struct.unpack, '>dc0', struct.pack('>d', inf) .. 'abc'",
    "struct.unpack, '>dc0', struct.pack('>d', -inf) .. 'abc'",
    "struct.unpack, '>dc0', struct.pack('>d', nan) .. 'abc'",
    "struct.unpack, '>dc0', struct.pack('>d', -0.5) .. 'abc'",
    "struct.unpack, '>dc0', struct.pack('>d', -8) .. 'abc'",
    "struct.unpack, '>dc0', struct.pack('>d', 1.9) .. 'abc'",
    "struct.unpack, '>Lc0', string.rep(q'ff', 8) .. 'abc'",
    "struct.size, 's'",
    "struct.size, 'c0'",
    // Alignment.
    "struct.pack, '!bhbibl!2bl', 1, 2, 3, 4, 5, 6, 7, 8",
    "struct.pack, '!16 b i16 b i12', 1, 2, 3, 4",
    "struct.pack, '!4 bi3bi5', 1, 2, 3, 4",
    "struct.unpack, '!4 bi3bi5', string.rep('abcdefgh', 4)",
    "struct.unpack, '!8 bl', 'abcdefgh'",
    "struct.unpack, '!8 bl', 'abcdefghijklmno'",
    "struct.unpack, '!8 b', 'a'",
    "struct.unpack, '!1073741824 bi32', string.rep('a', 64)",
    "struct.size, '!0'",
    "struct.size, '!3'",
    "struct.size, '!2147483647'",
    "struct.size, '!2147483648'",
    // Positions.
    "struct.unpack, 'b', 'abc', 1",
    "struct.unpack, 'b', 'abc', 3",
    "struct.unpack, 'b', 'abc', 4",
    "struct.unpack, 'b', 'abc', 5",
    "struct.unpack, '', 'abc', 4",
    "struct.unpack, '', 'abc', 5",
    "struct.unpack, ' ', 'abc', 4",
    "struct.unpack, ' ', 'abc', 5",
    "struct.unpack, 'z', 'abc', 5",
    "struct.unpack, 'x', 'abc', 4",
    "struct.unpack, 's', 'abc', 4",
    "struct.unpack, 's', 'abc', 5",
    "struct.unpack, 'b', 'abc', 0",
    "struct.unpack, 'b', 'abc', 0.9",
    "struct.unpack, 'b', 'abc', -1",
    "struct.unpack, '', 'abc', -5",
    "struct.unpack, '!8l', string.rep('a', 20), -6",
    "struct.unpack, '!8l', string.rep('a', 20), -7",
    "struct.unpack, '!8l', string.rep('a', 20), -8",
    "struct.unpack, 'b', 'abc', 2^53",
    "struct.unpack, 'b', 'abc', 2^63 - 1024",
    "struct.unpack, 'b', 'abc', -2^63",
    "struct.unpack, 'b', 'abc', '2'",
    "struct.unpack, 'b', 'abc', 'x'",
    // Arguments.
    "struct.pack, nil",
    "struct.pack, 'i'",
    "struct.pack, 'ii', 1",
    "struct.pack, 'c0c0', string.rep('a', 20000)",
    "struct.pack, 'i', 'x'",
    "struct.pack, 'i', {}",
    "struct.pack, 's', nil",
    "struct.pack, 'i', 1, 2, 3",
    "struct.pack, 5",
    "struct.unpack, 'b'",
    "struct.unpack, 'bb', 12",
    "struct.unpack, {}, 'a'",
    "struct.size, nil",
    "struct.size, 12",
    // Letters that mean nothing.
    "struct.pack, 'z', 1",
    "struct.unpack, 'z', 'a'",
    "struct.size, 'zzz9Q'",
    "struct.size, '-'",
    "struct.size, 'b\\200'",
    "struct.size, 'b\\n'",
    "struct.pack, '5', 1",
    // Many results.
    "struct.unpack, string.rep('b', 7000), string.rep('a', 7000)",
    "struct.unpack, string.rep('b', 9000), string.rep('a', 9000)",
};

TEST_CASE("each kind of format and its errors are as in the server") {
  TestServer server;
  for (const auto call : kCalls) {
    CAPTURE(call);
    const auto source = fmt::format("{}return {}", kAll, to_lua(call));
    CHECK(in_process(source) == on_server(server, source));
  }
}

// ---- Random formats ----

std::string random_format(Random& random) {
  constexpr std::string_view kLetters = "bBhHiIlLTfdscx!><  biIc0sz";
  constexpr std::string_view kNumbers[] = {"0",  "1",   "2",          "3",         "4",  "5",
                                           "8",  "9",   "16",         "31",        "32", "33",
                                           "64", "007", "2147483647", "2147483648"};
  std::string format;
  for (auto letters = random.uniform(0, 7); letters > 0; --letters) {
    format += random.one_of(kLetters);
    // Most numbers that follow other letters are errors, and after an error there is nothing to
    // see.
    const auto last = format.back();
    const bool is_sized = last == 'i' || last == 'I' || last == 'c' || last == '!';
    if (random.percent(is_sized ? 60 : 1))
      format += kNumbers[random.uniform(0, random.percent(90) ? 10 : 15)];
    if (last == 'z' && random.percent(80)) format.pop_back();
  }
  return format;
}

std::string random_bytes(Random& random, std::int64_t most) {
  std::string digits;
  for (auto size = random.uniform(0, most); size > 0; --size) {
    // Small numbers are sizes for c0, and zeros end strings.
    const auto byte = random.percent(60) ? random.uniform(0, 6) : random.uniform(0, 255);
    digits += fmt::format("{:02x}", byte);
  }
  return "q'" + digits + "'";
}

std::string random_value(Random& random) {
  constexpr std::string_view kOdd[] = {"inf",   "-inf",  "nan", "-0.5", "2^63", "2^64", "-2^63",
                                       "-2^70", "1e300", "nil", "'x'",  "{}",   "true"};
  const auto kind = random.uniform(1, 100);
  if (kind <= 4) return std::string(random.one_of(kOdd));
  if (kind <= 30) return random_bytes(random, 9);
  if (kind <= 45) return fmt::format("{}.{}", random.uniform(-300, 300), random.uniform(0, 9));
  if (kind <= 70) return fmt::format("'{}'", random.uniform(-9, 9));  // a number and a string
  return fmt::format("{}",
                     random.uniform(0, 1) * random.log_uniform(1, std::int64_t{1} << 62U) -
                         random.uniform(0, 1) * random.log_uniform(1, std::int64_t{1} << 62U));
}

std::string random_call(Random& random) {
  const auto format = random_format(random);
  const auto kind = random.uniform(0, 9);
  if (kind == 0) return fmt::format("struct.size, '{}'", format);
  if (kind <= 4) {
    std::string call = fmt::format("struct.pack, '{}'", format);
    const auto least = random.percent(10) ? 0 : 7;
    for (auto values = random.uniform(least, 8); values > 0; --values)
      call += ", " + random_value(random);
    return call;
  }
  std::string call = fmt::format("struct.unpack, '{}', {}", format, random_bytes(random, 80));
  if (random.percent(20)) call += fmt::format(", {}", random.uniform(-20, 90));
  return call;
}

TEST_CASE("random formats with random values and data are as in the server") {
  TestServer server;
  Random random;
  const auto scripts = rlctl::test::scaled(300, 10'000);
  std::int64_t succeeded = 0;
  for (std::int64_t i = 0; i < scripts; ++i) {
    // Twenty calls a script, since most of the time goes into the compilation of scripts.
    std::string source = std::string(kAll) + "local lines = {}\n";
    for (int j = 0; j < 20; ++j) {
      source += fmt::format("lines[{}] = {}\n", j + 1, to_lua(random_call(random)));
    }
    source += "return table.concat(lines, '\\n')";
    const auto expected = on_server(server, source);
    REQUIRE_MESSAGE(in_process(source) == expected, source);
    for (auto at = expected.find("true"); at != expected.npos;) {
      ++succeeded;
      at = expected.find("true", at + 1);
    }
  }
  // Not only errors are compared.
  CHECK(succeeded > scripts * 4);
}

}  // namespace lua_struct_test
