#include "redis/server_info.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "redis/connection.h"
#include "redis/private_server.h"
#include "support/failure.h"
#include "support/fake_cluster.h"
#include "support/temp_folder.h"

namespace redis_server_version_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using namespace rlctl::redis;
using namespace support;

namespace {

void write_program(const fs::path& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  fs::permissions(path, fs::perms::owner_all);
}

/// A folder with a program that prints this version.
fs::path folder_with(const TempFolder& root, const std::string& name, const std::string& binary,
                     const std::string& says) {
  const auto folder = root.path() / name;
  fs::create_directory(folder);
  write_program(folder / binary, "echo '" + says + " sha=00000000:0 malloc=libc bits=64'");
  return folder;
}

}  // namespace

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
  const auto stats = support::error_of([&] { (void)read_command_stats(connection); });
  CHECK(stats.failure() == Failure::kUnreachable);
}

TEST_CASE("the output of --version tells which server a binary is") {
  CHECK(parse_version_line("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0\n") ==
        ServerVersion{"redis", "7.0.15"});
  CHECK(parse_version_line("Valkey server v=9.1.2 sha=0") == ServerVersion{"valkey", "9.1.2"});
  CHECK_FALSE(parse_version_line("redis-check-rdb 7.0.15\n"));
  CHECK_FALSE(parse_version_line("Redis server v=unknown sha=0\n"));
  CHECK_FALSE(parse_version_line(" server v=7.0.15"));
  CHECK_FALSE(parse_version_line(""));
}

TEST_CASE("a version is shown in its vendor's spelling") {
  CHECK(display({"redis", "7.0.15"}) == "Redis 7.0.15");
  CHECK(ServerVersion{"redis", "10.2"}.major_number() == 10);
  CHECK(ServerVersion{"other", "df-v1"}.major_number() == -1);
}

TEST_CASE("a server and its binary report the same version") {
  PrivateServer server;
  auto connection = Connection::open(server.url(), 120s);
  const auto version = version_of(connection);
  REQUIRE(version.has_value());
  CHECK(version->major_number() >= 6);
  CHECK(version == version_of_binary(find_server_binary(), 120s));
}

TEST_CASE(
    "without permission for INFO the version comes from HELLO; a missing password is reported") {
  PrivateServer server;
  auto connection = Connection::open(server.url(), 120s);
  const auto version = version_of(connection);
  REQUIRE(connection.call({"ACL", "SETUSER", "default", "-info"}).text() == "OK");
  const auto by_hello = version_of(connection);
  REQUIRE(by_hello.has_value());
  CHECK(by_hello == version);
  REQUIRE(connection.call({"ACL", "SETUSER", "default", ">secret"}).text() == "OK");
  auto stranger = Connection::open(server.url(), 120s);
  const auto error = support::error_of([&] { (void)version_of(stranger); });
  CHECK(error.code() == "NOAUTH");
}

TEST_CASE("a binary that prints nothing or is not a server has no version, and is not waited for") {
  const TempFolder folder;
  write_program(folder.path() / "mute", "exec sleep 1000");
  write_program(folder.path() / "false", "exit 1");
  const auto began = std::chrono::steady_clock::now();
  CHECK_FALSE(version_of_binary(folder.path() / "mute", 100ms));
  CHECK_FALSE(version_of_binary(folder.path() / "false", 120s));
  CHECK_FALSE(version_of_binary(folder.path() / "not-there", 120s));
  CHECK(std::chrono::steady_clock::now() - began < 120s);
}

TEST_CASE("the binary most similar to the given server is chosen among several") {
  const TempFolder root;
  const auto old = folder_with(root, "old", "redis-server", "Redis server v=6.0.16");
  const auto young = folder_with(root, "young", "redis-server", "Redis server v=8.6.3");
  const auto valkey = folder_with(root, "valkey", "valkey-server", "Valkey server v=8.1.1");
  const ScopedVariable chosen("RLCTL_REDIS_SERVER", std::nullopt);
  const ScopedVariable path(
      "PATH", "/nowhere:" + old.string() + ":" + young.string() + "::" + valkey.string());
  CHECK(find_server_binary() == old / "redis-server");
  CHECK(find_server_binary(ServerVersion{"redis", "8.0.2"}) == young / "redis-server");
  CHECK(find_server_binary(ServerVersion{"redis", "7.0.15"}) == old / "redis-server");
  CHECK(find_server_binary(ServerVersion{"valkey", "8.0.1"}) == valkey / "valkey-server");
  CHECK(find_server_binary(ServerVersion{"valkey", "9.1.2"}) == valkey / "valkey-server");
  CHECK(find_server_binary(ServerVersion{"redict", "7.3.6"}) == old / "redis-server");
  const auto named = (valkey / "valkey-server").string();
  const ScopedVariable wins("RLCTL_REDIS_SERVER", named);
  CHECK(find_server_binary(ServerVersion{"redis", "8.0.2"}) == named);
}

}  // namespace redis_server_version_test
