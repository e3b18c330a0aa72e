#include "lint/calls.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/shell.h"

namespace rlctl::lint {
namespace {

using namespace std::chrono_literals;

Call call(const std::string& words) {
  return {.line = 1, .words = shell_words(words)};
}

}  // namespace

TEST_CASE("the TTL that a command sets is found wherever it stands") {
  struct Row {
    std::string words, name;
    double value;
    std::chrono::microseconds unit;
    bool is_absolute;
  };
  for (const Row& row :
       {Row{"EXPIRE k 60", "EXPIRE", 60, 1s, false},
        Row{"pexpire k 60000 NX", "PEXPIRE", 60000, 1ms, false},
        Row{"EXPIREAT k 1767225600", "EXPIREAT", 1767225600, 1s, true},
        Row{"PSETEX k 250 v", "PSETEX", 250, 1ms, false}, Row{"SETEX k 2 v", "SETEX", 2, 1s, false},
        Row{"SET k v NX PX 90", "SET ... PX", 90, 1ms, false},
        Row{"SET k v ex 9", "SET ... EX", 9, 1s, false},
        Row{"SET k v PXAT 1767225600000", "SET ... PXAT", 1767225600000, 1ms, true},
        Row{"GETEX k EX 7", "GETEX ... EX", 7, 1s, false}}) {
    CAPTURE(row.words);
    const auto ttl = ttl_set_by(call(row.words));
    REQUIRE(ttl);
    CHECK(ttl->name == row.name);
    CHECK(ttl->value == row.value);
    CHECK(ttl->unit == row.unit);
    CHECK(ttl->is_absolute == row.is_absolute);
  }
}

TEST_CASE("commands without a TTL, and a value that looks like an option, set none") {
  for (const auto* words : {"SET k v", "SET k px 5", "SET k v KEEPTTL", "INCR k", "EXPIRE k",
                            "PERSIST k", "EXPIRE k soon", "GET k", "GETEX k PERSIST"}) {
    CAPTURE(words);
    CHECK_FALSE(ttl_set_by(call(words)));
  }
  auto refused = call("EXPIRE k 60 NX");
  refused.reply = "0";
  CHECK_FALSE(ttl_set_by(refused));
}

TEST_CASE("scores, bounds and members are told apart") {
  CHECK(scores_of(call("ZADD k NX CH 5 a 6.5 b")) == std::vector<double>{5, 6.5});
  CHECK(members_of(call("ZADD k NX CH 5 a 6.5 b")) == std::vector<std::string>{"a", "b"});
  CHECK(members_of(call("SADD k a b")) == std::vector<std::string>{"a", "b"});
  CHECK(members_of(call("HSET k f 1 g 2")) == std::vector<std::string>{"f", "g"});
  CHECK(members_of(call("SET k v")).empty());
  CHECK(score_bounds_of(call("ZREMRANGEBYSCORE k -inf (17")) == std::vector<double>{17});
  CHECK(score_bounds_of(call("ZCOUNT k 3 +inf")) == std::vector<double>{3});
  CHECK(score_bounds_of(call("ZREMRANGEBYRANK k 0 3")).empty());
}

TEST_CASE("a number is all of a text") {
  CHECK(number_in("12.5") == 12.5);
  CHECK(number_in("1.7e+15") == 1.7e15);
  for (const auto* text : {"", "12a", "inf", "nan", "a"}) CHECK_FALSE(number_in(text));
}

TEST_CASE("an integer that a reply cannot be is none") {
  Call counted = call("ZCARD k");
  for (const auto* reply : {"1e300", "-1e300", "9.3e18", "\"5\"", "NULL"}) {
    counted.reply = reply;
    CHECK_FALSE(integer_reply(counted));
  }
  counted.reply = "-5";
  CHECK(integer_reply(counted) == -5);
}

}  // namespace rlctl::lint
