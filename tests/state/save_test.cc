#include "state/save_file.h"

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "redis/connection.h"
#include "redis/private_server.h"
#include "state/reset.h"
#include "state/saved_key.h"
#include "support/limiters.h"
#include "support/temp_folder.h"

// Saving keys before they are removed, while other clients write; save_restore.bats tests the rest.

namespace state_save_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::state;
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
                       .on_looked = [&] { meanwhile(++times); },
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
    Restorer restorer(connection_, {}, [&](const SavedKey& key, RestoreResult result) {
      results[key.key] += "rwixef"[static_cast<int>(result)];
    });
    while (const auto key = reader.next()) restorer.restore({&*key, 1});
    CHECK_FALSE(reader.is_cut());
    return results;
  }

  [[nodiscard]] std::string path() const { return folder_.path() / "saved"; }
  [[nodiscard]] bool has_file() const { return std::filesystem::exists(path()); }

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
    Results restored;
    std::vector<std::string_view> question = {};
    const char* answer = "";
  };
  const Case cases[] = {// The ends of the list do not show it.
                        {{"RPUSH", "k", "1", "2", "3"},
                         {{"LSET", "k", "1", "5"}},
                         {{"k", "r"}, {"other", "r"}},
                         {"LINDEX", "k", "1"},
                         "5"},
                        {{"SET", "k", "old"}, {{"DEL", "k"}}, {{"other", "r"}}},
                        {{"SET", "k", "old"},
                         {{"DEL", "k"}, {"SADD", "k", "new"}},
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
    CHECK(removed == static_cast<int>(each.restored.size()));
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
  CHECK(place.restore() == Results{{"sooner", "r"}, {"later", "r"}, {"never", "r"}});
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

TEST_CASE("what was saved before an error, and not removed, is not restored") {
  std::vector<std::string> keys;  // more than are saved at a time
  for (int i = 0; i < 399; ++i) keys.push_back(std::to_string(i));
  for (const bool is_saved : {true, false}) {
    CAPTURE(is_saved);
    Place place;
    for (const auto& key : keys) (void)place.call({"SET", key, "x"});
    (void)place.call({"RPUSH", "list", "1"});
    const auto fail = [&](int time) {
      if (!is_saved) (void)place.call({"ACL", "SETUSER", "default", "-lrange"});
      if (time == 2) throw std::runtime_error("as Ctrl-C does");
    };
    auto all = keys;
    all.emplace_back("list");
    CHECK_THROWS_AS(place.reset(all, fail), std::runtime_error);
    (void)place.call({"ACL", "SETUSER", "default", "+@all"});
    CHECK(place.call({"DBSIZE"}).integer() == 200);
    (void)place.call({"FLUSHALL"});
    const auto results = place.restore();
    CHECK(results.size() == 200);
    CHECK(place.call({"EXISTS", "199"}).integer() == 1);
    CHECK(place.call({"EXISTS", "200"}).integer() == 0);
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

TEST_CASE("large contents are saved as a dump only, and come back from it") {
  Place place;
  std::string mixed;
  for (std::size_t i = 0; i < 400'000; ++i) mixed += std::to_string(i * 2654435761 % 1000003);
  (void)place.call({"SET", "mixed", mixed});
  // Their dumps are compressed.
  (void)place.call({"SETRANGE", "string", std::to_string(kLongestReadable), "x"});
  constexpr std::string_view kFill = R"(
    local count = tonumber(ARGV[1])
    for i = 1, count do
      redis.call('RPUSH', 'list', 0)
      redis.call('SADD', 'set', i)
      redis.call('HSET', 'hash', i, '')
      redis.call('ZADD', 'zset', 0, string.format('%x', i))
    end)";
  (void)place.call({"EVAL", kFill, "0", std::to_string(kMaxReadable + 1)});
  const std::vector<std::string> keys{"mixed", "string", "list", "set", "hash", "zset"};
  CHECK(place.reset(keys, [](int) {}) == 6);
  SaveFileReader reader(place.path());
  while (const auto key = reader.next()) {
    CAPTURE(key->key);
    CHECK_FALSE(key->contents);
  }
  for (const auto& [key, result] : place.restore()) CHECK(result == "r");
  CHECK(place.call({"GET", "mixed"}).text() == mixed);
  CHECK(place.call({"LLEN", "list"}).integer() == static_cast<int>(kMaxReadable) + 1);
}

TEST_CASE("contents up to the bounds are saved") {
  test::TestServer server;
  auto& connection = server.connection();
  (void)connection.call({"SETRANGE", "string", std::to_string(kLongestReadable - 1), "x"});
  constexpr std::string_view kFill = "for i = 1, ARGV[1] do redis.call('RPUSH', 'list', 0) end";
  (void)connection.call({"EVAL", kFill, "0", std::to_string(kMaxReadable)});
  const TypedKey keys[] = {{.key = "string", .type = "string"}, {.key = "list", .type = "list"}};
  read_saved(connection, keys, [](const std::optional<SavedKey>& key) {
    REQUIRE(key);
    CHECK(key->contents);
  });
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

namespace {

/// restore.lua, which finds this answer when it calls this command.
std::string restore_script_with(const std::string& command, const std::string& answer) {
  std::ifstream file(RLCTL_TESTS_DIR "/../src/state/restore.lua");
  const std::string script{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(script.empty());
  const auto answers = [&](const std::string& call) {
    return call + " = function(name, ...) if name == '" + command + "' then return " + answer +
           " end return real." + call + "(name, ...) end";
  };
  return "local real = redis local redis = setmetatable({" + answers("call") + ", " +
         answers("pcall") + "}, {__index = real}) " + script;
}

}  // namespace

TEST_CASE("a key in its last millisecond does not stay for ever if its replacement fails") {
  Place place;
  (void)place.call({"SET", "k", "old", "PX", "600000"});
  const auto script = restore_script_with("PTTL", "0");
  CHECK(place.connection()
            .call({"EVAL", script, "1", "k", "write", "replace", "0", "", "1", "SET"})
            .is_error());
  CHECK(place.call({"PTTL", "k"}).integer() != -1);
}

TEST_CASE("a key that cannot be put back after its replacement failed is reported as lost") {
  Place place;
  const auto replace = [&](const std::string& script) {
    (void)place.call({"SET", "k", "old"});
    return std::string(
        place.connection()
            .call({"EVAL", script, "1", "k", "write", "replace", "0", "", "1", "SET"})
            .text());
  };
  CHECK(replace(restore_script_with("NONE", "0")).find("lost") == std::string::npos);
  CHECK(place.call({"GET", "k"}).text() == "old");
  const auto error = replace(restore_script_with("RESTORE", "redis.error_reply('OOM no memory')"));
  CHECK(error.find("the key is lost") != std::string::npos);
  CHECK(error.find("OOM no memory") != std::string::npos);
}

TEST_CASE("a SCRIPT FLUSH while keys are saved or restored has no effect") {
  Place place;
  const auto flush = [&] { (void)place.call({"SCRIPT", "FLUSH"}); };
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back(std::to_string(i));
    (void)place.call({"SET", names.back(), names.back()});
  }
  std::vector<TypedKey> keys;
  for (const auto& name : names) keys.push_back({.key = name, .type = "string"});
  std::vector<SavedKey> saved;
  read_saved(place.connection(), keys, [&](std::optional<SavedKey> key) {
    REQUIRE(key);
    saved.push_back(std::move(*key));
    flush();
  });
  REQUIRE(saved.size() == keys.size());
  for (std::size_t i = 0; i < saved.size(); ++i) CHECK(saved[i].key == names[i]);

  (void)place.call({"FLUSHALL"});
  int restored = 0;
  Restorer restorer(place.connection(), {}, [&](const SavedKey& key, RestoreResult result) {
    CHECK(result == RestoreResult::kRestored);
    CHECK(key.key == names[static_cast<std::size_t>(restored++)]);
    flush();
  });
  for (std::size_t i = 0; i < saved.size(); i += 10)
    restorer.restore(std::span(saved).subspan(i, 10));
  CHECK(restored == 100);
  CHECK(place.connection().outstanding() == 0);
}

}  // namespace state_save_test
