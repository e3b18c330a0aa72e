// needs: server
#include "stored/forms.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "stored/libraries.h"
#include "support/failure.h"
#include "support/limiters.h"
#include "support/scripted_server.h"

namespace stored_contents_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::stored;
using rlctl::redis::Connection;
using namespace support;
using test::TestServer;

namespace {

/// A reply to TIME.
const std::string kTime = "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n";

std::int64_t memory(TestServer& server, std::string_view field) {
  const std::string info(server.call({"INFO", "memory"}).text());
  const auto at = info.find(std::string(field) + ":");
  REQUIRE(at != std::string::npos);
  return std::stoll(info.substr(at + field.size() + 1));
}

}  // namespace

TEST_CASE("the contents of many keys are returned in order, whatever their types") {
  TestServer server;
  std::vector<std::string> keys;
  std::vector<KeySample> expected;
  for (int i = 0; i < 300; ++i) {
    const auto key = std::to_string(i);
    keys.push_back(key);
    switch (i % 5) {
      case 0:
        (void)server.call({"SET", key, "text of " + key});
        expected.push_back({.type = "string", .text = "text of " + key});
        break;
      case 1:
        (void)server.call({"RPUSH", key, key, "", "last"});
        expected.push_back({.type = "list", .first = {key}, .last = {"last"}});
        break;
      case 2:
        (void)server.call({"ZADD", key, "1", key, "2", "b"});
        expected.push_back({.type = "zset", .first = {key, "1"}, .last = {"b", "2"}});
        break;
      case 3:
        (void)server.call({"SET", key, ""});
        expected.push_back({.type = "string"});
        break;
      default:
        expected.push_back({.type = "none"});
    }
  }
  CHECK(read_contents(server.connection(), keys, built_in_libraries()) == expected);
  CHECK(server.connection().outstanding() == 0);
}

TEST_CASE(
    "only a few lists and sorted sets with large entries are in a server's memory at a time") {
  TestServer server;
  const std::string large(std::size_t{4} << 20, 'x');
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) {
    keys.push_back(std::to_string(i));
    if (i % 2 == 0) {
      (void)server.call({"RPUSH", keys.back(), large});
    } else {
      (void)server.call({"ZADD", keys.back(), "1", large});
    }
  }
  (void)server.call({"CONFIG", "RESETSTAT"});  // this also resets the peak
  const auto before = memory(server, "used_memory");
  const auto contents = read_contents(server.connection(), keys, built_in_libraries());
  CHECK(memory(server, "used_memory_peak") - before < 40 << 20);
  for (const auto& content : contents) {
    CHECK(content.first.member.size() == large.size());
    CHECK(content.last.member.size() == large.size());
  }
}

TEST_CASE("of large entries and fields, no more than what tells a form is kept if asked so") {
  TestServer server;
  const std::string large(std::size_t{1} << 20, 'x');
  const std::vector<std::string> keys{"list", "zset", "hash"};
  (void)server.call({"RPUSH", "list", large});
  (void)server.call({"ZADD", "zset", "1", large});
  (void)server.call({"HSET", "hash", built_in_libraries().hash_fields("hash").front(), large});
  const auto contents = read_contents(server.connection(), keys, built_in_libraries(), Parts::kCut);
  const auto check_cut = [](const std::string& text) {
    CHECK(text.size() == KeySample::kMaxText);
    CHECK(text.capacity() < 2 * KeySample::kMaxText);
  };
  for (std::size_t i = 0; i < 2; ++i) {
    check_cut(contents.at(i).first.member);
    check_cut(contents.at(i).last.member);
  }
  check_cut(contents.at(2).fields.begin()->second);
  CHECK(contents.at(1).last.score == "1");
  const auto whole = read_contents(server.connection(), keys, built_in_libraries());
  CHECK(whole.at(0).first.member == large);
  CHECK(whole.at(2).fields.begin()->second == large);
}

namespace {

/// What a server is asked for last, and what it answers then.
using Dialogue = std::vector<std::pair<std::string, std::string>>;

/// What is read of these keys of a server that answers like this.
std::vector<KeySample> contents_of(const std::vector<std::string>& keys, const Dialogue& dialogue) {
  ScriptedServer server([&](Peer& peer) {
    for (const auto& [question, answer] : dialogue) {
      (void)peer.read_until(question);
      peer.write(answer);
    }
  });
  auto connection = Connection::open(server.url(), 120s);
  return read_contents(connection, keys, built_in_libraries());
}

const std::string kTypeOfA = "TYPE\r\n$1\r\na\r\n", kTtlOfA = "PTTL\r\n$1\r\na\r\n";

}  // namespace

TEST_CASE("a key that changes its type while it is read is read again") {
  const std::string wrong = "-WRONGTYPE Operation against a key holding the wrong kind\r\n";
  const std::vector<KeySample> expected{{.type = "zset",
                                         .expires = true,
                                         .first = {"m", "1"},
                                         .last = {"n", "2"},
                                         .until = 1'700'000'005s},
                                        {.type = "string", .text = "17"}};
  CHECK(contents_of({"a", "b"},
                    {{"TYPE\r\n$1\r\nb\r\n", "+list\r\n+string\r\n"},
                     {kTtlOfA, kTime + wrong + wrong + ":-1\r\n"},
                     {"PTTL\r\n$1\r\nb\r\n", kTime + "$2\r\n17\r\n:-1\r\n"},
                     {kTypeOfA, "+zset\r\n"},
                     {kTtlOfA, kTime + "*2\r\n$1\r\nm\r\n$1\r\n1\r\n*2\r\n$1\r\nn\r\n$1\r\n2\r\n"
                                       ":5000\r\n"}}) == expected);
}

TEST_CASE("a key that disappears while it is read is reported as missing") {
  CHECK(contents_of({"a"}, {{kTypeOfA, "+list\r\n"},
                            {kTtlOfA, kTime + "$-1\r\n$-1\r\n:-2\r\n"},
                            {kTypeOfA, "+none\r\n"}}) == std::vector<KeySample>{{.type = "none"}});
}

TEST_CASE("values that were not asked for, and a time that is none, break the protocol") {
  const std::string cases[][3] = {
      {"+hash\r\n", kTime + ":9\r\n*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n:-1\r\n", "HMGET"},
      {"+hash\r\n", kTime + ":9\r\n*2\r\n:1\r\n:1\r\n:-1\r\n", "HMGET"},
      {"+string\r\n", "*1\r\n$4\r\nnoon\r\n$2\r\n17\r\n:-1\r\n", "TIME"}};
  for (const auto& [type, answer, command] : cases) {
    const Dialogue dialogue{{kTypeOfA, type}, {kTtlOfA, answer}};
    const auto error = error_of([&] { (void)contents_of({"a"}, dialogue); });
    CHECK(error.failure() == redis::Failure::kProtocol);
    if (command == "TIME") CHECK(error.command() == command);
  }
}

}  // namespace stored_contents_test
