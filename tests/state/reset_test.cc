#include "state/reset.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "redis/scan.h"
#include "support/cluster.h"
#include "support/fake_cluster.h"
#include "support/limiters.h"
#include "support/packed.h"
#include "support/server.h"
#include "support/temp_folder.h"

namespace state_reset_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::state;
using rlctl::redis::Connection;
using rlctl::redis::Reply;

namespace {

using Names = std::vector<std::string>;

/// The outcomes as a test sees them: "removed gcra", "left hash no-limiter-state".
using Outcomes = std::vector<std::pair<std::string, std::string>>;

std::string describe(const ResetOutcome& outcome) {
  constexpr const char* kResults[] = {"removed", "would remove", "left", "none"};
  constexpr const char* kReasons[] = {" no-limiter-state", " foreign", " uncertain",
                                      " changing",         " changed", " too-large"};
  std::string text = kResults[static_cast<int>(outcome.result)];
  if (outcome.result == ResetResult::kNone) return text;
  text += " " + std::string(outcome.form != nullptr ? outcome.form->name : outcome.type);
  if (outcome.reason) text += kReasons[static_cast<int>(*outcome.reason)];
  return text;
}

const StateForm* find_form(std::string_view name) {
  for (const auto& form : state_forms()) {
    if (form.name == name && form.type == "string") return &form;
  }
  return nullptr;
}

/// A server, the connection that resets keys, and one of another client.
class Arena {
 public:
  explicit Arena(redis::PrivateServer& server) : Arena(server.url()) {}
  explicit Arena(const redis::Url& url)
      : connection_(Connection::open(url, 10s)), other_(Connection::open(url, 10s)) {}

  Connection& connection() { return connection_; }
  Reply call(std::initializer_list<std::string_view> arguments) { return other_.call(arguments); }
  std::string dump(std::string_view key) { return std::string(call({"DUMP", key}).text()); }

  /// Creates a limiter's state.
  void ask(const std::string& key, std::string_view algorithm) {
    if (algorithm == "concurrency") {
      (void)other_.call(
          {"EVAL", test::algorithm(algorithm).script, "1", key, "5", "60000000", "acquire", "me"});
    } else {
      (void)other_.call({"EVAL", test::algorithm(algorithm).script, "1", key, "5", "60000000"});
    }
    REQUIRE(call({"EXISTS", key}).integer() == 1);
  }

  template <typename Keys = Names>
  Outcomes reset(const Keys& keys, ResetOptions options = {}) {
    Outcomes outcomes;
    Resetter resetter(connection_, std::move(options), [&](const ResetOutcome& outcome) {
      outcomes.emplace_back(outcome.key, describe(outcome));
    });
    resetter.reset(keys);
    CHECK(resetter.in_doubt().empty());
    CHECK(connection_.outstanding() == 0);
    return outcomes;
  }

  /// The error of a reset, and the outcomes reported before it.
  struct Failed {
    std::string code;
    redis::Failure failure = {};
    Outcomes outcomes;
    Names in_doubt;
  };
  Failed fail_to_reset(const Names& keys, ResetOptions options = {}) {
    Failed failed;
    Resetter resetter(connection_, std::move(options), [&](const ResetOutcome& outcome) {
      failed.outcomes.emplace_back(outcome.key, describe(outcome));
    });
    try {
      resetter.reset(keys);
      FAIL("no error");
    } catch (const redis::Error& error) {
      failed.code = error.code();
      failed.failure = error.failure();
    }
    failed.in_doubt = resetter.in_doubt();
    return failed;
  }

 private:
  Connection connection_;
  Connection other_;
};

/// Runs an action once, between a look and the removal.
ResetOptions after_first_look(const std::function<void()>& action) {
  auto first = std::make_shared<bool>(true);
  return {.on_looked = [=] {
    if (std::exchange(*first, false)) action();
  }};
}

}  // namespace

