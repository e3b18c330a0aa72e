// needs: server
#include "stored/backup.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "redis/connection.h"
#include "redis/server.h"
#include "stored/reset.h"
#include "support/failure.h"
#include "support/fake_cluster.h"
#include "support/limiters.h"
#include "support/random.h"
#include "support/scripted_server.h"
#include "support/temp_folder.h"

// Saving keys before they are removed, while other clients write (save_restore.t tests the
// rest), and copying keys to another server.

namespace stored_backup_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::stored;
using rlctl::redis::Connection;

namespace {

/// A server, the connection that resets keys, another client, and a file.
class Place {
 public:
  Connection& connection() { return connection_; }
  redis::Reply call(const std::vector<std::string_view>& words) {
    auto reply = other_.call(words);
    REQUIRE_FALSE(reply.is_error());
    return reply;
  }

  /// Resets the keys with force; calls `meanwhile` each time that keys have been saved, with the
  /// number of times so far. Returns the number of removed keys.
  int reset(const std::vector<std::string>& keys, const std::function<void(int)>& meanwhile,
            std::size_t longest_dump = kLongestDump) {
    int removed = 0, times = 0;
    SaveFile file(path());
    file.begin(std::nullopt);
    Resetter resetter(connection_,
                      {.force = true,
                       .tries = 5,
                       .on_looked = [&](std::size_t) { meanwhile(++times); },
                       .save_to = &file,
                       .longest_dump = longest_dump},
                      [&](const ResetOutcome& outcome) {
                        if (outcome.result == ResetResult::kRemoved) ++removed;
                      });
    resetter.reset(keys);
    return removed;
  }

  /// The results for each key; several keys with one name would be several letters.
  std::map<std::string, std::string> restore() {
    std::map<std::string, std::string> results;
    SaveFileReader reader(path());
    const auto report = [&](const SavedKey& key, RestoreResult result) {
      results[key.key] += "rwixef"[static_cast<int>(result)];
    };
    while (const auto key = reader.next()) restore_keys(connection_, {&*key, 1}, {}, report);
    CHECK_FALSE(reader.is_cut());
    return results;
  }

  std::string path() const { return folder_.path() / "saved"; }
  bool has_file() const { return std::filesystem::exists(path()); }

