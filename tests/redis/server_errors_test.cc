// needs: server
// Refusals of real servers, as a Connection reports them.

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"
#include "support/failure.h"
#include "support/scripted_server.h"

namespace redis_server_errors_test {

using namespace std::chrono_literals;
using namespace rlctl::redis;
using namespace support;

namespace {

constexpr auto kTimeout = 120s;

Connection open(const PrivateServer& server) {
  return Connection::open(server.url(), kTimeout);
}

// A server with the user bob, who may run scripts but not SET.
void add_bob(Connection& connection) {
  REQUIRE(connection.call({"ACL", "SETUSER", "bob", "on", ">pw", "~*", "+eval", "+get"}).text() ==
          "OK");
}

// A connection to a server that has room for one, which may not have noticed yet that the one by
// which it was started is gone.
Connection first_client(const PrivateServer& server) {
  for (;;) {
    try {
      auto only = open(server);
      if (!only.call({"PING"}).is_error()) return only;
    } catch (const rlctl::redis::Error& error) {
      if (error.failure() != Failure::kNotNow) throw;
    }
  }
}

Url as(const PrivateServer& server, const std::string& user, const std::string& password) {
  Url url = server.url();
  url.user = user;
  url.password = password;
  return url;
}

}  // namespace

TEST_CASE("a server with a password refuses clients that give none or a wrong one") {
  PrivateServer server({.arguments = {"--requirepass", "pw"}});
  const auto none = open(server).call({"GET", "k"});
  CHECK(error_code(none.text()) == "NOAUTH");
  CHECK(to_error(none).failure() == Failure::kRefused);

  const auto wrong = error_of([&] { (void)Connection::open(as(server, "", "other"), kTimeout); });
  CHECK(wrong.code() == "WRONGPASS");
  CHECK(wrong.failure() == Failure::kRefused);
  const auto nobody =
      error_of([&] { (void)Connection::open(as(server, "nobody", "pw"), kTimeout); });
  CHECK(nobody.failure() == Failure::kRefused);

  for (const char* user : {"", "default"}) {
    auto right = Connection::open(as(server, user, "pw"), kTimeout);
    CHECK(right.call({"PING"}).text() == "PONG");
  }

  const PrivateServer without;
  const auto error = error_of([&] { (void)Connection::open(as(without, "", "geheim"), kTimeout); });
  CHECK(error.failure() == Failure::kRefused);
  CHECK_FALSE(contains(error.what(), "geheim"));
}

TEST_CASE("a command that the user may not run is refused, both inside and outside a script") {
  PrivateServer server;
  auto admin = open(server);
  add_bob(admin);
  auto bob = Connection::open(as(server, "bob", "pw"), kTimeout);
  CHECK(to_error(bob.call({"SET", "k", "v"})).failure() == Failure::kRefused);
  for (const char* call :
       {"return redis.call('SET', KEYS[1], 'v')", "return redis.pcall('SET', KEYS[1], 'v')"}) {
    const auto reply = bob.call({"EVAL", call, "1", "k"});
    CAPTURE(reply.text());
    REQUIRE(reply.is_error());
    CHECK(to_error(reply).failure() == Failure::kRefused);
  }
}

TEST_CASE("SELECT chooses the database, and a missing database stops everything") {
  PrivateServer server;
  Url url = server.url();
  url.database = 15;
  auto last = Connection::open(url, kTimeout);
  CHECK(last.call({"SET", "k", "15"}).text() == "OK");
  CHECK(open(server).call({"GET", "k"}).is_nil());

  url.database = 16;
  const auto error = error_of([&] { (void)Connection::open(url, kTimeout); });
  CHECK(error.failure() == Failure::kRejected);
  CHECK(contains(error.what(), "SELECT: DB index is out of range"));
  CHECK(error.hint().empty());
}

TEST_CASE("a server with too many clients says so to the next one, with or without a password") {
  PrivateServer server({.arguments = {"--maxclients", "1"}});
  const auto only = first_client(server);
  Url url = server.url();
  for (const int database : {0, 1}) {
    url.database = database;
    const auto error = error_of([&] {
      const auto reply = Connection::open(url, kTimeout).call({"PING"});
      if (reply.is_error()) throw to_error(reply);
    });
    CHECK(error.failure() == Failure::kNotNow);
    CHECK(contains(error.what(), "max number of clients reached"));
  }
}

TEST_CASE("the error of a reply refers to the server that was named and to the command") {
  PrivateServer server({.arguments = {"--requirepass", "pw"}});
  const auto endpoint = std::make_shared<const rlctl::redis::Endpoint>();
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
  using rlctl::redis::Endpoint;
  using rlctl::redis::find_master;
  const Endpoint replica{.url = server.url(), .timeout = kTimeout};
  CHECK(find_master(replica) == master);
  auto admin = open(server);
  for (const char* may : {"+role", "+info"}) {
    CHECK(admin.call({"ACL", "SETUSER", "bob", "reset", "on", ">pw", may}).text() == "OK");
    CHECK(find_master({.url = as(server, "bob", "pw"), .timeout = kTimeout}) == master);
  }
  CHECK(admin.call({"ACL", "SETUSER", "bob", "reset", "on", ">pw"}).text() == "OK");
  CHECK_FALSE(find_master({.url = as(server, "bob", "pw"), .timeout = kTimeout}));
  CHECK_FALSE(find_master({.url = as(server, "bob", "no"), .timeout = kTimeout}));
  CHECK(admin.call({"REPLICAOF", "NO", "ONE"}).text() == "OK");
  CHECK(find_master(replica) == master);  // it asks only once
  CHECK_FALSE(find_master({.url = server.url(), .timeout = kTimeout}));
}

TEST_CASE("a master whose port is not one is none") {
  for (const std::string role : {"*3\r\n$5\r\nslave\r\n$1\r\nh\r\n:65536\r\n",
                                 "*3\r\n$5\r\nslave\r\n$1\r\nh\r\n:4294973675\r\n",
                                 "$28\r\nmaster_host:h\r\nmaster_port:0\r\n"}) {
    CAPTURE(role);
    support::ScriptedServer server([&](support::Peer& peer) {
      peer.read_until("replication\r\n");
      peer.write(role.starts_with('$') ? ":1\r\n" + role : role + "$0\r\n\r\n");
    });
    CHECK_FALSE(rlctl::redis::find_master({.url = server.url(), .timeout = kTimeout}));
  }
}

TEST_CASE("an interrupt ends the search for a replica's master") {
  rlctl::Interrupt interrupt;
  // The answer comes only after the interrupt, which must have ended the wait for it.
  support::ScriptedServer server([&](support::Peer& peer) {
    peer.read_until("replication\r\n");
    interrupt.raise(SIGINT);
    peer.write("*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected\r\n:0\r\n$0\r\n\r\n");
  });
  const rlctl::redis::Endpoint replica{
      .url = server.url(), .timeout = kTimeout, .interrupt = &interrupt};
  CHECK_FALSE(rlctl::redis::find_master(replica));
}

TEST_CASE("errors of a script and of a command in it are rejections, recognized by their codes") {
  PrivateServer server;
  auto connection = open(server);
  CHECK(connection.call({"SET", "s", "x"}).text() == "OK");
  const auto message = [&](std::string_view script, std::string_view code) {
    const auto reply = connection.call({"EVAL", script, "1", "s"});
    CHECK(error_code(reply.text()) == code);
    const auto error = to_error(reply);
    CHECK(error.failure() == Failure::kRejected);
    return support::message_of(error);
  };
  const std::string wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
  CHECK(message("return redis.call('LPUSH', KEYS[1], 1)", "WRONGTYPE") == wrong);
  CHECK(message("return redis.pcall('LPUSH', KEYS[1], 1)", "WRONGTYPE") == wrong);
  CHECK(message("return redis.error_reply('MYCODE no')", "MYCODE") == "MYCODE no");
  CHECK(message("return redis.call('INCR', KEYS[1])", "ERR") ==
        "value is not an integer or out of range");
  CHECK(message("error('no')", "ERR") == "user_script:1: no");
  const auto unknown = connection.call({"EVALSHA", std::string(40, '0'), "0"});
  CHECK(error_code(unknown.text()) == "NOSCRIPT");
}

TEST_CASE("a server out of memory rejects a script's writes") {
  PrivateServer server({.arguments = {"--maxmemory", "1"}});
  const auto reply = open(server).call({"EVAL", "return redis.call('SET', 'k', 'v')", "1", "k"});
  CHECK(error_code(reply.text()) == "OOM");
  CHECK(contains(to_error(reply).what(), "OOM command not allowed"));
  CHECK_FALSE(contains(to_error(reply).what(), "script"));
}

TEST_CASE("a server busy with a script replies BUSY") {
  // The option's name before Redis 7; later versions still accept it.
  PrivateServer server({.arguments = {"--lua-time-limit", "1"}});
  auto looping = open(server);
  looping.append({"EVAL", "while true do end", "0"});
  looping.flush();
  auto other = open(server);
  // The script may not have started yet.
  auto reply = other.call({"PING"});
  for (int i = 0; i < 100 && !reply.is_error(); ++i) reply = other.call({"PING"});
  CHECK(error_code(reply.text()) == "BUSY");
  CHECK(to_error(reply).failure() == Failure::kNotNow);
  CHECK(other.call({"SCRIPT", "KILL"}).text() == "OK");
  CHECK(looping.read().is_error());
}

}  // namespace redis_server_errors_test