TEST_CASE("the state of every algorithm is removed and reported with the algorithm's name") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  Names keys;
  Outcomes expected;
  for (const auto& algorithm : algorithms()) {
    keys.emplace_back("key of " + std::string(algorithm.name));
    arena.ask(keys.back(), algorithm.name);
    expected.emplace_back(keys.back(), "removed " + std::string(algorithm.name));
  }
  CHECK(arena.reset(keys) == expected);
  CHECK(arena.call({"DBSIZE"}).integer() == 0);
}

TEST_CASE("a key that is not a limiter's is left byte for byte, with its TTL") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  (void)arena.call({"SET", "text", "gcra 17"});
  (void)arena.call({"SET", "number", "17", "PX", "60000"});
  (void)arena.call({"SET", "empty", ""});
  (void)arena.call({"HSET", "hash", "f", "v"});
  (void)arena.call({"SADD", "set", "m"});
  (void)arena.call({"XADD", "stream", "1-1", "f", "v"});
  (void)arena.call({"RPUSH", "words", "a", "b"});
  (void)arena.call({"RPUSH", "numbers", "1", "2", "3"});
  (void)arena.call({"ZADD", "scores", "1", "a"});
  (void)arena.call({"ZADD", "times", "1700000000123", "a"});
  (void)arena.call({"PFADD", "sketch", "a"});
  const Outcomes expected{
      {"text", "left string no-limiter-state"},  {"number", "left foreign-counter foreign"},
      {"empty", "left string no-limiter-state"}, {"hash", "left hash no-limiter-state"},
      {"set", "left set no-limiter-state"},      {"stream", "left stream no-limiter-state"},
      {"words", "left list no-limiter-state"},   {"numbers", "left sliding-window-log uncertain"},
      {"scores", "left zset no-limiter-state"},  {"times", "left foreign-zset foreign"},
      {"sketch", "left string no-limiter-state"}};
  Names keys, dumps;
  for (const auto& [key, outcome] : expected) {
    keys.push_back(key);
    dumps.push_back(arena.dump(key));
    REQUIRE_FALSE(dumps.back().empty());
  }
  CHECK(arena.reset(keys) == expected);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CAPTURE(keys[i]);
    CHECK(arena.dump(keys[i]) == dumps[i]);
  }
  CHECK(arena.call({"PTTL", "number"}).integer() > 0);

  Outcomes forced;
  for (const auto& outcome : arena.reset(keys, {.force = true})) {
    CHECK(outcome.second.starts_with("removed "));
    forced.push_back(outcome);
  }
  CHECK(forced.size() == keys.size());
  CHECK(arena.call({"DBSIZE"}).integer() == 0);
}

TEST_CASE(
    "all kinds of outcomes are reported in the order of the keys, even for more than one batch") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  Names keys;
  Outcomes expected;
  for (int i = 0; i < 1001; ++i) {
    keys.push_back(std::to_string(i));
    if (i % 3 == 0) arena.ask(keys.back(), "gcra");
    if (i % 3 == 1) (void)arena.call({"HSET", keys.back(), "f", "v"});
    expected.emplace_back(keys.back(), i % 3 == 0   ? "removed gcra"
                                       : i % 3 == 1 ? "left hash no-limiter-state"
                                                    : "none");
  }
  CHECK(arena.reset(keys) == expected);
  CHECK(arena.call({"DBSIZE"}).integer() == 334);
}

TEST_CASE("a dry run reports the same and writes nothing, even where writing is forbidden") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  arena.ask("a", "gcra");
  arena.ask("b", "sliding-window-log");
  (void)arena.call({"HSET", "c", "f", "v"});
  const auto before = arena.dump("a") + arena.dump("b") + arena.dump("c");
  (void)arena.call({"ACL", "SETUSER", "default", "-unlink", "-evalsha", "-script"});
  const Outcomes expected{{"a", "would remove gcra"},
                          {"b", "would remove sliding-window-log"},
                          {"c", "left hash no-limiter-state"},
                          {"d", "none"}};
  CHECK(arena.reset({"a", "b", "c", "d"}, {.dry_run = true}) == expected);
  CHECK(arena.dump("a") + arena.dump("b") + arena.dump("c") == before);
}

// --- concurrent writers
// -------------------------------------------------------------

