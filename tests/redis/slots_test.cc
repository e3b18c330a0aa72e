#include "redis/cluster.h"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "redis/error.h"
#include "support/failure.h"

namespace rlctl::redis::slots_test {

using namespace support;
using Words = std::vector<std::string_view>;

namespace {

Words keys(const Words& command) {
  const auto found = keys_of(command);
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("the slot of a key is what the servers compute") {
  // Each slot of any key is the specification's, by the fuzz target cluster_slots.
  CHECK(slot_of("123456789") == 0x31c3);  // the check value of CRC16/XMODEM
  CHECK(slot_of("foo") == 12182);
  CHECK(slot_of("\xff") == 7920);
}

TEST_CASE("only a hash tag counts, if there is one") {
  CHECK(slot_of("{user}:a") == slot_of("user"));
  CHECK(slot_of("before{user}after") == slot_of("user"));
  CHECK(slot_of("{user}{other}") == slot_of("user"));
  CHECK(slot_of("{{bar}}") == slot_of("{bar"));
  // An empty one does not, nor the one after it.
  CHECK(slot_of("foo{}{bar}") == 8363);
  CHECK(slot_of("{user") != slot_of("user"));
  CHECK(slot_of("user}") != slot_of("user"));
}

TEST_CASE("the keys of each form of command") {
  CHECK(keys({"GET", "k"}) == Words{"k"});
  CHECK(keys({"SET", "k", "v", "PX", "5"}) == Words{"k"});
  CHECK(keys({"UNLINK", "a", "b"}) == Words{"a", "b"});
  CHECK(keys({"WATCH", "a", "b"}) == Words{"a", "b"});
  CHECK(keys({"OBJECT", "ENCODING", "k"}) == Words{"k"});
  CHECK(keys({"MEMORY", "USAGE", "k"}) == Words{"k"});
  CHECK(keys({"MEMORY", "DOCTOR"}).empty());
  CHECK(keys({"EVALSHA", "sha", "2", "a", "b", "c"}) == Words{"a", "b"});
  CHECK(keys({"EVAL", "return 1", "0", "c"}).empty());
  CHECK(keys({"EVAL_RO", "return 1", "1", "a"}) == Words{"a"});
  for (const auto& command : {Words{"PING"}, Words{"SCRIPT", "LOAD", "s"}, Words{"MULTI"},
                              Words{"EXEC"}, Words{"SCAN", "0"}, Words{"CONFIG", "GET", "a"}}) {
    CHECK(keys(command).empty());
  }
  CHECK(keys({"GET"}).empty());
}

TEST_CASE("EVALSHA without a usable number of keys is refused") {
  for (const auto& command :
       {Words{"EVALSHA"}, Words{"EVALSHA", "sha"}, Words{"EVALSHA", "sha", ""},
        Words{"EVALSHA", "sha", "1"}, Words{"EVALSHA", "sha", "-1", "k"},
        Words{"EVALSHA", "sha", "1x", "k"}, Words{"EVALSHA", "sha", "18446744073709551615", "k"}}) {
    CHECK(error_of([&] { (void)keys_of(command); }).failure() == Failure::kUsage);
  }
}

TEST_CASE("keys in different slots are refused by name") {
  CHECK(common_slot({}) == -1);
  CHECK(common_slot(Words{"{a}1", "{a}2"}) == slot_of("a"));
  const auto error = error_of([] { (void)common_slot(Words{"{a}1", "{a}2", "b"}); });
  CHECK(error.failure() == Failure::kUsage);
  CHECK(contains(message_of(error), "'{a}1' and 'b' are in different slots"));
  CHECK(contains(error.hint(), "{user}:a"));
}

}  // namespace rlctl::redis::slots_test
