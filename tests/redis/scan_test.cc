// needs: server
#include "redis/scan.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "redis/server.h"
#include "support/failure.h"
#include "support/fake_cluster.h"
#include "support/scripted_server.h"

namespace rlctl::redis::scan_test {

namespace {

using namespace support;
using Answer = std::optional<FakeNode::Answer>;

Connection connect(const PrivateServer& server) {
  return Connection::open(server.url(), kLong);
}

void fill(Connection& connection, int count) {
  for (int i = 0; i < count; ++i) connection.append({"SET", "key:" + std::to_string(i), "v"});
  for (int i = 0; i < count; ++i) REQUIRE(connection.read().text() == "OK");
}

}  // namespace

TEST_CASE("a scan finds every key and reports its progress") {
  PrivateServer server;
  auto connection = connect(server);
  constexpr int kKeys = 5000;
  fill(connection, kKeys);
  Scan scan(connection, "*", "100");
  std::set<std::string> found;
  double share = 0;
  while (!scan.done()) {
    for (auto& key : scan.next()) found.insert(std::move(key));
    CHECK(scan.share() >= share);
    share = scan.share();
    // Keys are distributed evenly in the table.
    CHECK(static_cast<double>(found.size()) / kKeys == doctest::Approx(share).epsilon(0.2));
  }
  CHECK(found.size() == kKeys);
  CHECK(share == 1);
}

TEST_CASE("a scan finds what matches the pattern, and an escaped pattern matches only itself") {
  PrivateServer server;
  auto connection = connect(server);
  const std::string names[] = {"a*b", "a?b",   "a[b]c", "a\\b", "axb",
                               "abc", "a\\*b", "]",     "^-",   std::string("a\0*\n", 4)};
  for (const auto& name : names) REQUIRE(connection.call({"SET", name, "v"}).text() == "OK");
  for (const auto& name : names) {
    CAPTURE(name);
    Scan scan(connection, escape_glob(name));
    CHECK(scan.next() == std::vector<std::string>{name});
  }
  Scan wild(connection, "a?b");
  CHECK(wild.next() == std::vector<std::string>{"a*b", "a?b", "a\\b", "axb"});
}

TEST_CASE("two scans on one connection continue independently") {
  PrivateServer server;
  auto connection = connect(server);
  fill(connection, 1000);
  Scan one(connection, "*", "10"), other(connection, "*", "10");
  std::set<std::string> found, found_by_other;
  while (!one.done()) {
    one.append();
    other.append();
    for (auto& key : one.take()) found.insert(std::move(key));
    for (auto& key : other.take()) found_by_other.insert(std::move(key));
  }
  CHECK(other.done());
  CHECK(found.size() == 1000);
  CHECK(found_by_other.size() == 1000);
}

TEST_CASE("the progress in a Cluster is that of its masters") {
  FakeCluster cluster;
  for (auto* node : {&cluster.low, &cluster.high}) {
    cluster.serve(*node, "node", [page = 0](const Words& words) mutable -> Answer {
      if (words.front() != "SCAN") return std::nullopt;
      return FakeNode::Answer{"*2\r\n" + bulk(std::to_string(++page % 3)) + "*0\r\n"};
    });
  }
  auto connection = Connection::open(cluster.url(), kLong);
  Scan scan(connection, "*");
  std::vector<double> shares;
  while (!scan.done()) {
    (void)scan.next();
    shares.push_back(scan.share());
  }
  CHECK(shares == std::vector<double>{0, 0, 0.5, 0.5, 0.5, 1});
}

TEST_CASE("a scan that the server refuses throws the server's error") {
  PrivateServer server;
  auto connection = connect(server);
  REQUIRE(connection.call({"ACL", "SETUSER", "default", "-scan"}).text() == "OK");
  Scan scan(connection, "*");
  const auto error = error_of([&] { (void)scan.next(); });
  CHECK(error.code() == "NOPERM");
  CHECK(error.failure() == Failure::kRefused);
}

TEST_CASE("a scan whose cursor stays the same is an error") {
  const ScriptedServer server([](Peer& peer) {
    (void)peer.read_until("SLOTS\r\n");
    peer.write("-ERR This instance has cluster support disabled\r\n");
    while (peer.read_until("1000\r\n").find("SCAN") != std::string::npos) {
      peer.write("*2\r\n$1\r\n7\r\n*0\r\n");
    }
  });
  auto connection = Connection::open(server.url(), kLong);
  Scan scan(connection, "*");
  CHECK(scan.next().empty());
  const auto error = error_of([&] { (void)scan.next(); });
  CHECK(error.failure() == Failure::kProtocol);
  CHECK(error.command() == "SCAN");
}

}  // namespace rlctl::redis::scan_test
