#include <doctest/doctest.h>

#include "support/cluster.h"

// The helpers of tests/support/cluster.h, which other tests rely on.

namespace cluster_helpers_test {

using namespace std::chrono_literals;
using support::TestCluster;
using support::TestSentinels;

TEST_CASE("a slot of a test Cluster is moved in steps, and a killed master is replaced") {
  TestCluster cluster(3, 1, 1s);
  const int slot = cluster.slot_of("{a}1");
  const auto from = cluster.node_of_slot(slot);
  const auto to = (from + 1) % 3;
  REQUIRE(cluster.call(from, {"SET", "{a}1", "one"}).text() == "OK");
  REQUIRE(cluster.call(from, {"SET", "{a}2", "two"}).text() == "OK");
  cluster.begin_move(slot, to);
  cluster.move_keys(slot, to, {"{a}1"});
  CHECK(cluster.call(from, {"GET", "{a}1"}).text().starts_with("ASK "));
  CHECK(cluster.call(from, {"GET", "{a}2"}).text() == "two");
  cluster.move_keys(slot, to);
  cluster.end_move(slot, to);
  CHECK(cluster.call(to, {"GET", "{a}2"}).text() == "two");
  CHECK(cluster.call(from, {"GET", "{a}2"}).text().starts_with("MOVED "));

  const auto killed = cluster.node_of_slot(8192);
  cluster.kill(killed);
  cluster.wait_for_failover();
  CHECK(cluster.node_of_slot(8192) == killed + 3);
}

TEST_CASE("test Sentinels fail over") {
  TestSentinels sentinels(2, 1s);
  REQUIRE(sentinels.master() == 0);
  sentinels.fail_over();
  const auto master = sentinels.master().value();
  CHECK(master != 0);
  sentinels.kill(master);
  sentinels.wait_for_failover(master);
  CHECK(sentinels.master() != master);
}

}  // namespace cluster_helpers_test
