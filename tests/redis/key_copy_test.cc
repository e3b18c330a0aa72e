#include "redis/key_copy.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "redis/connection.h"
#include "redis/private_server.h"
#include "support/failure.h"
#include "support/random.h"
#include "support/scripted_server.h"

namespace redis_key_copy_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using namespace rlctl::redis;
using rlctl::test::scaled;
using support::contains;

namespace {

const std::string kBinary("a\0b\r\n\xff c", 8);

/// The value as a reader sees it: nested, with its bytes unchanged.
std::string text_of(ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kInteger:
      return std::to_string(reply.integer());
    case ReplyType::kNil:
      return "nil";
    case ReplyType::kArray: {
      std::string out = "[";
      for (std::size_t i = 0; i < reply.size(); ++i) out += text_of(reply[i]) + ",";
      return out + "]";
    }
    default:
      return std::string(reply.text());
  }
}

std::string ask(Connection& connection, std::vector<std::string_view> command) {
  return text_of(connection.call(command));
}

/// Two servers and a connection to each.
struct Pair {
  PrivateServer source, target;
  Connection from = Connection::open(source.url(), 120s);
  Connection to = Connection::open(target.url(), 120s);
};

const std::vector<std::string> kKeys{"text", "list",  "set",  "hash",
                                     "zset", "empty", "gone", kBinary};

void fill(Connection& from) {
  for (const auto& command : std::vector<std::vector<std::string_view>>{
           {"SET", "text", "1767225660000000"},
           {"PEXPIRE", "text", "60000"},
           {"RPUSH", "list", "3", "1", "2", kBinary},
           {"SADD", "set", "x", "y", kBinary},
           {"HSET", "hash", "tokens", "0.30000000000000004", kBinary, "at"},
           {"PEXPIRE", "hash", "3600000"},
           {"ZADD", "zset", "1767225660000001", "m", "-inf", "low", "0.5", kBinary},
           {"SET", "empty", ""},
           {"SET", kBinary, kBinary}}) {
    REQUIRE_FALSE(from.call(command).is_error());
  }
}

void require_same(Connection& from, Connection& to) {
  for (const auto& command :
       std::vector<std::vector<std::string_view>>{{"DBSIZE"},
                                                  {"GET", "text"},
                                                  {"LRANGE", "list", "0", "-1"},
                                                  {"SORT", "set", "ALPHA"},
                                                  {"HGET", "hash", "tokens"},
                                                  {"HGET", "hash", kBinary},
                                                  {"HLEN", "hash"},
                                                  {"ZRANGE", "zset", "0", "-1", "WITHSCORES"},
                                                  {"GET", "empty"},
                                                  {"GET", kBinary},
                                                  {"EXISTS", "gone"}}) {
    CHECK(ask(from, command) == ask(to, command));
  }
  for (const auto& key : kKeys) {
    CAPTURE(key);
    const auto original = from.call({"PTTL", key}).integer();
    const auto copy = to.call({"PTTL", key}).integer();
    CHECK((copy > 0) == (original > 0));
    CHECK(std::abs(copy - original) < 30'000);
  }
}

void require_types(const std::vector<CopiedKey>& copied) {
  CHECK(copied == std::vector<CopiedKey>{{"text", "string"},
                                         {"list", "list"},
                                         {"set", "set"},
                                         {"hash", "hash"},
                                         {"zset", "zset"},
                                         {"empty", "string"},
                                         {"gone", "none"},
                                         {kBinary, "string"}});
}

/// The commands called since CONFIG RESETSTAT, except those that the tests call.
std::string commands_called(Connection& connection) {
  std::string out;
  const auto info = connection.call({"INFO", "commandstats"});
  auto rest = info.text();
  constexpr std::string_view kStart = "cmdstat_";
  for (auto at = rest.find(kStart); at != rest.npos; at = rest.find(kStart)) {
    rest.remove_prefix(at + kStart.size());
    const auto name = rest.substr(0, rest.find(':'));
    if (name != "info" && name != "config|resetstat" && name != "config") {
      out.append(name).append(" ");
    }
  }
  return out;
}

}  // namespace