 private:
  redis::PrivateServer server_;
  Connection connection_ = Connection::open(server_.url(), 120s);
  Connection other_ = Connection::open(server_.url(), 120s);
  support::TempFolder folder_;
};

using Results = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("a key that changes after it was saved is saved anew before it is removed, or stays") {
  using Commands = std::vector<std::vector<std::string_view>>;
  struct Case {
    std::vector<std::string_view> create;
    Commands meanwhile;
    int removed;
    Results restored;
    std::vector<std::string_view> question = {};
    const char* answer = "";
  };
  const Case cases[] = {// The ends of the list do not show it.
                        {{"RPUSH", "k", "1", "2", "3"},
                         {{"LSET", "k", "1", "5"}},
                         2,
                         {{"k", "r"}, {"other", "r"}},
                         {"LINDEX", "k", "1"},
                         "5"},
                        {{"SET", "k", "old"}, {{"DEL", "k"}}, 1, {{"k", "r"}, {"other", "r"}}},
                        {{"SET", "k", "old"},
                         {{"DEL", "k"}, {"SADD", "k", "new"}},
                         2,
                         {{"k", "r"}, {"other", "r"}},
                         {"SRANDMEMBER", "k"},
                         "new"}};
  for (const auto& each : cases) {
    Place place;
    (void)place.call(each.create);
    (void)place.call({"SET", "other", "x"});
    const int removed = place.reset({"k", "other"}, [&](int time) {
      if (time > 1) return;
      for (const auto& command : each.meanwhile) (void)place.call(command);
    });
    CHECK(removed == each.removed);
    CHECK(place.restore() == each.restored);
    if (!each.question.empty()) CHECK(place.call(each.question).text() == each.answer);
  }
}

TEST_CASE("a TTL that changes after the key was saved is the one that comes back") {
  Place place;
  for (const std::string key : {"sooner", "later", "never", "now"}) {
    (void)place.call({"SET", key, "x", "PX", "600000"});
  }
  CHECK(place.reset({"sooner", "later", "never", "now"}, [&](int time) {
    if (time > 1) return;
    (void)place.call({"PEXPIRE", "sooner", "300000"});
    (void)place.call({"PEXPIRE", "later", "900000"});
    (void)place.call({"PERSIST", "never"});
    (void)place.call({"DEL", "now"});
  }) == 3);
  CHECK(place.restore() == Results{{"sooner", "r"}, {"later", "r"}, {"never", "r"}, {"now", "r"}});
  CHECK(place.call({"PTTL", "sooner"}).integer() <= 300000);
  CHECK(place.call({"PTTL", "later"}).integer() > 600000);
  CHECK(place.call({"PTTL", "never"}).integer() == -1);
}

TEST_CASE("a key that always changes stays, and there is no file of it") {
  Place place;
  (void)place.call({"HSET", "k", "f", "0"});
  CHECK(place.reset({"k"}, [&](int time) {
    (void)place.call({"HSET", "k", "f", std::to_string(time)});
  }) == 0);
  CHECK(place.call({"HGET", "k", "f"}).text() == "5");
  CHECK_FALSE(place.has_file());
}

TEST_CASE("what was saved before an error, and not removed, is still there") {
  std::vector<std::string> keys;  // more than are saved at a time
  for (int i = 0; i < 400; ++i) keys.push_back(std::to_string(i));
  Place place;
  for (const auto& key : keys) (void)place.call({"SET", key, "x"});
  CHECK_THROWS_AS(place.reset(keys,
                              [&](int time) {
                                if (time == 2) throw std::runtime_error("as Ctrl-C does");
                              }),
                  std::runtime_error);
  CHECK(place.call({"DBSIZE"}).integer() == 200);
  const auto results = place.restore();
  CHECK(results.size() == 400);
  for (const auto& each : results) {
    CAPTURE(each.first);
    CHECK(each.second == (std::stoi(each.first) < 200 ? "r" : "i"));
  }
}

TEST_CASE("keys are saved and removed on a server whose memory is full") {
  Place place;
  std::vector<std::string> keys;
  for (int i = 0; i < 450; ++i) {
    keys.push_back("k" + std::to_string(i));
    (void)place.call({"EVAL", test::algorithm("gcra").script, "1", keys.back(), "5", "60000000"});
  }
  (void)place.call({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(place.reset(keys, [](int) {}) == 450);
  (void)place.call({"CONFIG", "SET", "maxmemory", "0"});
  const auto results = place.restore();
  CHECK(results.size() == 450);
  CHECK(place.call({"DBSIZE"}).integer() == 450);
}

TEST_CASE("a key whose dump is too long to be restored is left") {
  Place place;
  (void)place.call({"RPUSH", "fits", "1", "2", "3"});
  (void)place.call({"RPUSH", "large", "1", "2", "3", "4"});
  const auto longest = place.call({"DUMP", "fits"}).text().size();
  REQUIRE(place.call({"DUMP", "large"}).text().size() > longest);
  CHECK(place.reset(
            {"large", "fits"}, [](int) {}, longest) == 1);
  CHECK(place.call({"LLEN", "large"}).integer() == 4);
  CHECK(place.restore() == Results{{"fits", "r"}});
}

TEST_CASE("a SCRIPT FLUSH while keys are saved or restored has no effect") {
  Place place;
  const auto flush = [&] { (void)place.call({"SCRIPT", "FLUSH"}); };
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back(std::to_string(i));
    (void)place.call({"SET", names.back(), names.back()});
  }
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<SavedKey> saved(names.size());
  save_each(place.connection(), keys, kLongestDump, [&](std::size_t i, SavedKey key) {
    CHECK(key.key == names[i]);
    saved[i] = std::move(key);
    flush();
  });

  (void)place.call({"FLUSHALL"});
  std::size_t restored = 0;
  const auto report = [&](const SavedKey& key, RestoreResult result) {
    CHECK(result == RestoreResult::kRestored);
    CHECK(key.key == names[restored++]);
    flush();
  };
  for (std::size_t i = 0; i < saved.size(); i += 10) {
    restore_keys(place.connection(), std::span(saved).subspan(i, 10), {}, report);
  }
  CHECK(restored == 100);
  CHECK(place.connection().outstanding() == 0);
}

// ---- Copying to another server ----

namespace {

const std::string kBinary("a\0b\r\n\xff c", 8);

/// Two servers and a connection to each.
struct Pair {
  redis::PrivateServer source, target;
  Connection from = Connection::open(source.url(), 120s);
  Connection to = Connection::open(target.url(), 120s);
};

const std::vector<std::string> kKeys{"text",  "list", "set",    "hash", "zset",
                                     "empty", "gone", "stream", kBinary};

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
           {"XADD", "stream", "1-1", "f", "v"},
           {"SET", kBinary, kBinary}}) {
    REQUIRE_FALSE(from.call(command).is_error());
  }
}

