#include "keyspace/keyspace.h"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "lua/runner.h"

// Without a server: the edges of time, copies, what is refused, and each command once in an edge
// that random calls seldom meet. tests/keyspace/differential_test.cc compares with a server.

namespace keyspace_test {

using namespace rlctl;
using namespace std::chrono_literals;
using keyspace::Keyspace;
using keyspace::NotImplementedHere;
using std::chrono::microseconds;

/// The reply to a line of words; "''" is an empty word.
std::string reply_to(Keyspace& keyspace, std::string_view line, bool read_only = false) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const auto word = take_until(line, " ");
    words.push_back(word == "''" ? "" : word);
  }
  std::string reply;
  keyspace.call(words, read_only, reply);
  return reply;
}

struct Case {
  std::string_view line;
  std::string_view reply;
};

void check(std::initializer_list<Case> cases) {
  Keyspace keyspace(1'700'000'000s);
  for (const auto& its : cases) {
    CAPTURE(its.line);
    CHECK(reply_to(keyspace, its.line) == std::string(its.reply) + "\r\n");
  }
}

TEST_CASE("a key exists until the millisecond of its expiry has passed") {
  Keyspace keyspace(1'700'000'000'000'999us);
  reply_to(keyspace, "SET k v PX 10");
  keyspace.set_time(1'700'000'000'010'999us);
  CHECK(reply_to(keyspace, "PTTL k") == ":0\r\n");
  CHECK(keyspace.ttl(*keyspace.find("k")) == 0ms);
  keyspace.set_time(1'700'000'000'011'000us);
  CHECK(reply_to(keyspace, "PTTL k") == ":-2\r\n");
  CHECK(keyspace.find("k") == nullptr);
  CHECK(keyspace.keys().empty());
}

TEST_CASE("a clock that is set back does not bring back what had expired") {
  Keyspace keyspace(100s);
  reply_to(keyspace, "SET gone v PX 10");
  reply_to(keyspace, "SET kept v PX 10000");
  keyspace.set_time(101s);
  keyspace.set_time(99s);
  CHECK(keyspace.keys() == std::vector<std::string_view>{"kept"});
  CHECK(reply_to(keyspace, "PTTL kept") == ":11000\r\n");
  CHECK(reply_to(keyspace, "TIME") == "*2\r\n$2\r\n99\r\n$1\r\n0\r\n");
}

TEST_CASE("keys that have expired take no room") {
  Keyspace keyspace(100s);
  for (int i = 0; i < 100'000; ++i) {
    reply_to(keyspace, "SET window:" + std::to_string(i) + " 1 PX 5");
    keyspace.set_time(keyspace.now() + 1ms);
  }
  CHECK(keyspace.keys().size() == 5);
}

TEST_CASE("a copy is another state, and shares what neither has written") {
  Keyspace first(100s);
  reply_to(first, "ZADD z 1 a 2 b");
  reply_to(first, "RPUSH l x");
  reply_to(first, "SET k v EX 5");
  auto second = first;
  CHECK(second.find("z")->value == first.find("z")->value);
  CHECK(second.to_text() == first.to_text());
  reply_to(second, "ZREM z a");
  reply_to(second, "DEL l");
  CHECK(reply_to(first, "ZCARD z") == ":2\r\n");
  CHECK(reply_to(second, "ZCARD z") == ":1\r\n");
  CHECK(reply_to(first, "LLEN l") == ":1\r\n");
  CHECK(second.find("k")->value == first.find("k")->value);
  CHECK(second.to_text() != first.to_text());
  // The same within one: COPY shares, too.
  reply_to(first, "COPY z y");
  reply_to(first, "ZADD y 3 c");
  CHECK(reply_to(first, "ZCARD z") == ":2\r\n");
}

TEST_CASE("a read, or a command that removes nothing, copies no value") {
  Keyspace first(100s);
  reply_to(first, "ZADD z 1 a 2 b");
  auto second = first;
  reply_to(second, "ZREMRANGEBYSCORE z -inf (1");
  reply_to(second, "ZRANGE z 0 -1");
  reply_to(second, "PEXPIRE z 1000");
  CHECK(second.find("z")->value == first.find("z")->value);
  CHECK(second.to_text() != first.to_text());
}

TEST_CASE("states are equal up to a shift of time") {
  const auto state = [](microseconds now, std::string_view ttl) {
    Keyspace keyspace(now);
    reply_to(keyspace, "SET k v");
    reply_to(keyspace, "PEXPIRE k " + std::string(ttl));
    reply_to(keyspace, "HSET h f 1");
    return keyspace;
  };
  CHECK(state(100s, "500").to_text() == state(7777s, "500").to_text());
  CHECK(state(100s, "500").to_text() != state(100s, "501").to_text());
  // The clock's place within its millisecond counts.
  CHECK(state(100s, "500").to_text() != state(100s + 1us, "500").to_text());
  auto later = state(100s, "500");
  later.set_time(100s + 200ms);
  CHECK(later.to_text() == state(200s, "300").to_text());
  // The latest expiry that there can be.
  CHECK(state(100s, "9223372036854675807").to_text() ==
        state(100s, "9223372036854675807").to_text());
  CHECK(state(100s, "9223372036854675807").to_text() !=
        state(100s, "9223372036854675806").to_text());
  // A key that has expired is not part of a state.
  later.set_time(200s);
  Keyspace without(5s);
  reply_to(without, "HSET h f 1");
  CHECK(later.to_text() == without.to_text());
  reply_to(without, "HSET h f 2");
  CHECK(later.to_text() != without.to_text());
}

TEST_CASE("a call that has no answer here is refused by name, and changes nothing") {
  Keyspace keyspace(100s);
  reply_to(keyspace, "SADD s a b");
  reply_to(keyspace, "ZADD z 1 a 2 b");
  for (const auto* line :
       {"ZRANGESTORE x z 0 -1", "SCAN 0", "HEXPIRE h 1 FIELDS 1 f", "CONFIG HELP", "SPOP s",
        "SRANDMEMBER s -3", "COPY s x DB 1", "ZRANGEBYLEX z - +", "SETRANGE k 500000000 x",
        "SETBIT k 4294967295 1"}) {
    CAPTURE(line);
    auto before = keyspace;
    CHECK_THROWS_AS(reply_to(keyspace, line), NotImplementedHere);
    CHECK(keyspace.to_text() == before.to_text());
  }
  CHECK_THROWS_WITH(reply_to(keyspace, "zrangestore x z 0 -1"),
                    "ZRANGESTORE is not implemented here");
  CHECK_THROWS_WITH(reply_to(keyspace, "spop s"),
                    "SPOP of a random member is not implemented here");
  CHECK_THROWS_WITH(reply_to(keyspace, "subscribe x"),
                    "a server allows no script to call SUBSCRIBE");
  CHECK(reply_to(keyspace, "SPOP s 2") == "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
}

TEST_CASE("a command that Redis does not have is an error of Redis") {
  const auto* const unknown = "-ERR Unknown Redis command called from script";
  check({{"INCRR k", unknown},
         {"a-name-that-is-longer-than-that-of-any-command", unknown},
         {"''", unknown}});
}

TEST_CASE("a large collection that is copied is found in, whichever copy changes") {
  std::optional<Keyspace> first(100s);
  for (int i = 0; i < 2000; ++i) {
    const auto member = "m" + std::to_string(i);
    reply_to(*first, "ZADD z " + std::to_string(i % 7) + " " + member);
    reply_to(*first, "HSET h " + member + " " + std::to_string(i));
    reply_to(*first, "SADD s " + member);
  }
  const auto before = first->to_text();
  auto second = *first;
  reply_to(second, "ZREM z m1500");
  reply_to(second, "HDEL h m1500");
  reply_to(second, "SREM s m1500");
  CHECK(first->to_text() == before);
  CHECK(reply_to(*first, "HGET h m1500") == "$4\r\n1500\r\n");
  first.reset();
  CHECK(reply_to(second, "ZSCORE z m1500") == "$-1\r\n");
  CHECK(reply_to(second, "HGET h m1500") == "$-1\r\n");
  CHECK(reply_to(second, "SISMEMBER s m1500") == ":0\r\n");
  CHECK(reply_to(second, "ZSCORE z m1999") == "$1\r\n4\r\n");
  CHECK(reply_to(second, "HGET h m1999") == "$4\r\n1999\r\n");
  CHECK(reply_to(second, "SISMEMBER s m1999") == ":1\r\n");
  CHECK(reply_to(second, "ZRANGE z 0 0") == "*1\r\n$2\r\nm0\r\n");
}

TEST_CASE("a large hash stays in the order of insertion") {
  Keyspace keyspace(100s);
  for (int i = 0; i < 1000; ++i) reply_to(keyspace, "HSET h m" + std::to_string(i) + " x");
  for (int i = 0; i < 998; ++i) reply_to(keyspace, "HDEL h m" + std::to_string(i));
  reply_to(keyspace, "HSET h a x");
  reply_to(keyspace, "HSET h m998 y");
  CHECK(reply_to(keyspace, "HGETALL h") ==
        "*6\r\n$4\r\nm998\r\n$1\r\ny\r\n$4\r\nm999\r\n$1\r\nx\r\n$1\r\na\r\n$1\r\nx\r\n");
}

TEST_CASE("the values of a keyspace have a bound") {
  Keyspace keyspace(100s);
  const std::string value(1 << 20, 'x');
  const std::string_view words[] = {"APPEND", "k", value};
  std::string reply;
  const auto fill = [&] {
    for (int i = 0; i < 1000; ++i) keyspace.call(words, false, reply);
  };
  CHECK_THROWS_WITH_AS(fill(), "the keys of the script hold more than 128 MiB", NotImplementedHere);
  const auto copy = [&] {
    for (int i = 0; i < 1000; ++i) reply_to(keyspace, "COPY k " + std::to_string(i));
  };
  CHECK_THROWS_AS(copy(), NotImplementedHere);
  for (int i = 0; i < 1000; ++i) reply_to(keyspace, "DEL " + std::to_string(i));
  // What is removed does not count.
  for (int i = 0; i < 1000; ++i) {
    reply_to(keyspace, "DEL k");
    keyspace.call(words, false, reply);
  }
}

TEST_CASE("the words that are keys are known, of calls that may be right") {
  using Words = std::vector<std::string_view>;
  const auto keys_of = [](const Words& words) { return keyspace::keys_of(words); };
  CHECK(keys_of({"get", "a"}) == Words{"a"});
  CHECK(keys_of({"MSET", "a", "1", "b", "2"}) == Words{"a", "b"});
  CHECK(keys_of({"RENAME", "a", "b"}) == Words{"a", "b"});
  CHECK(keys_of({"DEL", "a", "b", "c"}) == Words{"a", "b", "c"});
  CHECK(keys_of({"TIME"}).empty());
  CHECK(keys_of({"GET"}).empty());
  CHECK(keys_of({"nonsense", "a"}).empty());
  CHECK(keyspace::writes_keys("set"));
  CHECK_FALSE(keyspace::writes_keys("GET"));
  CHECK_FALSE(keyspace::writes_keys("PUBLISH"));
}

TEST_CASE("no key expires while only the time that is shown goes on") {
  Keyspace keyspace(100s);
  reply_to(keyspace, "SET k v PX 1000");
  keyspace.set_time(100s, 200s);
  CHECK(reply_to(keyspace, "TIME") == "*2\r\n$3\r\n200\r\n$1\r\n0\r\n");
  CHECK(reply_to(keyspace, "PTTL k") == ":1000\r\n");
  CHECK(reply_to(keyspace, "PEXPIREAT k 200500") == ":1\r\n");
  CHECK(reply_to(keyspace, "PTTL k") == ":500\r\n");
  keyspace.set_time(101s);
  CHECK(reply_to(keyspace, "EXISTS k") == ":0\r\n");
}

TEST_CASE("a script without writes may only read") {
  Keyspace keyspace(100s);
  CHECK(reply_to(keyspace, "SET k v", true) ==
        "-ERR Write commands are not allowed from read-only scripts.\r\n");
  CHECK(reply_to(keyspace, "SET k", true) ==
        "-ERR Wrong number of args calling Redis command from script\r\n");
  CHECK(reply_to(keyspace, "GET k", true) == "$-1\r\n");
}

TEST_CASE("a script runs with a keyspace, and an exception of it passes through") {
  Keyspace keyspace(1'700'000'000'123'456us);
  std::string reply;
  const std::string_view keys[] = {"k"};
  lua::Runner script(
      "local t = redis.call('TIME') redis.call('SET', KEYS[1], t[1] .. t[2]) "
      "return {redis.call('GET', KEYS[1]), redis.pcall('LLEN', KEYS[1])}");
  script.run("", keys, {}, keyspace, reply);
  CHECK(
      reply ==
      "*2\r\n$16\r\n1700000000123456\r\n-WRONGTYPE Operation against a key holding the wrong kind "
      "of value\r\n");
  lua::Runner refused("return redis.pcall('SCAN', 0)");
  CHECK_THROWS_WITH_AS(refused.run("", {}, {}, keyspace, reply), "SCAN is not implemented here",
                       NotImplementedHere);
}

TEST_CASE("edges of numbers") {
  check({{"SET k 9223372036854775807", "+OK"},
         {"INCR k", "-ERR increment or decrement would overflow"},
         {"SET k -9223372036854775808", "+OK"},
         {"DECR k", "-ERR increment or decrement would overflow"},
         {"DECRBY k -9223372036854775808", "-ERR decrement would overflow"},
         {"SET k 007", "+OK"},
         {"INCR k", "-ERR value is not an integer or out of range"},
         {"SET k 3.0e3", "+OK"},
         {"INCRBYFLOAT k 200", "$4\r\n3200"},
         {"INCRBYFLOAT k 0.1", "$22\r\n3200.10000000000000009"},
         {"ZADD z 0.1 a 1e17 b -inf c 3 d", ":4"},
         {"ZSCORE z a", "$19\r\n0.10000000000000001"},
         {"ZSCORE z b", "$5\r\n1e+17"},
         {"ZSCORE z c", "$4\r\n-inf"},
         {"ZSCORE z d", "$1\r\n3"},
         {"ZINCRBY z inf c", "-ERR resulting score is not a number (NaN)"},
         {"BITFIELD b OVERFLOW SAT INCRBY u2 0 5 OVERFLOW FAIL INCRBY u2 0 1 GET u2 0",
          "*3\r\n:3\r\n$-1\r\n:3"},
         {"BITFIELD b SET i8 0 200 GET i8 0 GET u8 0", "*3\r\n:-64\r\n:-56\r\n:200"}});
}

TEST_CASE("edges of expiry") {
  check({{"SET k v EX 10 NX GET", "$-1"},
         {"TTL k", ":10"},
         {"SET k w KEEPTTL GET", "$1\r\nv"},
         {"PTTL k", ":10000"},
         {"PEXPIRE k 9999 GT", ":0"},
         {"PEXPIRE k 9999 LT", ":1"},
         {"EXPIRETIME k", ":1700000010"},
         {"PEXPIRETIME k", ":1700000009999"},
         {"PERSIST k", ":1"},
         {"EXPIRE k 1 GT", ":0"},
         {"EXPIRE k 1 LT", ":1"},
         {"EXPIRE k 1 NX", ":0"},
         {"EXPIRE k 9223372036854775807", "-ERR invalid expire time in 'expire' command"},
         {"GETEX k PERSIST", "$1\r\nw"},
         {"EXPIREAT k 1700000000", ":1"},
         {"EXISTS k", ":0"},
         {"RPUSH l a", ":1"},
         {"EXPIRE l 5", ":1"},
         {"RPOPLPUSH l l", "$1\r\na"},
         {"TTL l", ":5"},
         {"RENAME l m", "+OK"},
         {"TTL m", ":5"},
         {"LPOP m", "$1\r\na"},
         {"TYPE m", "+none"}});
}

TEST_CASE("edges of sorted sets") {
  check({{"ZADD z XX 1 a", ":0"},
         {"EXISTS z", ":0"},
         {"ZADD z 1 a 2 b 2 a", ":2"},
         {"ZADD z CH 2 a 3 b 4 c", ":2"},
         {"ZADD z GT CH 1 a 5 b", ":1"},
         {"ZADD z NX INCR 1 a", "$-1"},
         {"ZRANGE z (4 +inf BYSCORE", "*1\r\n$1\r\nb"},
         {"ZRANGE z +inf -inf BYSCORE REV LIMIT 1 1 WITHSCORES", "*2\r\n$1\r\nc\r\n$1\r\n4"},
         {"ZRANGE z 0 0 REV", "*1\r\n$1\r\nb"},
         {"ZRANGE z 0 1 LIMIT 0 1",
          "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"},
         {"ZREMRANGEBYSCORE z -inf +inf", ":3"},
         {"TYPE z", "+none"}});
}

}  // namespace keyspace_test