TEST_CASE("a key that is replaced between the look and the removal is not lost") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  arena.ask("before", "gcra");
  arena.ask("k", "gcra");
  arena.ask("after", "gcra");
  const auto options = after_first_look([&] {
    (void)arena.call({"DEL", "k"});
    (void)arena.call({"HSET", "k", "precious", "value"});
  });
  CHECK(arena.reset({"before", "k", "after"}, options) ==
        Outcomes{{"before", "removed gcra"},
                 {"k", "left hash no-limiter-state"},
                 {"after", "removed gcra"}});
  CHECK(arena.call({"HGET", "k", "precious"}).text() == "value");
  CHECK(arena.call({"DBSIZE"}).integer() == 1);
}

TEST_CASE("a key seen earlier is left if it has been replaced since, even with force") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  const std::vector<SeenKey> seen{
      {.key = "same", .type = "string", .form = find_form("gcra")},
      {.key = "other form", .type = "string", .form = find_form("gcra")},
      {.key = "other type", .type = "string", .form = nullptr},
      {.key = "gone", .type = "string", .form = find_form("gcra")},
      {.key = "text", .type = "string", .form = nullptr}};
  for (const bool force : {false, true}) {
    CAPTURE(force);
    (void)arena.call({"FLUSHALL"});
    arena.ask("same", "gcra");
    arena.ask("other form", "fixed-window");
    (void)arena.call({"HSET", "other type", "precious", "x"});
    (void)arena.call({"SET", "text", "hello"});
    CHECK(arena.reset(seen, {.force = force}) ==
          Outcomes{{"same", "removed gcra"},
                   {"other form", "left fixed-window changed"},
                   {"other type", "left hash changed"},
                   {"gone", "none"},
                   {"text", force ? "removed string" : "left string no-limiter-state"}});
  }
}

TEST_CASE("a key seen earlier may also change after the second look") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  arena.ask("k", "gcra");
  const std::vector<SeenKey> seen{{.key = "k", .type = "string", .form = find_form("gcra")}};
  auto options = after_first_look([&] { (void)arena.call({"SET", "k", "5"}); });
  options.force = true;
  CHECK(arena.reset(seen, options) == Outcomes{{"k", "left foreign-counter changed"}});
  CHECK(arena.call({"GET", "k"}).text() == "5");
}

TEST_CASE("a key that disappears between the look and the removal is not reported as removed") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  arena.ask("k", "gcra");
  const auto options = after_first_look([&] { (void)arena.call({"DEL", "k"}); });
  CHECK(arena.reset({"k"}, options) == Outcomes{{"k", "none"}});
}

TEST_CASE("a key that is written between the look and the removal is looked at again and removed") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  Names keys;
  for (int i = 0; i < 10; ++i) {
    keys.push_back(std::to_string(i));
    arena.ask(keys.back(), "sliding-window-log");
  }
  const auto options = after_first_look([&] { arena.ask("7", "sliding-window-log"); });
  for (const auto& [key, outcome] : arena.reset(keys, options)) {
    CHECK(outcome == "removed sliding-window-log");
  }
  CHECK(arena.call({"DBSIZE"}).integer() == 0);
}

TEST_CASE("whatever a limiter writes between the look and the removal is noticed") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  for (const auto& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    arena.ask("k", algorithm.name);
    int looks = 0;
    const ResetOptions options{.on_looked = [&] {
      if (++looks == 1) arena.ask("k", algorithm.name);
    }};
    CHECK(arena.reset({"k"}, options) == Outcomes{{"k", "removed " + std::string(algorithm.name)}});
    CHECK(looks == 2);
  }
}