/// Copies the keys; returns their types.
std::vector<std::string> copy(Connection& from, Connection& to,
                              const std::vector<std::string>& keys) {
  auto saved = save_keys(from, keys);
  std::vector<std::string> types;
  for (const auto& key : saved) types.push_back(key.type);
  copy_to(to, std::move(saved));
  return types;
}

void require_copied(Connection& from, Connection& to) {
  // CHECK would swallow the error of a copy that fails.
  const auto types = copy(from, to, kKeys);
  CHECK(types == std::vector<std::string>{"string", "list", "set", "hash", "zset", "string", "none",
                                          "stream", "string"});
  for (const auto& command :
       std::vector<std::vector<std::string_view>>{{"DBSIZE"},
                                                  {"GET", "text"},
                                                  {"LRANGE", "list", "0", "-1"},
                                                  {"SCARD", "set"},
                                                  {"SISMEMBER", "set", kBinary},
                                                  {"HGET", "hash", "tokens"},
                                                  {"HGET", "hash", kBinary},
                                                  {"HLEN", "hash"},
                                                  {"ZRANGE", "zset", "0", "-1", "WITHSCORES"},
                                                  {"GET", "empty"},
                                                  {"GET", kBinary},
                                                  {"XLEN", "stream"},
                                                  {"EXISTS", "gone"}}) {
    CHECK(support::encoded(from.call(command)) == support::encoded(to.call(command)));
  }
  for (const auto& key : kKeys) {
    CAPTURE(key);
    const auto original = from.call({"PTTL", key}).integer();
    const auto copied = to.call({"PTTL", key}).integer();
    CHECK((copied > 0) == (original > 0));
    CHECK(std::abs(copied - original) < 30'000);
  }
}

}  // namespace

TEST_CASE("keys of every type are copied with their TTLs, from a full server and from a replica") {
  using Command = std::vector<std::string_view>;
  for (const auto& settings :
       std::vector<std::vector<Command>>{{},
                                         {{"CONFIG", "SET", "maxmemory", "1"}},
                                         // A replica that has lost its primary still has the keys.
                                         {{"CONFIG", "SET", "replica-serve-stale-data", "yes"},
                                          {"REPLICAOF", "127.0.0.1", "1"}}}) {
    Pair pair;
    fill(pair.from);
    for (const auto& command : settings) REQUIRE(pair.from.call(command).text() == "OK");
    require_copied(pair.from, pair.to);
  }
}