TEST_CASE("keys of every type are copied with their TTLs, and missing keys stay missing") {
  Pair pair;
  fill(pair.from);
  // Without DUMP they are copied by content.
  for (const auto* rule : {"+dump", "-dump"}) {
    for (const auto* memory : {"0", "1"}) {
      CAPTURE(rule);
      CAPTURE(memory);
      REQUIRE(pair.from.call({"ACL", "SETUSER", "default", rule}).text() == "OK");
      REQUIRE(pair.from.call({"CONFIG", "SET", "maxmemory", memory}).text() == "OK");
      const bool is_full = *memory == '1';
      REQUIRE(pair.from.call({"SET", "empty", ""}).is_error() == is_full);
      REQUIRE(pair.to.call({"FLUSHALL"}).text() == "OK");
      require_types(copy_keys(pair.from, pair.to, kKeys));
      REQUIRE(pair.from.call({"CONFIG", "SET", "maxmemory", "0"}).text() == "OK");
      require_same(pair.from, pair.to);
    }
  }
}

TEST_CASE("the source is only read") {
  Pair pair;
  fill(pair.from);
  const auto before = dump_keys(pair.from, kKeys);
  for (const bool by_type : {false, true}) {
    CAPTURE(by_type);
    if (by_type) {
      REQUIRE(pair.from.call({"ACL", "SETUSER", "default", "-dump"}).text() == "OK");
      REQUIRE(pair.to.call({"FLUSHALL"}).text() == "OK");
    }
    REQUIRE(pair.from.call({"CONFIG", "RESETSTAT"}).text() == "OK");
    (void)copy_keys(pair.from, pair.to, kKeys);
    const auto called = commands_called(pair.from);
    CHECK(contains(called, "multi "));
    for (const auto* writing : {"set ", "del ", "unlink ", "restore ", "pexpire ", "rpush "}) {
      CHECK_FALSE(contains(" " + called, std::string(" ") + writing));
    }
  }
  REQUIRE(pair.from.call({"ACL", "SETUSER", "default", "+dump"}).text() == "OK");
  const auto after = dump_keys(pair.from, kKeys);
  for (std::size_t i = 0; i < kKeys.size(); ++i) CHECK(after[i].payload == before[i].payload);
}

TEST_CASE("a stream is copied with DUMP, and named in the error if DUMP is not allowed") {
  Pair pair;
  REQUIRE_FALSE(pair.from.call({"XADD", "s\n1", "1-1", "f", "v"}).is_error());
  const std::vector<std::string> keys{"s\n1"};
  CHECK(copy_keys(pair.from, pair.to, keys).front().type == "stream");
  CHECK(pair.to.call({"XLEN", "s\n1"}).integer() == 1);
  REQUIRE(pair.from.call({"ACL", "SETUSER", "default", "-dump"}).text() == "OK");
  const auto error = support::error_of([&] { copy_keys(pair.from, pair.to, keys); });
  CHECK(error.failure() == Failure::kUnsupported);
  CHECK(contains(error.what(), "'s\\n1' holds a stream"));
  CHECK(contains(error.hint(), "RLCTL_REDIS_SERVER"));
}

TEST_CASE("the server's error is thrown if the source's user may not read") {
  Pair pair;
  fill(pair.from);
  for (const auto* rule : {"-type", "-watch", "-multi", "-pttl"}) {
    CAPTURE(rule);
    REQUIRE(
        pair.from.call({"ACL", "SETUSER", "default", "reset", "on", "nopass", "~*", "+@all", rule})
            .text() == "OK");
    const auto error = support::error_of([&] { copy_keys(pair.from, pair.to, kKeys); });
    CHECK(error.failure() == Failure::kRefused);
    CHECK(error.code() == "NOPERM");
    REQUIRE_FALSE(pair.from.call({"PING"}).is_error());
  }
  REQUIRE(pair.from.call({"ACL", "SETUSER", "default", "+@all", "resetkeys", "~list"}).text() ==
          "OK");
  CHECK(support::error_of([&] { copy_keys(pair.from, pair.to, kKeys); }).code() == "NOPERM");
  CHECK(pair.to.call({"DBSIZE"}).integer() == 0);
}

TEST_CASE("a replica can be the source of a copy") {
  Pair pair;
  fill(pair.from);
  // A replica that has lost its primary still has the keys.
  REQUIRE(pair.from.call({"CONFIG", "SET", "replica-serve-stale-data", "yes"}).text() == "OK");
  REQUIRE(pair.from.call({"REPLICAOF", "127.0.0.1", "1"}).text() == "OK");
  require_types(copy_keys(pair.from, pair.to, kKeys));
  CHECK(pair.to.call({"GET", "text"}).text() == "1767225660000000");
}