TEST_CASE("a bucket in a hash that is written between the look and the removal is noticed") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  const std::string key = "throttled:v1:token_bucket:ann", label = "token-bucket";
  (void)arena.call({"HSET", key, "tokens", "9", "last_refreshed", "1763750000"});
  CHECK(arena.reset({key}) == Outcomes{{key, "left " + label + " foreign"}});
  int looks = 0;
  ResetOptions options{.force = true, .on_looked = [&] {
                         if (++looks == 1) (void)arena.call({"HSET", key, "tokens", "8"});
                       }};
  CHECK(arena.reset({key}, options) == Outcomes{{key, "removed " + label}});
  CHECK(looks == 2);

  (void)arena.call({"HSET", key, "tokens", "9", "last_refreshed", "1763750000"});
  const auto& form = *decode(key, read_contents(arena.connection(), {&key, 1}).front()).form;
  options = after_first_look([&] { (void)arena.call({"HSET", key, "name", "ann"}); });
  options.force = true;
  const std::vector<SeenKey> seen{{key, "hash", &form}};
  CHECK(arena.reset(seen, options) == Outcomes{{key, "left hash changed"}});

  // Another hash may change while it is removed: only its type is compared.
  (void)arena.call({"DEL", key});
  (void)arena.call({"HSET", "visits", "ann", "1"});
  options = after_first_look([&] { (void)arena.call({"HSET", "visits", "bob", "1"}); });
  options.force = true;
  CHECK(arena.reset({"visits"}, options) == Outcomes{{"visits", "removed hash"}});
}

TEST_CASE("a log that loses its TTL between the look and the removal is left") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  for (const auto& [name, outcome] :
       {std::pair{"sliding-window-log", "left sliding-window-log uncertain"},
        {"concurrency", "left concurrency uncertain"}}) {
    (void)arena.call({"DEL", "k"});
    arena.ask("k", name);
    const auto options = after_first_look([&] { (void)arena.call({"PERSIST", "k"}); });
    CHECK(arena.reset({"k"}, options) == Outcomes{{"k", outcome}});
  }
}

TEST_CASE("a SCRIPT FLUSH between the look and the removal has no effect") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  Names keys;
  for (int i = 0; i < 2200; ++i) {
    keys.push_back(std::to_string(i));
    arena.ask(keys.back(), "gcra");
  }
  int looks = 0;
  const ResetOptions options{.on_looked = [&] {
    if (++looks == 2) (void)arena.call({"SCRIPT", "FLUSH"});
  }};
  for (const auto& [key, outcome] : arena.reset(keys, options)) CHECK(outcome == "removed gcra");
  CHECK(arena.call({"DBSIZE"}).integer() == 0);
}

TEST_CASE("a constantly written key is reported as changing and does not delay its neighbours") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  Names keys;
  for (int i = 0; i < 200; ++i) {
    keys.push_back(std::to_string(i));
    arena.ask(keys.back(), "gcra");
  }
  int looks = 0;
  ResetOptions options{.tries = 5, .on_looked = [&] {
                         const auto other = test::packed("gcra ", 1.7e15 + ++looks, 2, 7, 6e7, 7);
                         (void)arena.call({"SET", "123", other});
                       }};
  const auto outcomes = arena.reset(keys, options);
  REQUIRE(outcomes.size() == 200);
  for (const auto& [key, outcome] : outcomes) {
    CHECK(outcome == (key == "123" ? "left gcra changing" : "removed gcra"));
  }
  CHECK(arena.call({"DBSIZE"}).integer() == 1);
  CHECK(looks == 5);
}

TEST_CASE("a busy key that is not a limiter's does not delay the removal of others for long") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  arena.ask("limiter", "gcra");
  (void)arena.call({"SET", "busy", "x"});
  int looks = 0;
  const ResetOptions options{.tries = 3, .on_looked = [&] {
                               ++looks;
                               (void)arena.call({"APPEND", "busy", "x"});
                             }};
  CHECK(arena.reset({"busy", "limiter"}, options) ==
        Outcomes{{"busy", "left string no-limiter-state"}, {"limiter", "removed gcra"}});
  CHECK(looks == 1);
}

TEST_CASE("a key that expires between the look and the removal is reported as missing") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  arena.ask("k", "gcra");
  const auto options = after_first_look([&] {
    (void)arena.call({"PEXPIRE", "k", "1"});
    while (arena.call({"EXISTS", "k"}).integer() != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  });
  CHECK(arena.reset({"k"}, options) == Outcomes{{"k", "none"}});
}