TEST_CASE("a copy has the TTLs of the time at which the keys were saved") {
  Pair pair;
  fill(pair.from);
  auto saved = save_keys(pair.from, kKeys);
  // As if an hour had passed, or the other server's clock were an hour ahead.
  for (auto& key : saved) {
    key.saved_at -= 1h;
    if (key.expires_at) *key.expires_at -= 1h;
  }
  copy_to(pair.to, saved);
  CHECK(pair.to.call({"PTTL", "text"}).integer() > 30'000);
  CHECK(pair.to.call({"PTTL", "text"}).integer() <= 60'000);
}

TEST_CASE("the server's error is thrown if its user may not read or write") {
  Pair pair;
  fill(pair.from);
  const auto deny = [](Connection& connection, std::string_view rule) {
    REQUIRE(
        connection.call({"ACL", "SETUSER", "default", "reset", "on", "nopass", "~*", "+@all", rule})
            .text() == "OK");
  };
  const auto failure = [&] {
    return support::error_of([&] { (void)copy(pair.from, pair.to, kKeys); }).failure();
  };
  for (const auto* rule : {"-type", "-dump", "-pttl", "-evalsha"}) {
    CAPTURE(rule);
    deny(pair.from, rule);
    CHECK(failure() == redis::Failure::kRefused);
    REQUIRE_FALSE(pair.from.call({"PING"}).is_error());
  }
  REQUIRE(pair.from.call({"ACL", "SETUSER", "default", "+@all", "resetkeys", "~list"}).text() ==
          "OK");
  CHECK(failure() == redis::Failure::kRefused);
  CHECK(pair.to.call({"DBSIZE"}).integer() == 0);
  deny(pair.from, "+@all");
  deny(pair.to, "-restore");
  CHECK(failure() == redis::Failure::kRefused);
}

TEST_CASE("a server without DUMP or RESTORE is an error that names the command") {
  Pair pair;
  fill(pair.from);
  for (const std::string name : {"DUMP", "RESTORE"}) {
    CAPTURE(name);
    const redis::PrivateServer without({.arguments = {"--rename-command", name, ""}});
    auto other = Connection::open(without.url(), 120s);
    if (name == "DUMP") fill(other);
    const auto error = support::error_of([&] {
      name == "DUMP" ? (void)copy(other, pair.to, kKeys) : (void)copy(pair.from, other, kKeys);
    });
    CHECK(error.what() ==
          "the server has no command " + name + ", which saving and restoring needs");
    CHECK(support::contains(error.hint(), "rename-command"));
  }
}

TEST_CASE("a key whose dump the other server does not understand is named in the error") {
  Pair pair;
  fill(pair.from);
  auto saved = save_keys(pair.from, std::vector<std::string>{"list"});
  saved[0].dump.back() ^= 1;
  const auto error = support::error_of([&] { copy_to(pair.to, saved); });
  CHECK(error.failure() == redis::Failure::kUnsupported);
  CHECK(support::contains(error.what(), "'list'"));
}

TEST_CASE("a reply of other types than the script's is an error, and saves nothing") {
  const auto saved = [](const std::string& first, const std::string& key) {
    const support::ScriptedServer server([&](support::Peer& peer) {
      peer.read_some();
      peer.write("*2\r\n" + first + key);
      peer.read_to_end();
    });
    auto connection = Connection::open(server.url(), 120s);
    return save_keys(connection, std::vector<std::string>{"k"});
  };
  const std::string time = ":1795779817000\r\n", text = "$1\r\nx\r\n", number = ":0\r\n";
  CHECK(saved(time, "*4\r\n+set\r\n" + number + text + text)[0].dump == "x");
  CHECK_FALSE(saved(time, "$-1\r\n")[0].exists());
  for (const auto& replies : {std::pair{text, "*4\r\n+set\r\n" + number + text + text},
                              {time, text},
                              {time, "*4\r\n" + number + number + text + text},
                              {time, "*4\r\n+set\r\n" + text + text + text},
                              {time, "*4\r\n+set\r\n" + number + number + text},
                              {time, "*4\r\n+set\r\n" + number + text + number}}) {
    CAPTURE(replies.first);
    CAPTURE(replies.second);
    const auto error = support::error_of([&] { saved(replies.first, replies.second); });
    CHECK(support::contains(error.what(), "script"));
  }
}

TEST_CASE("large keys are copied") {
  Pair pair;
  const auto size = static_cast<std::size_t>(test::scaled(20'000'000, 100'000'000));
  REQUIRE(pair.from.call({"SET", "large", std::string(size, 'x')}).text() == "OK");
  (void)copy(pair.from, pair.to, {"large"});
  CHECK(pair.to.call({"STRLEN", "large"}).integer() == static_cast<std::int64_t>(size));
  CHECK(save_keys(pair.from, {}).empty());
}

TEST_CASE("keys are copied to servers of other versions, unless these do not understand them") {
  const char* folder = std::getenv("RLCTL_TEST_OTHER_SERVERS");
  if (folder == nullptr || std::filesystem::is_empty(folder)) {
    MESSAGE("skipped: needs servers of other versions, which tests/night/run fetches");
    return;
  }
  const char* program = std::getenv("RLCTL_REDIS_SERVER");
  REQUIRE(program != nullptr);
  const auto own = std::filesystem::path(program).filename().string();
  const redis::PrivateServer source;
  auto from = Connection::open(source.url(), 120s);
  fill(from);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CAPTURE(entry.path().string());
    const support::ScopedVariable chosen("RLCTL_REDIS_SERVER", entry.path().string());
    const redis::PrivateServer target;
    auto to = Connection::open(target.url(), 120s);
    try {
      require_copied(from, to);
    } catch (const redis::Error& error) {
      CHECK(error.failure() == redis::Failure::kUnsupported);
      // A server understands the dumps of each older one of its family.
      const auto name = entry.path().filename().string();
      CHECK_FALSE((name > own && name.starts_with(own.substr(0, own.find('-')))));
    }
  }
}

}  // namespace stored_backup_test
