// needs: server
#include "redis/connection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "redis/error.h"
#include "support/failure.h"
#include "support/fake_transport.h"
#include "support/scripted_server.h"

namespace rlctl::redis::connection_test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace support;

namespace {

constexpr std::chrono::microseconds kLong = 120s, kShort = 50ms;
constexpr const char* kPing = "*1\r\n$4\r\nPING\r\n";

}  // namespace

TEST_CASE("a command is written as an array of byte strings") {
  Wire wire;
  auto connection = over(wire);
  connection.append({"SET", "key", ""});
  connection.append({"GET", std::string_view("a\0b\r\n", 5)});
  CHECK(wire.sent.empty());
  CHECK(connection.has_unsent());
  CHECK(connection.send_some());
  CHECK_FALSE(connection.has_unsent());
  CHECK(wire.sent ==
        "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n"
        "*2\r\n$3\r\nGET\r\n$5\r\na\0b\r\n\r\n"s);
}

TEST_CASE("an empty command is refused, and the connection stays usable") {
  Wire wire;
  auto connection = over(wire);
  CHECK(error_of([&] { connection.append({}); }).failure() == Failure::kUsage);
  CHECK(connection.outstanding() == 0);
  wire.to_read = {"+PONG\r\n"};
  CHECK(connection.call({"PING"}).text() == "PONG");
}

TEST_CASE("replies arrive in the order of their commands, in one round trip") {
  Wire wire;
  auto connection = over(wire);
  for (int i = 0; i < 3; ++i) connection.append({"PING"});
  CHECK(connection.outstanding() == 3);
  wire.to_read = {":1\r\n:2\r\n:", "3\r\n"};
  CHECK(connection.read().integer() == 1);
  CHECK(wire.sent == std::string(kPing) + kPing + kPing);
  CHECK(connection.read().integer() == 2);
  CHECK(connection.outstanding() == 1);
  CHECK(connection.read().integer() == 3);
  CHECK(connection.outstanding() == 0);
}

TEST_CASE("a command is sent in pieces when the socket is full") {
  Wire wire{.room = 5};
  auto connection = over(wire);
  connection.append({"PING"});
  CHECK_FALSE(connection.send_some());
  CHECK(connection.has_unsent());
  CHECK(wire.sent.size() == 5);
  connection.append({"PING"});
  connection.flush();
  CHECK(wire.sent == std::string(kPing) + kPing);
}

TEST_CASE("replies that arrive while a long pipeline is being sent are kept") {
  constexpr int kCommands = 20'000;
  Wire wire{.room = 100};
  auto connection = over(wire);
  for (int i = 0; i < kCommands; ++i) {
    connection.append({"PING"});
    wire.to_read.push_back(":" + std::to_string(i) + "\r\n");
  }
  connection.flush();
  bool in_order = true;
  for (int i = 0; i < kCommands; ++i) in_order = in_order && connection.read().integer() == i;
  CHECK(in_order);
}

TEST_CASE("polling for a reply neither waits nor sends") {
  Wire wire;
  auto connection = over(wire);
  connection.append({"PING"});
  CHECK_FALSE(connection.try_read().has_value());
  CHECK(wire.sent.empty());
  connection.flush();
  wire.to_read = {"+PO"};
  CHECK_FALSE(connection.try_read().has_value());
  wire.to_read = {"NG\r\n+MORE\r\n"};
  CHECK(connection.try_read()->text() == "PONG");
  CHECK(connection.try_read()->text() == "MORE");
  CHECK_FALSE(connection.try_read().has_value());
}

TEST_CASE(
    "one command may have several replies, as in the script debugger, also one with an error") {
  Wire wire;
  auto connection = over(wire);
  wire.to_read = {"-ERR no\r\n+b\r\n", "+PONG\r\n"};
  CHECK(connection.call({"EVAL"}).is_error());
  CHECK(connection.read().text() == "b");
  CHECK(connection.outstanding() == 0);
  CHECK(connection.call({"PING"}).text() == "PONG");
}