namespace {

std::string wide_key(int i) {
  return (i % 100 == 0 ? "limiter:" : i % 10 == 1 ? "hash:" : "text:") + std::to_string(i);
}

/// Creates 100,000 keys, of which every hundredth is a limiter's.
void fill(Connection& connection, int count) {
  for (int i = 0; i < count; ++i) {
    const auto key = wide_key(i);
    if (key.starts_with('l')) {
      connection.append({"RPUSH", key, "1700000000123456", "1700000000123457"});
      connection.append({"EXPIRE", key, "3600"});
    } else if (key.starts_with('h')) {
      connection.append({"HSET", key, "f", std::to_string(i)});
    } else {
      connection.append({"SET", key, "value " + std::to_string(i)});
    }
  }
  while (connection.outstanding() > 0) REQUIRE_FALSE(connection.read().is_error());
}

}  // namespace

TEST_CASE("exactly the limiters among 100,000 keys are removed while others write to all of them") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  constexpr int kKeys = 100'000;
  fill(arena.connection(), kKeys);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    auto connection = Connection::open(server->url(), 10s);
    for (unsigned i = 0; !stop; i = i * 7919U + 13U) {
      const auto key = wide_key(static_cast<int>(i % kKeys));
      const auto limiter = "limiter:" + std::to_string(i % 1000 * 100);
      // Writes to it like a limiter, but without recreating it once it is removed.
      connection.append({"RPUSHX", limiter, "1700000000123458"});
      if (key.starts_with('h')) connection.append({"HSET", key, "g", "new"});
      if (key.starts_with('t')) connection.append({"SETRANGE", key, "0", "V"});
      while (connection.outstanding() > 0) (void)connection.read();
    }
  });
  std::map<std::string, int> outcomes;
  Resetter resetter(arena.connection(), {}, [&](const ResetOutcome& outcome) {
    if (outcome.result != ResetResult::kLeft) ++outcomes[std::string(outcome.key)];
    if (outcome.reason) CHECK(outcome.reason == LeftReason::kNoLimiterState);
  });
  redis::Scan scan(arena.connection(), "*");
  while (!scan.done()) resetter.reset(scan.next());
  stop = true;
  writer.join();

  CHECK(outcomes.size() == kKeys / 100);
  CHECK(arena.call({"DBSIZE"}).integer() == kKeys - kKeys / 100);
  for (int i = 0; i < kKeys; ++i) {
    const auto key = wide_key(i);
    if (key.starts_with('h')) arena.connection().append({"HGET", key, "f"});
    if (key.starts_with('t')) arena.connection().append({"GETRANGE", key, "1", "-1"});
    if (key.starts_with('l')) arena.connection().append({"EXISTS", key});
  }
  int wrong = 0;
  for (int i = 0; i < kKeys; ++i) {
    const auto key = wide_key(i);
    const auto reply = arena.connection().read();
    const auto number = std::to_string(i);
    if (key.starts_with('h') && reply.text() != number) ++wrong;
    if (key.starts_with('t') && reply.text() != "alue " + number) ++wrong;
    if (key.starts_with('l') && reply.integer() != 0) ++wrong;
  }
  CHECK(wrong == 0);
}

// --- errors of the server
// ------------------------------------------------------------------------

TEST_CASE("a refused command is reported, and nothing is removed") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  for (const std::string_view command : {"unlink", "evalsha", "script", "type", "getrange"}) {
    CAPTURE(command);
    arena.ask("k", "gcra");
    const auto before = arena.dump("k");
    (void)arena.call({"ACL", "SETUSER", "default", "-" + std::string(command)});
    Arena fresh(*server);
    const auto failed = fresh.fail_to_reset({"k"});
    (void)arena.call({"ACL", "SETUSER", "default", "+@all"});
    CHECK((failed.code == "NOPERM") != (command == "unlink"));
    CHECK(failed.failure == redis::Failure::kRefused);
    CHECK(failed.outcomes.empty());
    CHECK(failed.in_doubt.empty());
    CHECK(arena.dump("k") == before);
  }
}

