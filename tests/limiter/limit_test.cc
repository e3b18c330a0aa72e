#include "limiter/limit.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "redis/cluster.h"
#include "support/refusal.h"

namespace limiter_limit_test {

using namespace rlctl;

using namespace std::chrono_literals;
using namespace rlctl::limiter;

namespace {

std::string error_of_limit(std::string_view text) {
  return rlctl::test::refusal_of([&] { return parse_limit(text); });
}

std::string error_of_duration(std::string_view text) {
  return rlctl::test::refusal_of([&] { return parse_duration(text); });
}

}  // namespace

TEST_CASE("a limit is a count over a duration") {
  CHECK(parse_limit("5/60s") == Limit{5, 60s, {}});
  CHECK(parse_limit("1000/1h30m") == Limit{1000, 90min, {}});
  CHECK(parse_limit("7/250ms") == Limit{7, 250ms, {}});
  CHECK(parse_limit("3/1500us") == Limit{3, 1500us, {}});
  CHECK(parse_limit("3/7d") == Limit{3, 7 * 24h, {}});
  CHECK(parse_limit("1/1d2h3m4s5ms6us") == Limit{1, 26h + 3min + 4s + 5ms + 6us, {}});
}

TEST_CASE("a unit without a number means one, and has a second spelling and a full name") {
  CHECK(parse_limit("10/s") == Limit{10, 1s, {}});
  CHECK(parse_limit("100/min") == Limit{100, 1min, {}});
  CHECK(parse_limit("100/m") == Limit{100, 1min, {}});
  CHECK(parse_limit("100/hour") == Limit{100, 1h, {}});
  CHECK(parse_limit("100/60seconds") == Limit{100, 1min, {}});
  CHECK(parse_limit("100/2hrs30mins") == Limit{100, 150min, {}});
  CHECK(parse_limit("1/day") == Limit{1, 24h, {}});
  CHECK(parse_limit("1/ms") == Limit{1, 1ms, {}});
  CHECK(parse_limit("1/us", 1us) == Limit{1, 1us, {}});
  CHECK(parse_duration("2sec") == 2s);
  CHECK(parse_duration("2second") == 2s);
  CHECK(parse_duration("2min") == 2min);
  CHECK(parse_duration("1hour5minute") == 65min);
  CHECK(parse_duration("3day") == 72h);
}

TEST_CASE("k means a thousand and M a million") {
  CHECK(parse_limit("1M/30d") == Limit{1'000'000, 30 * 24h, {}});
  CHECK(parse_limit("2k/s") == Limit{2'000, 1s, {}});
  CHECK(parse_limit("1000M/s") == Limit{1'000'000'000, 1s, {}});
  CHECK(error_of_limit("1001M/s") == "'1001M/s' has limit 1001M; it must be from 1 to 1000000000");
  CHECK(error_of_limit("1G/s") ==
        "'1G/s' has limit '1G'; use decimal digits, then optionally k or M: 5/60s, 1M/30d");
  CHECK(error_of_limit("1m/s") != "accepted");
  CHECK(error_of_limit("k/s") != "accepted");
}

TEST_CASE("digits are decimal, even after leading zeros") {
  CHECK(parse_limit("07/010s") == Limit{7, 10s, {}});
  CHECK(parse_limit("0000000000000000000000005/60s") == Limit{5, 60s, {}});
  for (const auto* text : {"0x10/60s", "1e3/60s", "-5/60s", "+5/60s", " 5/60s", "5 /60s", "5.0/60s",
                           "5,000/60s", "5_000/60s", "\xd9\xa5/60s", "5/0x10s", "5/+60s", "5/-60s",
                           "5/6e1s", "5/60 s", "5/ 60s", "5/60s ", "5/0.5s", "5/60s\n"}) {
    CAPTURE(text);
    CHECK(error_of_limit(text) != "accepted");
  }
}

TEST_CASE("an error shows what was given and what is accepted") {
  CHECK(error_of_limit("5/1.5h") == "'5/1.5h' has a fraction; use whole numbers: 1h30m, 500ms");
  CHECK(error_of_limit("5/q") == "'5/q' has an unknown unit; use us, ms, s, m, h or d");
  CHECK(error_of_limit("5/60") == "'5/60' has no unit after 60; use us, ms, s, m, h or d");
  CHECK(error_of_limit("5/1h30") == "'5/1h30' has no unit after 30; use us, ms, s, m, h or d");
  CHECK(error_of_limit("") == "'' is not a limit; write LIMIT/WINDOW, such as 5/60s or 100/min");
  CHECK(error_of_limit("/60s") ==
        "'/60s' has limit ''; use decimal digits, then optionally k or M: 5/60s, 1M/30d");
  CHECK(error_of_limit("5/60s/60s") == "'5/60s/60s' has an unknown unit; use us, ms, s, m, h or d");
  CHECK(error_of_limit("5/1m1h") ==
        "'5/1m1h' has its units out of order; largest first, each once");
  CHECK(error_of_limit("5/1m1m") ==
        "'5/1m1m' has its units out of order; largest first, each once");
}

TEST_CASE("limit and window must be within the contract's ranges") {
  CHECK(parse_limit("1000000000/s").limit == 1'000'000'000);
  CHECK(error_of_limit("1000000001/s") ==
        "'1000000001/s' has limit 1000000001; it must be from 1 to 1000000000");
  CHECK(error_of_limit("99999999999999999999999/s") ==
        "'99999999999999999999999/s' has limit 99999999999999999999999; "
        "it must be from 1 to 1000000000");
  CHECK(parse_limit("1/100000000s").window == microseconds{100'000'000'000'000});
  CHECK(parse_limit("1/100000000000000us").window == microseconds{100'000'000'000'000});
  CHECK(error_of_limit("1/100000000000001us") ==
        "'1/100000000000001us' is too long; it must be at most 100000000s");
  CHECK(error_of_limit("1/100000000s1us") ==
        "'1/100000000s1us' is too long; it must be at most 100000000s");
  CHECK(error_of_limit("1/99999999999999999999d") ==
        "'1/99999999999999999999d' is too long; it must be at most 100000000s");
  CHECK(parse_limit("1/1000us").window == 1ms);
  CHECK(error_of_limit("1/999us") ==
        "'1/999us' has window 999us; the scripts take windows from 1ms to 100000000s");
  CHECK(error_of_limit("1/0s") ==
        "'1/0s' has window 0s; the scripts take windows from 1ms to 100000000s");
}

TEST_CASE("a duration may be zero, but a limit's window may not") {
  CHECK(parse_duration("0s") == 0us);
  CHECK(error_of_duration("") == "'' has no duration; write it like 60s or 1h30m");
  CHECK(error_of_duration("60") == "'60' has no unit after 60; use us, ms, s, m, h or d");
  CHECK(error_of_duration("min") ==
        "'min' has a duration that begins without a number; write it like 60s or 1h30m");
}

TEST_CASE("a duration is written in the largest unit that divides it") {
  CHECK(format_duration(60s) == "60s");  // as in key names
  CHECK(format_duration(1s) == "1s");
  CHECK(format_duration(120s) == "2m");
  CHECK(format_duration(90min) == "90m");
  CHECK(format_duration(61s) == "61s");
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(1500us) == "1500us");
  CHECK(format_duration(24h) == "1d");
  CHECK(format_duration(25h) == "25h");
  CHECK(format_duration(0us) == "0s");
}

TEST_CASE("a formatted limit parses to the same limit") {
  CHECK(format_limit({5, 60s, {}}) == "5/60s");
  CHECK(format_limit({1000, 90min, {}}) == "1000/90m");
  CHECK(format_limit({1'000'000, 30 * 24h, {}}) == "1M/30d");
  CHECK(format_limit({1'000'000'000, 1ms, {}}) == "1000M/1ms");
  for (const std::int64_t count : {1, 999, 1000, 1'000'000, 1'500'000, 1'000'000'000}) {
    for (const microseconds window : {microseconds{1ms}, 1'001us, microseconds{60s},
                                      microseconds{1h + 1us}, microseconds{100'000'000s}}) {
      const Limit limit{count, window, {}};
      CHECK(parse_limit(format_limit(limit)) == limit);
    }
  }
}

TEST_CASE("a whole number consists of decimal digits with an optional minus sign") {
  CHECK(parse_whole("0", "cost") == 0);
  CHECK(parse_whole("-3", "cost") == -3);
  CHECK(parse_whole("007", "cost") == 7);
  CHECK(parse_whole("9007199254740993", "cost") == 9'007'199'254'740'993);
  CHECK_THROWS_WITH_AS((void)parse_whole("1e3", "--cost"),
                       "--cost must be a whole number in decimal digits, not '1e3'", UsageError);
  CHECK_THROWS_WITH_AS((void)parse_whole("99999999999999999999", "--cost"),
                       "--cost is out of range: '99999999999999999999'", UsageError);
  for (const auto* text : {"", "-", "+1", "0x10", "1.0", " 1", "1 ", "--1", "1-"}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)parse_whole(text, "cost"), UsageError);
  }
}

namespace {

const std::vector<Limit> kTwo{{1, 1s, {}}, {5, 60s, {}}};

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("a single limit is stored under the key itself") {
  CHECK(redis_keys("login:alice", std::vector<Limit>{{5, 60s, {}}}) == Keys{"login:alice"});
  CHECK(redis_keys("{}", std::vector<Limit>{{5, 60s, {}}}) == Keys{"{}"});
  CHECK(redis_keys("", std::vector<Limit>{{5, 60s, {}}}) == Keys{""});
  CHECK(redis_keys("}", std::vector<Limit>{{5, 60s, {}}}) == Keys{"}"});
}

TEST_CASE("several limits have one key per window, all under one hash tag") {
  CHECK(redis_keys("login:alice", kTwo) == Keys{"{login:alice}:1s", "{login:alice}:60s"});
}

TEST_CASE("a key that has a hash tag keeps it") {
  CHECK(redis_keys("login:{alice}", kTwo) == Keys{"login:{alice}:1s", "login:{alice}:60s"});
  CHECK(redis_keys("{a}{b}", kTwo) == Keys{"{a}{b}:1s", "{a}{b}:60s"});
  CHECK(redis_keys("{{a}", kTwo) == Keys{"{{a}:1s", "{{a}:60s"});
}

TEST_CASE("the suffix is in whole seconds, else milliseconds, else microseconds") {
  const std::vector<Limit> limits{{1, 1min, {}}, {1, 24h, {}}, {1, 1500ms, {}}, {1, 1500us, {}}};
  CHECK(redis_keys("k", limits) == Keys{"{k}:60s", "{k}:86400s", "{k}:1500ms", "{k}:1500us"});
}

TEST_CASE("giving the same window twice is an error") {
  const std::vector<Limit> twice{{1, 60s, {}}, {5, 1s, {}}, {9, 1min, {}}};
  CHECK_THROWS_WITH_AS((void)redis_keys("k", twice),
                       "two limits have the same window, 60s; give each its own", UsageError);
}

TEST_CASE("all keys made from one key share a slot, wherever it has braces") {
  for (const auto* key :
       {"a",  "a}b", "a{",  "a{b", "a{}",   "a{}b",  "{}",    "{}a", "{}{a}", "{{}}", "{{",
        "{a", "{a}", "a}}", "a}{", "a}{b}", "a{b}c", "{{a}}", " ",   "a b\n", "{ }"}) {
    CAPTURE(key);
    const auto keys = redis_keys(key, kTwo);
    REQUIRE(keys.size() == 2);
    CHECK(keys[0] != keys[1]);
    CHECK(rlctl::redis::slot_of(keys[0]) == rlctl::redis::slot_of(keys[1]));
  }
}

TEST_CASE("the keys made from a tagged key are in that key's slot") {
  for (const auto* key : {"{a}", "a{b}c", "{{a}}", "a}{b}"}) {
    CAPTURE(key);
    CHECK(rlctl::redis::slot_of(redis_keys(key, kTwo)[0]) == rlctl::redis::slot_of(key));
  }
}

TEST_CASE("a key that cannot get a hash tag can have only one limit") {
  for (const auto* key : {"}x", "", "}{}"})
    CHECK_THROWS_AS((void)redis_keys(key, kTwo), UsageError);
  CHECK(redis_keys("}{a}", kTwo) == Keys{"}{a}:1s", "}{a}:60s"});
}

TEST_CASE("base_keys() is the inverse of redis_keys()") {
  const std::vector<Limit> limits{{1, 1s, {}}, {1, 90s, {}}, {1, 1500us, {}}};
  for (const std::string_view key :
       {"k", "a}b", "a{", "{a}", "x{a}", "{{a}", "a b", "{}{a}", "{a}{b}", "%"}) {
    const auto keys = redis_keys(key, limits);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      const auto bases = base_keys(keys[i], limits[i]);
      CAPTURE(keys[i]);
      CHECK(std::find(bases.begin(), bases.end(), key) != bases.end());
      for (const auto base : bases) CHECK(redis_keys(base, limits)[i] == keys[i]);
      CHECK(base_keys(keys[i], limits[(i + 1) % 3]).empty());
    }
  }
  CHECK(base_keys("k:1s", limits[0]).empty());
  CHECK(base_keys("{{a}}:1s", limits[0]) == std::vector<std::string_view>{"{{a}}"});
  CHECK(base_keys(":1s", limits[0]).empty());
  CHECK(base_keys("{}:1s", limits[0]).empty());
}

}  // namespace limiter_limit_test
