#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limit.h"

namespace limiter_redis_keys_test {

using rlctl::UsageError;

using namespace std::chrono_literals;
using namespace rlctl::limiter;

namespace {

const std::vector<Limit> kTwo{{1, 1s, {}}, {5, 60s, {}}};

using Keys = std::vector<std::string>;

/// CRC16-CCITT (XMODEM), bit by bit, as in the Redis Cluster specification.
std::uint32_t crc16(std::string_view bytes) {
  std::uint32_t crc = 0;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    }
    crc &= 0xffffU;
  }
  return crc;
}

/// As the specification says: hash what is between the first { and the first } to its right, if
/// there is anything between them.
std::uint32_t cluster_slot(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return crc16(key) % 16384;
  const auto close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return crc16(key) % 16384;
  return crc16(key.substr(open + 1, close - open - 1)) % 16384;
}

}  // namespace

TEST_CASE("this test computes the same slots as Redis Cluster") {
  CHECK(crc16("123456789") == 0x31c3);
  CHECK(cluster_slot("foo") == 12182);
  CHECK(cluster_slot("{foo}bar") == 12182);
}

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
    CHECK(cluster_slot(keys[0]) == cluster_slot(keys[1]));
  }
}

TEST_CASE("the keys made from a tagged key are in that key's slot") {
  for (const auto* key : {"{a}", "a{b}c", "{{a}}", "a}{b}"}) {
    CAPTURE(key);
    CHECK(cluster_slot(redis_keys(key, kTwo)[0]) == cluster_slot(key));
  }
}

TEST_CASE("a key that cannot get a hash tag can have only one limit") {
  CHECK_THROWS_WITH_AS((void)redis_keys("}x", kTwo),
                       "key '}x' cannot carry several limits, since no hash tag can be made of it; "
                       "write a tag into it, such as '{tag}}x'",
                       UsageError);
  CHECK_THROWS_AS((void)redis_keys("", kTwo), UsageError);
  CHECK_THROWS_AS((void)redis_keys("}{}", kTwo), UsageError);
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

}  // namespace limiter_redis_keys_test