namespace {

void deny_cluster(support::Peer& peer) {
  peer.read_until("SLOTS\r\n");
  peer.write("-ERR This instance has cluster support disabled\r\n");
}

}  // namespace

TEST_CASE("keys that change while they are read are read again") {
  const auto answers = [](std::string_view payload, std::string_view exec) {
    return "+OK\r\n+string\r\n:-1\r\n$1\r\n" + std::string(payload) + "\r\n+OK\r\n" +
           std::string(exec);
  };
  const support::ScriptedServer server([&](support::Peer& peer) {
    deny_cluster(peer);
    for (const auto& text : {answers("1", "*-1\r\n"), answers("2", "*0\r\n")}) {
      peer.read_until("EXEC\r\n");
      peer.write(text);
    }
  });
  auto connection = Connection::open(server.url(), 120s);
  const std::vector<std::string> keys{"k"};
  CHECK(dump_keys(connection, keys).front().payload == "2");
}

TEST_CASE("keys that never stop changing are an error") {
  const support::ScriptedServer server([&](support::Peer& peer) {
    deny_cluster(peer);
    while (peer.read_until("EXEC\r\n").ends_with("EXEC\r\n")) {
      peer.write("+OK\r\n+string\r\n:-1\r\n$1\r\n1\r\n+OK\r\n*-1\r\n");
    }
  });
  auto connection = Connection::open(server.url(), 120s);
  const std::vector<std::string> keys{"k"};
  const auto error = support::error_of([&] { (void)dump_keys(connection, keys); });
  CHECK(error.failure() == Failure::kNotNow);
  CHECK(contains(error.what(), "the keys change while they are read"));
}

TEST_CASE("large keys are copied, both with DUMP and by content") {
  Pair pair;
  const auto size = static_cast<std::size_t>(scaled(20'000'000, 100'000'000));
  constexpr std::int64_t kElements = 200'000;
  REQUIRE(pair.from.call({"SET", "large", std::string(size, 'x')}).text() == "OK");
  REQUIRE_FALSE(pair.from
                    .call({"EVAL",
                           "for i = 1, 200 do local t = {} for j = 1, 1000 do "
                           "t[j] = 'e' .. (i * 1000 + j) end "
                           "redis.call('RPUSH', KEYS[1], unpack(t)) end",
                           "1", "long"})
                    .is_error());
  const std::vector<std::string> keys{"large", "long"};
  for (const auto* rule : {"+dump", "-dump"}) {
    CAPTURE(rule);
    REQUIRE(pair.from.call({"ACL", "SETUSER", "default", rule}).text() == "OK");
    REQUIRE(pair.to.call({"FLUSHALL"}).text() == "OK");
    (void)copy_keys(pair.from, pair.to, keys);
    CHECK(pair.to.call({"STRLEN", "large"}).integer() == static_cast<std::int64_t>(size));
    CHECK(pair.to.call({"LLEN", "long"}).integer() == kElements);
    CHECK(ask(pair.to, {"LINDEX", "long", "123456"}) ==
          ask(pair.from, {"LINDEX", "long", "123456"}));
  }
}

TEST_CASE("copying an empty list of keys does nothing") {
  Pair pair;
  CHECK(copy_keys(pair.from, pair.to, {}).empty());
  CHECK(dump_keys(pair.from, {}).empty());
}

TEST_CASE("keys are copied between servers of all versions") {
  const char* build = std::getenv("RLCTL_BUILD");
  if (std::getenv("RLCTL_TEST_SERVERS") == nullptr || build == nullptr) return;
  if (std::getenv("RLCTL_REDIS_SERVER") != nullptr) return;  // once is enough
  std::vector<PrivateServer> servers;
  for (const auto& entry : fs::directory_iterator(fs::path(build) / "servers")) {
    const support::ScopedVariable chosen("RLCTL_REDIS_SERVER", entry.path().string());
    servers.emplace_back();
  }
  CHECK(servers.size() > 1);
  for (const auto& source : servers) {
    auto from = Connection::open(source.url(), 120s);
    REQUIRE(from.call({"FLUSHALL"}).text() == "OK");
    fill(from);
    for (const auto& target : servers) {
      if (&source == &target) continue;
      auto to = Connection::open(target.url(), 120s);
      REQUIRE(to.call({"FLUSHALL"}).text() == "OK");
      require_types(copy_keys(from, to, kKeys));
      require_same(from, to);
    }
  }
}

}  // namespace redis_key_copy_test
