// needs: server
// Errors of real servers, as a Connection reports them; others are in tests/cli/server_errors.bats
// and connection.bats.

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"
#include "support/failure.h"
#include "support/fake_cluster.h"
#include "support/scripted_server.h"

namespace rlctl::redis::server_errors_test {

using namespace std::chrono_literals;
using namespace support;

namespace {

constexpr auto kTimeout = 120s;

Connection open(const PrivateServer& server) {
  return Connection::open(server.url(), kTimeout);
}

Url as(const PrivateServer& server, const std::string& user, const std::string& password) {
  Url url = server.url();
  url.user = user;
  url.password = password;
  return url;
}

}  // namespace

TEST_CASE("the error of a reply refers to the server that was named and to the command") {
  PrivateServer server({.arguments = {"--requirepass", "pw"}});
  const auto endpoint = std::make_shared<const Endpoint>();
  auto connection = Connection::open(server.url(), kTimeout, nullptr, endpoint);
  connection.append({"GET", "k"});
  connection.append({"SCRIPT", "LOAD", "return 1"});
  connection.append_evalsha("0", {}, {});
  for (const char* command : {"GET", "SCRIPT LOAD", "EVALSHA"}) {
    const auto error = to_error(connection.read());
    CHECK(error.code() == "NOAUTH");
    CHECK(error.command() == command);
    CHECK(error.server() == endpoint);
  }
  CHECK(to_error(open(server).call({"GET", "k"})).server() == nullptr);
}

TEST_CASE("a replica names its master, as far as the user may ask; others have none") {
  PrivateServer server({.arguments = {"--replicaof", "127.0.0.1", "1"}});
  Url master;
  master.port = 1;
  const Endpoint replica{.url = server.url(), .timeout = kTimeout};
  CHECK(find_master(replica) == master);
  auto admin = open(server);
  const Endpoint bob{.url = as(server, "bob", "pw"), .timeout = kTimeout};
  for (const std::string may : {"+role", "+info"}) {
    CHECK(answers(admin, "ACL SETUSER bob reset on >pw " + may) == "OK");
    CHECK(find_master(Endpoint(bob)) == master);
  }
  CHECK(answers(admin, "ACL SETUSER bob reset on >pw") == "OK");
  CHECK_FALSE(find_master(bob));
  CHECK_FALSE(find_master({.url = as(server, "bob", "no"), .timeout = kTimeout}));
  CHECK(answers(admin, "REPLICAOF NO ONE") == "OK");
  CHECK(find_master(replica) == master);  // it asks only once
  CHECK_FALSE(find_master({.url = server.url(), .timeout = kTimeout}));
}

TEST_CASE("a master whose port is not one is none") {
  for (const std::string role : {"*3\r\n$5\r\nslave\r\n$1\r\nh\r\n:65536\r\n",
                                 "*3\r\n$5\r\nslave\r\n$1\r\nh\r\n:4294973675\r\n",
                                 "$28\r\nmaster_host:h\r\nmaster_port:0\r\n"}) {
    CAPTURE(role);
    ScriptedServer server([&](Peer& peer) {
      peer.read_until("replication\r\n");
      peer.write(role.starts_with('$') ? ":1\r\n" + role : role + "$0\r\n\r\n");
    });
    CHECK_FALSE(find_master({.url = server.url(), .timeout = kTimeout}));
  }
}

TEST_CASE("an interrupt ends the search for a replica's master") {
  Interrupt interrupt;
  // The answer comes only after the interrupt, which must have ended the wait for it.
  ScriptedServer server([&](Peer& peer) {
    peer.read_until("replication\r\n");
    interrupt.raise(SIGINT);
    peer.write("*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected\r\n:0\r\n$0\r\n\r\n");
  });
  const Endpoint replica{.url = server.url(), .timeout = kTimeout, .interrupt = &interrupt};
  CHECK_FALSE(find_master(replica));
}

TEST_CASE("errors of a script and of a command in it are rejections, recognized by their codes") {
  PrivateServer server;
  auto connection = open(server);
  CHECK(answers(connection, "SET s x") == "OK");
  const char* const wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
  const char* const cases[][3] = {
      {"return redis.call('LPUSH', KEYS[1], 1)", "WRONGTYPE", wrong},
      {"return redis.pcall('LPUSH', KEYS[1], 1)", "WRONGTYPE", wrong},
      {"return redis.error_reply('MYCODE no')", "MYCODE", "MYCODE no"},
      {"return redis.call('INCR', KEYS[1])", "ERR", "value is not an integer or out of range"},
      {"error('no')", "ERR", "user_script:1: no"}};
  for (const auto& row : cases) {
    const auto& [script, code, message] = row;
    CAPTURE(row[0]);
    const auto error = to_error(connection.call({"EVAL", script, "1", "s"}));
    CHECK(error.failure() == Failure::kRejected);
    CHECK(error.code() == code);
    CHECK(message_of(error) == message);
  }
  CHECK(answers(connection, "EVALSHA " + std::string(40, '0') + " 0").starts_with("NOSCRIPT"));
}

}  // namespace rlctl::redis::server_errors_test
