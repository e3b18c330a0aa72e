#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <future>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/wait.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "support/cluster.h"
#include "support/failure.h"

// A Connection to a real Cluster. Each command adds one to a key, so that the keys tell how often
// it was executed.

namespace redis_router_cluster_test {

using namespace std::chrono_literals;
using rlctl::redis::Connection;
using rlctl::redis::to_error;
using rlctl::redis::Url;
using support::is_in_doubt;
using support::message_of;
using support::TestCluster;

namespace {

constexpr auto kLong = 120s;
constexpr int kKeys = 50;

std::string key(int i) {
  return "key:" + std::to_string(i % kKeys);
}

Url plain(const TestCluster& cluster, std::size_t node) {
  return {.host = cluster.address(node).host, .port = cluster.address(node).port};
}

/// What became of the commands for each key.
struct Counts {
  std::map<std::string, int> done, in_doubt, not_sent;
};

Counts add_one(Connection& connection, int commands) {
  for (int i = 0; i < commands; ++i) connection.append({"INCR", key(i)});
  Counts counts;
  for (int i = 0; i < commands; ++i) {
    const auto reply = connection.read();
    if (!reply.is_error()) {
      ++counts.done[key(i)];
      // In order: every reply tells how many came before it.
      REQUIRE(reply.integer() >= counts.done[key(i)]);
    } else if (is_in_doubt(to_error(reply))) {
      ++counts.in_doubt[key(i)];
    } else {
      const auto message = message_of(to_error(reply));
      CAPTURE(message);
      CHECK(message.ends_with("the command was not sent"));
      ++counts.not_sent[key(i)];
    }
  }
  return counts;
}

int value_of(const TestCluster& cluster, const std::string& key) {
  const auto node = cluster.node_of_slot(cluster.slot_of(key));
  const auto reply = cluster.call(node, {"GET", key});
  return reply.is_nil() ? 0 : std::stoi(std::string(reply.text()));
}

}  // namespace

TEST_CASE("each command of a deep pipeline is executed once while slots move") {
  const TestCluster cluster(3);
  for (const auto& url : {cluster.url(), plain(cluster, 1)}) {
    CHECK(cluster.call(0, {"FLUSHALL"}).text() == "OK");
    CHECK(cluster.call(1, {"FLUSHALL"}).text() == "OK");
    CHECK(cluster.call(2, {"FLUSHALL"}).text() == "OK");
    auto connection = Connection::open(url, kLong);
    Counts total;
    for (int round = 0; round < 3; ++round) {
      // The thread only asks servers; they were started by this one.
      auto moves = std::async(std::launch::async, [&] {
        for (int i = 0; i < 6; ++i) {
          const int slot = cluster.slot_of(key(i + round));
          cluster.move_slot(slot, (cluster.node_of_slot(slot) + 1) % 3);
        }
      });
      do {
        for (const auto& [name, count] : add_one(connection, 3000).done) total.done[name] += count;
      } while (moves.wait_for(0s) != std::future_status::ready);
      moves.get();
    }
    for (int i = 0; i < kKeys; ++i) CHECK(value_of(cluster, key(i)) == total.done[key(i)]);
  }
}

TEST_CASE("a node that is stopped leaves only what it was sent in doubt") {
  const TestCluster cluster(3);
  auto connection = Connection::open(cluster.url(), kLong);
  (void)add_one(connection, kKeys);
  const auto stopped = cluster.node_of_slot(cluster.slot_of(key(0)));
  ::kill(cluster.pid(stopped), SIGSTOP);
  // The others answer while it hangs, and nothing but its commands times out.
  for (int i = 0; i < 1000; ++i) connection.append({"INCR", key(i)});
  connection.send_some();
  connection.set_timeout(2s);
  int in_doubt = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto reply = connection.read();
    if (reply.is_error()) {
      CHECK(is_in_doubt(to_error(reply)));
      ++in_doubt;
    }
  }
  CHECK(in_doubt > 0);
  ::kill(cluster.pid(stopped), SIGCONT);
  // It is asked again a second later.
  const auto answers = [&] { return !connection.call({"GET", key(0)}).is_error(); };
  for (const auto end = rlctl::Clock::now() + kLong; rlctl::Clock::now() < end;) {
    if (answers()) break;
  }
  CHECK_FALSE(connection.call({"GET", key(0)}).is_error());
  for (int i = 0; i < kKeys; ++i) CHECK(value_of(cluster, key(i)) <= 1 + 1000 / kKeys);
}

TEST_CASE("a replica takes over from a node that was killed, and no command is executed twice") {
  TestCluster cluster(3, 1, 1s);
  auto connection = Connection::open(cluster.url(), kLong);
  std::set<std::string> of_killed;
  const auto killed = cluster.node_of_slot(cluster.slot_of(key(0)));
  for (int i = 0; i < kKeys; ++i) {
    if (cluster.node_of_slot(cluster.slot_of(key(i))) == killed) of_killed.insert(key(i));
  }
  for (int i = 0; i < 5000; ++i) connection.append({"INCR", key(i)});
  connection.send_some();
  cluster.kill(killed);
  Counts counts;
  for (int i = 0; i < 5000; ++i) {
    const auto reply = connection.read();
    ++(reply.is_error() ? counts.in_doubt : counts.done)[key(i)];
    if (reply.is_error()) CHECK(is_in_doubt(to_error(reply)));
  }
  cluster.wait_for_failover();
  for (int i = 0; i < kKeys; ++i) {
    const int value = value_of(cluster, key(i));
    if (of_killed.contains(key(i))) {
      CHECK(value <= counts.done[key(i)] + counts.in_doubt[key(i)]);
    } else {
      CHECK(counts.in_doubt[key(i)] == 0);
      CHECK(value == counts.done[key(i)]);
    }
  }
  CHECK(connection.call({"INCR", key(0)}).integer() > 0);
}

}  // namespace redis_router_cluster_test