TEST_CASE("a replica reports that it is one and keeps the key") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  arena.ask("k", "gcra");
  (void)arena.call({"HSET", "h", "f", "v"});
  (void)arena.call({"REPLICAOF", "127.0.0.1", "1"});
  const auto failed = arena.fail_to_reset({"h", "k"});
  CHECK(failed.code == "READONLY");
  CHECK(failed.failure == redis::Failure::kRejected);
  CHECK(failed.outcomes == Outcomes{{"h", "left hash no-limiter-state"}});
  CHECK(arena.call({"EXISTS", "k"}).integer() == 1);
}

TEST_CASE(
    "keys removed before an error are reported, and those in flight are reported as unknown") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  Names keys;
  for (int i = 0; i < 2500; ++i) {
    keys.push_back(std::to_string(i));
    arena.ask(keys.back(), "gcra");
  }
  int looks = 0;
  const ResetOptions options{.on_looked = [&] {
    if (++looks == 2) ::kill(server->pid(), SIGKILL);
  }};
  const auto failed = arena.fail_to_reset(keys, options);
  CHECK(failed.failure == redis::Failure::kUnreachable);
  REQUIRE_FALSE(failed.outcomes.empty());
  const auto done = failed.outcomes.size();
  for (std::size_t i = 0; i < done; ++i) CHECK(failed.outcomes[i].first == keys[i]);
  REQUIRE_FALSE(failed.in_doubt.empty());
  CHECK(failed.in_doubt.front() == keys[done]);
  CHECK(done + failed.in_doubt.size() < keys.size());
}

namespace {

/// A Cluster of one node, which fails while the second batch, of one key, is removed.
class FailingCluster {
 public:
  FailingCluster() : arena(cluster.url()), file(folder.path() / "saved") {
    for (int i = 0; i < 201; ++i) {
      keys.push_back(std::to_string(i));
      arena.ask(keys.back(), "gcra");
    }
  }

  Arena::Failed fail_to_reset(const std::function<void()>& fail) {
    file.begin(std::nullopt);
    int looks = 0;
    const auto on_looked = [&] {
      if (++looks != 2) return;
      arena.connection().set_timeout(support::kShort);
      fail();
    };
    auto failed = arena.fail_to_reset(keys, {.on_looked = on_looked, .save_to = &file});
    CHECK(failed.outcomes.size() == 200);
    return failed;
  }

  support::TestCluster cluster{1};
  Arena arena;
  support::TempFolder folder;
  SaveFile file;
  Names keys;
};

}  // namespace

TEST_CASE("keys that a node of a Cluster was sent and did not answer for are reported as unknown") {
  FailingCluster place;
  const auto node = place.cluster.pid(0);
  const auto failed = place.fail_to_reset([&] { ::kill(node, SIGSTOP); });
  ::kill(node, SIGCONT);
  CHECK(failed.failure == redis::Failure::kTimeout);
  CHECK(failed.in_doubt == Names{"200"});
  CHECK(place.file.keys() == 201);
}

TEST_CASE("a key that could not be sent to its node is certainly not removed") {
  FailingCluster place;
  const auto failed = place.fail_to_reset([&] {
    place.cluster.kill(0);
    // So that the connection, which is idle by then, is looked at before the next command.
    std::this_thread::sleep_for(20ms);
  });
  CHECK(failed.failure == redis::Failure::kNotSent);
  CHECK(failed.in_doubt.empty());
  CHECK(place.file.keys() == 200);
}

TEST_CASE("keys may be long and contain any bytes") {
  auto server = support::start_server();
  if (!server) return;
  Arena arena(*server);
  const Names keys{std::string("\0\r\n\xff", 4), std::string(1 << 20, 'k'), "a b", "*"};
  Outcomes expected;
  for (const auto& key : keys) {
    arena.ask(key, "gcra");
    expected.emplace_back(key, "removed gcra");
  }
  arena.ask("not asked for", "gcra");
  CHECK(arena.reset(keys) == expected);
  CHECK(arena.call({"DBSIZE"}).integer() == 1);
}

}  // namespace state_reset_test