TEST_CASE("AUTH and SELECT share a round trip, and nothing is sent before both are OK") {
  struct Case {
    Url url;
    std::string answers, sent;
  };
  const Case cases[] = {{{.user = "alice", .password = "se cret", .database = 3},
                         "+OK\r\n+OK\r\n",
                         "*3\r\n$4\r\nAUTH\r\n$5\r\nalice\r\n$7\r\nse cret\r\n"
                         "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"},
                        {{.password = "secret"}, "+OK\r\n", "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n"},
                        {{}, "", ""}};
  for (const auto& each : cases) {
    CAPTURE(each.sent);
    std::string before, after;
    ScriptedServer server([&](Peer& peer) {
      if (!each.sent.empty()) before = peer.read_until(each.sent);
      for (const char byte : each.answers) peer.write({&byte, 1});
      after = peer.read_until("PING\r\n");
      peer.write("+PONG\r\n");
    });
    Url url = each.url;
    url.scheme = server.url().scheme;
    url.path = server.url().path;
    auto connection = Connection::open(url, kLong);
    CHECK(connection.outstanding() == 0);
    CHECK(connection.call({"PING"}).text() == "PONG");
    CHECK(before == each.sent);
    CHECK(after == kPing);
  }
}

TEST_CASE("if AUTH and SELECT are not both OK, in time, nothing else is sent") {
  struct Case {
    const char* answer;
    Failure failure;
    std::string command, message;
  };
  const Case cases[] = {
      {"-WRONGPASS invalid username-password pair\r\n-NOAUTH Authentication required.\r\n",
       Failure::kRefused, "AUTH", ": AUTH: WRONGPASS invalid username-password pair"},
      {"+OK\r\n-ERR DB index is out of range\r\n", Failure::kRejected, "SELECT",
       ": SELECT: DB index is out of range"},
      {"+OK\r\n:1\r\n", Failure::kProtocol, "", ""},
      {"+OK\r\n", Failure::kTimeout, "", ""},
      {"-ERR max number of clients reached\r\n", Failure::kNotNow, "",
       ": max number of clients reached"}};
  for (const auto& each : cases) {
    CAPTURE(each.answer);
    std::size_t more = 0;
    {
      ScriptedServer server([&](Peer& peer) {
        peer.read_until("$1\r\n9\r\n");
        peer.write(each.answer);
        more = peer.read_to_end();
      });
      Url url = server.url();
      url.password = "geheim";
      url.database = 9;
      const bool is_late = each.failure == Failure::kTimeout;
      const auto error = error_of([&] { (void)Connection::open(url, is_late ? kShort : kLong); });
      CHECK(error.failure() == each.failure);
      if (!each.command.empty()) CHECK(error.command() == each.command);
      if (!each.message.empty()) CHECK(message_of(error) == display(url) + each.message);
      CHECK_FALSE(contains(error.what(), "geheim"));
      CHECK(error.hint().empty());  // nothing else can have been executed
    }
    CHECK(more == 0);
  }
}

TEST_CASE("a pipeline larger than all buffers does not deadlock") {
  constexpr std::size_t kCommands = 50'000;
  // The server reads nothing until its answers are read, like Redis with many pending answers.
  ScriptedServer server([](Peer& peer) {
    const std::string answer = "+" + std::string(std::string_view(kPing).size() * 4, 'x') + "\r\n";
    std::size_t commands = 0;
    for (std::string rest; commands < kCommands;) {
      rest = peer.read_until("\n");
      const auto count = static_cast<std::size_t>(std::count(rest.begin(), rest.end(), 'P'));
      if (count == 0) return;
      commands += count;
      for (std::size_t i = 0; i < count; ++i) peer.write(answer);
    }
    peer.read_to_end();
  });
  auto connection = Connection::open(server.url(), kLong);
  for (std::size_t i = 0; i < kCommands; ++i) connection.append({"PING"});
  connection.flush();
  bool all = true;
  for (std::size_t i = 0; i < kCommands; ++i) all = all && connection.read().text().size() > 1;
  CHECK(all);
}

TEST_CASE("a connection can be moved while a command is in flight") {
  Wire wire;
  auto first = over(wire);
  first.append({"PING"});
  wire.to_read = {"+PONG\r\n"};
  Connection second = std::move(first);
  CHECK(second.read().text() == "PONG");
}

}  // namespace rlctl::redis::connection_test
