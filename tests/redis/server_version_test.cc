// needs: server
#include "redis/server.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "redis/connection.h"
#include "support/failure.h"
#include "support/fake_cluster.h"

namespace rlctl::redis::server_version_test {

using namespace std::chrono_literals;
using namespace support;

TEST_CASE("INFO tells which server it is, even if it claims to be Redis") {
  CHECK(parse_info("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
                   "gcc_version:12.2.0\r\n") == ServerVersion{"redis", "7.0.15"});
  CHECK(parse_info("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\n"
                   "valkey_version:8.1.1\r\n") == ServerVersion{"valkey", "8.1.1"});
  CHECK(parse_info("redict_version:7.3.6\nredis_version:7.2.4\n") ==
        ServerVersion{"redict", "7.3.6"});
  CHECK(parse_info("redis_version:7.4.0\r\nother_version:1.27.1\r\n") ==
        ServerVersion{"redis", "7.4.0"});
  CHECK_FALSE(parse_info("gcc_version:12.2.0\r\n"));
  CHECK_FALSE(parse_info(""));
}

TEST_CASE("a node of a Cluster that hangs up is a failure, not one that must not be asked") {
  support::FakeCluster cluster;
  for (auto* node : {&cluster.low, &cluster.high}) {
    cluster.serve(*node, "node", support::always("INFO", {.bytes = {}, .hangs_up = true}));
  }
  auto connection = Connection::open(cluster.url(), support::kLong);
  const auto version = support::error_of([&] { (void)version_of(connection); });
  CHECK(version.failure() == Failure::kUnreachable);
  const auto counts = support::error_of([&] { (void)read_call_counts(connection); });
  CHECK(counts.failure() == Failure::kUnreachable);
}

TEST_CASE("a version is shown in its vendor's spelling") {
  CHECK(display({"redis", "7.0.15"}) == "Redis 7.0.15");
  CHECK(ServerVersion{"redis", "10.2"}.major_number() == 10);
  CHECK(ServerVersion{"other", "df-v1"}.major_number() == -1);
}

TEST_CASE(
    "without permission for INFO the version comes from HELLO; a missing password is reported") {
  PrivateServer server;
  auto connection = Connection::open(server.url(), 120s);
  const auto version = version_of(connection);
  REQUIRE(version.has_value());
  CHECK(version->major_number() >= 6);
  REQUIRE(connection.call({"ACL", "SETUSER", "default", "-info"}).text() == "OK");
  const auto by_hello = version_of(connection);
  REQUIRE(by_hello.has_value());
  CHECK(by_hello == version);
  REQUIRE(connection.call({"ACL", "SETUSER", "default", ">secret"}).text() == "OK");
  auto stranger = Connection::open(server.url(), 120s);
  const auto error = support::error_of([&] { (void)version_of(stranger); });
  CHECK(error.code() == "NOAUTH");
}

}  // namespace rlctl::redis::server_version_test
