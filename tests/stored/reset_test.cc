// needs: server
#include "stored/reset.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "support/fake_cluster.h"
#include "support/limiters.h"
#include "support/reset_arena.h"
#include "support/temp_folder.h"

namespace stored_reset_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test::reset;

TEST_CASE("a key that is not a limiter's is left byte for byte, with its TTL") {
  Arena arena;
  struct Case {
    std::vector<std::string_view> create;  ///< a command, the key and its contents
    const char* outcome;
  };
  const Case cases[] = {{{"SET", "text", "gcra 17"}, "left string no-limiter-state"},
                        {{"SET", "number", "17", "PX", "60000"}, "left foreign-counter foreign"},
                        {{"SET", "empty", ""}, "left string no-limiter-state"},
                        {{"HSET", "hash", "f", "v"}, "left hash no-limiter-state"},
                        {{"SADD", "set", "m"}, "left set no-limiter-state"},
                        {{"XADD", "stream", "1-1", "f", "v"}, "left stream no-limiter-state"},
                        {{"RPUSH", "words", "a", "b"}, "left list no-limiter-state"},
                        {{"RPUSH", "numbers", "1", "2", "3"}, "left list no-limiter-state"},
                        {{"ZADD", "scores", "1", "a"}, "left zset no-limiter-state"},
                        {{"ZADD", "times", "1700000000123", "a"}, "left foreign-zset foreign"},
                        {{"PFADD", "sketch", "a"}, "left string no-limiter-state"}};
  Outcomes expected;
  Names keys, dumps;
  for (const auto& each : cases) {
    (void)arena.call(each.create);
    keys.emplace_back(each.create[1]);
    expected.emplace_back(keys.back(), each.outcome);
    dumps.push_back(arena.dump(keys.back()));
    REQUIRE_FALSE(dumps.back().empty());
  }
  CHECK(arena.reset(keys) == expected);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CAPTURE(keys[i]);
    CHECK(arena.dump(keys[i]) == dumps[i]);
  }
  CHECK(arena.call({"PTTL", "number"}).integer() > 0);

  const auto forced = arena.reset(keys, {.force = true});
  CHECK(forced.size() == keys.size());
  for (const auto& outcome : forced) CHECK(outcome.second.starts_with("removed "));
  CHECK(arena.call({"DBSIZE"}).integer() == 0);
}

TEST_CASE(
    "all kinds of outcomes are reported in the order of the keys, even for more than one batch") {
  Arena arena;
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
  Arena arena;
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

TEST_CASE("a refused command is reported, and nothing is removed") {
  Arena arena;
  for (const std::string_view command : {"unlink", "evalsha", "script", "type", "getrange"}) {
    CAPTURE(command);
    arena.ask("k", "gcra");
    const auto before = arena.dump("k");
    (void)arena.call({"ACL", "SETUSER", "default", "-" + std::string(command)});
    Arena fresh(arena.url());
    const auto failed = fresh.fail_to_reset({"k"});
    (void)arena.call({"ACL", "SETUSER", "default", "+@all"});
    CHECK((failed.code == "NOPERM") != (command == "unlink"));  // in a script
    CHECK(failed.failure == redis::Failure::kRefused);
    CHECK(failed.outcomes.empty());
    CHECK(failed.in_doubt.empty());
    CHECK(arena.dump("k") == before);
  }
}

TEST_CASE("a replica reports that it is one and keeps the key") {
  Arena arena;
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
  Arena arena;
  const auto keys = arena.ask_for(2500, "gcra");
  int looks = 0;
  const ResetOptions options{.on_looked = [&](std::size_t) {
    if (++looks == 2) ::kill(arena.pid(), SIGKILL);
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

/// A Cluster of one node, which passes commands on to a server, and fails while the second batch,
/// of one key, is removed.
class FailingCluster {
 public:
  FailingCluster() : arena(start_node()), file(folder.path() / "saved") {
    keys = arena.ask_for(201, "gcra");
  }

  Arena::Failed fail_to_reset(const std::function<void()>& fail) {
    file.begin(std::nullopt);
    const auto on_looked = [&](std::size_t) {
      // The first batch may be looked at again, since keys whose TTL seems to have changed are.
      if (server_.call({"DBSIZE"}).integer() > 1) return;
      arena.connection().set_timeout(support::kShort);
      fail();
    };
    auto failed = arena.fail_to_reset(keys, {.on_looked = on_looked, .save_to = &file});
    CHECK(failed.outcomes.size() == 200);
    return failed;
  }

  std::atomic<bool> hangs = false;
  std::optional<support::FakeNode> node{std::in_place};

 private:
  redis::Url start_node() {
    node->set_script([this](const support::Words& words) -> support::FakeNode::Answer {
      if (hangs) return {};
      if (words.front() != "CLUSTER") return {support::encoded(server_.call(words))};
      return {"*1\r\n" + support::slots_row(0, 16383, node->address())};
    });
    return {.scheme = redis::Scheme::kCluster, .port = node->address().port};
  }

  test::TestServer server_;

 public:
  Arena arena;
  support::TempFolder folder;
  SaveFile file;
  Names keys;
};

}  // namespace

TEST_CASE("keys that a node of a Cluster was sent and did not answer for are reported as unknown") {
  FailingCluster place;
  const auto failed = place.fail_to_reset([&] { place.hangs = true; });
  CHECK(failed.failure == redis::Failure::kTimeout);
  CHECK(failed.in_doubt == Names{"200"});
  CHECK(place.file.is_kept());
}

TEST_CASE("a key that could not be sent to its node is certainly not removed") {
  FailingCluster place;
  const auto failed = place.fail_to_reset([&] {
    place.node.reset();
    pollfd hung_up{place.arena.connection().fd(), POLLIN, 0};
    REQUIRE(::poll(&hung_up, 1, 120'000) == 1);
    // So that the connection, which is idle by then, is looked at before the next command.
    std::this_thread::sleep_for(20ms);
  });
  CHECK(failed.failure == redis::Failure::kNotSent);
  CHECK(failed.in_doubt.empty());
  CHECK(place.file.is_kept());
}

}  // namespace stored_reset_test
