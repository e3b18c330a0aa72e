#include "redis/router.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "redis/error.h"
#include "support/failure.h"
#include "support/fake_node.h"

// Nodes that answer what real ones cannot be made to. "foo" and "bar" are in slots 12182 and 5061.

namespace redis_router_test {

using namespace std::chrono_literals;
using rlctl::redis::Connection;
using rlctl::redis::display;
using rlctl::redis::Error;
using rlctl::redis::Failure;
using rlctl::redis::HostPort;
using rlctl::redis::kMayHaveRun;
using rlctl::redis::Reply;
using rlctl::redis::Scheme;
using rlctl::redis::to_error;
using rlctl::redis::Url;
using support::contains;
using support::error_of;
using support::FakeNode;
using support::message_of;
using Words = std::vector<std::string>;

namespace {

constexpr auto kLong = 60s;
/// For a test that waits for the time-out.
constexpr auto kShort = 300ms;

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}
std::string number(long long value) {
  return ":" + std::to_string(value) + "\r\n";
}
std::string slots_row(int first, int last, const HostPort& master) {
  return "*3\r\n" + number(first) + number(last) + "*3\r\n" + bulk(master.host) +
         number(master.port) + bulk("id");
}

/// Two masters: `low` has the lower half of the slots, with "bar", `high` the upper, with "foo".
/// Each replies with its name and the command's key, unless `special` of that node replies.
struct FakeCluster {
  using Special = std::function<std::optional<FakeNode::Answer>(const Words&)>;

  FakeNode low, high;

  FakeCluster() {
    serve(low, "low");
    serve(high, "high");
  }
  [[nodiscard]] std::string slots() const {
    return "*2\r\n" + slots_row(0, 8191, low.address()) + slots_row(8192, 16383, high.address());
  }
  void serve(FakeNode& node, const std::string& name, Special special = nullptr) {
    node.set_script([this, name, special](const Words& words) -> FakeNode::Answer {
      if (special) {
        if (auto answer = special(words)) return *answer;
      }
      if (words.front() == "CLUSTER") return {slots()};
      return {"+" + name + " " + words.back() + "\r\n"};
    });
  }
  [[nodiscard]] Url url() const {
    return {.scheme = Scheme::kCluster, .port = low.address().port, .more_hosts = {high.address()}};
  }
  /// Of the node alone, as if it were no Cluster's.
  [[nodiscard]] static Url plain(const FakeNode& node) { return {.port = node.address().port}; }
};

FakeNode::Answer moved(int slot, const std::string& to) {
  return {"-MOVED " + std::to_string(slot) + " " + to + "\r\n"};
}

/// Answers `times` commands that begin like this so, then as others.
FakeCluster::Special first(int times, std::string command, FakeNode::Answer answer) {
  auto left = std::make_shared<int>(times);
  return [=](const Words& words) -> std::optional<FakeNode::Answer> {
    if (words.front() != command || *left == 0) return std::nullopt;
    --*left;
    return answer;
  };
}
FakeCluster::Special always(std::string command, FakeNode::Answer answer) {
  return first(-1, std::move(command), std::move(answer));
}

std::string text(const Reply& reply) {
  return std::string(reply.text());
}

/// As a program with an event loop does it: never blocks in a call, and does not send after it has
/// sent all.
std::optional<Reply> poll_for_reply(Connection& connection, std::chrono::seconds most = kLong) {
  const auto end = rlctl::Clock::now() + most;
  while (rlctl::Clock::now() < end) {
    if (auto reply = connection.try_read()) return reply;
    pollfd polled{connection.fd(), POLLIN, 0};
    ::poll(&polled, 1, 1000);
  }
  return std::nullopt;
}

}  // namespace

// ---- Order ----

TEST_CASE("the replies of several nodes come in the order of the commands") {
  FakeCluster cluster;
  auto connection = Connection::open(cluster.url(), kLong);
  const Words keys{"foo", "bar", "{bar}2", "foo", "{foo}2", "bar"};
  for (const auto& key : keys) connection.append({"GET", key});
  CHECK(connection.outstanding() == keys.size());
  for (const auto& key : keys) {
    CHECK(text(connection.read()) == (contains(key, "foo") ? "high " : "low ") + key);
  }
  CHECK(connection.outstanding() == 0);
  CHECK(cluster.low.clients() + cluster.high.clients() == 3);  // one of them for the slots
}

TEST_CASE("keys in different slots are refused before anything is sent") {
  FakeCluster cluster;
  auto connection = Connection::open(cluster.url(), kLong);
  const auto error = error_of([&] { connection.append({"UNLINK", "foo", "bar"}); });
  CHECK(error.failure() == Failure::kUsage);
  CHECK(connection.outstanding() == 0);
  CHECK(text(connection.call({"GET", "foo"})) == "high foo");
}

// ---- MOVED ----

TEST_CASE("MOVED is followed, and later commands go to the new owner at once") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", moved(5061, cluster.high.name())));
  auto connection = Connection::open(cluster.url(), kLong);
  CHECK(text(connection.call({"GET", "bar"})) == "high bar");
  CHECK(text(connection.call({"TTL", "foo"})) == "high foo");
  CHECK(cluster.low.count("GET") == 1);
}

TEST_CASE("MOVED without a host names another port of the same host") {
  FakeCluster cluster;
  const auto port = std::to_string(cluster.high.address().port);
  for (const auto& host : {"", "?"}) {
    cluster.serve(cluster.low, "low", always("GET", moved(5061, host + (":" + port))));
    CHECK(text(Connection::open(cluster.url(), kLong).call({"GET", "bar"})) == "high bar");
    CHECK(text(Connection::open(FakeCluster::plain(cluster.low), kLong).call({"GET", "bar"})) ==
          "high bar");
  }
}

TEST_CASE("MOVED to an IPv6 address names it") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", moved(5061, "::1:1")));
  auto connection = Connection::open(cluster.url(), kShort);
  const auto reply = connection.call({"GET", "bar"});
  REQUIRE(reply.is_error());
  const auto error = to_error(reply);
  CHECK(error.failure() == Failure::kNotSent);
  CHECK(contains(message_of(error), "redis://[::1]:1"));
}

TEST_CASE("a malformed MOVED or ASK is the answer, and does no harm") {
  for (const std::string sent :
       {"MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED 1 host",
        "MOVED 1 host:", "MOVED 1 :", "MOVED 16384 127.0.0.1:1", "MOVED -1 127.0.0.1:1",
        "MOVED x 127.0.0.1:1", "MOVED 1 127.0.0.1:x", "MOVED 1 127.0.0.1:0",
        "MOVED 1 127.0.0.1:65536", "MOVED 1 127.0.0.1:99999999999", "MOVED  1 127.0.0.1:1", "ASK 1",
        "ASK 1 :0", "MOVEDX 1 a:1"}) {
    CAPTURE(sent);
    FakeCluster cluster;
    cluster.serve(cluster.low, "low", first(1, "GET", {"-" + sent + "\r\n"}));
    const bool is_plain = sent.starts_with("MOVED");
    auto connection =
        Connection::open(is_plain ? FakeCluster::plain(cluster.low) : cluster.url(), kLong);
    CHECK(text(connection.call({"GET", "bar"})) == sent);
    CHECK(text(connection.call({"GET", "bar"})) == "low bar");
  }
}

TEST_CASE("nodes that send a command to and fro are given up at the time-out, with their answer") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", moved(5061, cluster.high.name())));
  cluster.serve(cluster.high, "high", always("GET", moved(5061, cluster.low.name())));
  auto connection = Connection::open(cluster.url(), kShort);
  const auto reply = connection.call({"GET", "bar"});
  REQUIRE(reply.is_error());
  CHECK(to_error(reply).code() == "MOVED");
  CHECK(to_error(reply).hint() != kMayHaveRun);
  // Six in a row, each 50 ms.
  CHECK(cluster.low.count("GET") + cluster.high.count("GET") <= 60);
  CHECK(text(connection.call({"TTL", "foo"})) == "high foo");
}

// ---- ASK, TRYAGAIN, CLUSTERDOWN ----

TEST_CASE("ASK is followed with ASKING, for this command only") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", first(1, "GET", {"-ASK 5061 " + cluster.high.name() + "\r\n"}));
  auto connection = Connection::open(cluster.url(), kLong);
  CHECK(text(connection.call({"GET", "bar"})) == "high bar");
  CHECK(text(connection.call({"GET", "bar"})) == "low bar");
  const Words expected{"ASKING", "GET bar"};
  CHECK(cluster.high.seen() == expected);
}

TEST_CASE("a script that the importing node lacks is loaded there once for a pipeline") {
  FakeCluster cluster;
  const std::string sha(40, 'a');
  auto asked = std::make_shared<bool>(false);
  auto has_script = std::make_shared<bool>(false);
  const auto load = [sha](const Words& words) -> std::optional<FakeNode::Answer> {
    if (words.front() == "SCRIPT") return FakeNode::Answer{bulk(sha)};
    if (words.front() != "EVALSHA") return std::nullopt;
    return FakeNode::Answer{"-ASK 5061 " + words.back() + "\r\n"};
  };
  cluster.serve(cluster.low, "low", load);
  cluster.serve(cluster.high, "high", [=](const Words& words) -> std::optional<FakeNode::Answer> {
    if (words.front() == "SCRIPT") {
      *has_script = true;
      return FakeNode::Answer{bulk(sha)};
    }
    const bool may = std::exchange(*asked, words.front() == "ASKING");
    if (words.front() != "EVALSHA") return std::nullopt;
    if (!*has_script) return FakeNode::Answer{"-NOSCRIPT No matching script.\r\n"};
    return may ? FakeNode::Answer{"+ran\r\n"} : FakeNode::Answer{"-MOVED 5061 127.0.0.1:1\r\n"};
  });
  auto connection = Connection::open(cluster.url(), kLong);
  REQUIRE(text(connection.call({"SCRIPT", "LOAD", "return 1"})) == sha);
  *has_script = false;
  const auto loads = cluster.high.count("SCRIPT");
  for (int i = 0; i < 100; ++i) {
    connection.append({"EVALSHA", sha, "1", "bar", cluster.high.name()});
  }
  for (int i = 0; i < 100; ++i) CHECK(text(connection.read()) == "ran");
  CHECK(cluster.high.count("SCRIPT") - loads == 1);
}

TEST_CASE("NOSCRIPT of one node loads the script there, once for a pipeline") {
  FakeCluster cluster;
  const std::string sha(40, 'a');
  auto has_script = std::make_shared<bool>(false);
  cluster.serve(cluster.low, "low", always("SCRIPT", {bulk(sha)}));
  cluster.serve(cluster.high, "high", [=](const Words& words) -> std::optional<FakeNode::Answer> {
    if (words.front() == "SCRIPT") {
      *has_script = true;
      return FakeNode::Answer{bulk(sha)};
    }
    if (words.front() != "EVALSHA" || *has_script) return std::nullopt;
    return FakeNode::Answer{"-NOSCRIPT No matching script.\r\n"};
  });
  auto connection = Connection::open(cluster.url(), kLong);
  for (int round = 0; round < 3; ++round) {
    if (round == 0) REQUIRE(text(connection.call({"SCRIPT", "LOAD", "return 1"})) == sha);
    if (round == 2) {
      *has_script = false;  // SCRIPT FLUSH by somebody
    }
    const auto loads = cluster.high.count("SCRIPT");
    for (int i = 0; i < 100; ++i) connection.append({"EVALSHA", sha, "1", "foo"});
    for (int i = 0; i < 100; ++i) CHECK(text(connection.read()) == "high foo");
    CHECK(cluster.high.count("SCRIPT") - loads == (round == 2 ? 1 : 0));
  }
  CHECK(cluster.low.count("SCRIPT") == 1);
}

TEST_CASE("NOSCRIPT is the answer if the script is not known, or loading it does not help") {
  FakeCluster cluster;
  cluster.serve(cluster.high, "high", always("EVALSHA", {"-NOSCRIPT No matching script.\r\n"}));
  auto connection = Connection::open(cluster.url(), kLong);
  const std::string sha(40, 'a');
  CHECK(text(connection.call({"EVALSHA", sha, "1", "foo"})) == "NOSCRIPT No matching script.");
  cluster.serve(cluster.low, "low", always("SCRIPT", {bulk(sha)}));
  CHECK(text(connection.call({"SCRIPT", "LOAD", "return 1"})).size() > 0);
  CHECK(text(connection.call({"EVALSHA", sha, "1", "foo"})) == "NOSCRIPT No matching script.");
}

TEST_CASE("TRYAGAIN and CLUSTERDOWN are retried until the time-out") {
  for (const auto* code : {"TRYAGAIN", "CLUSTERDOWN"}) {
    CAPTURE(code);
    FakeCluster cluster;
    const FakeNode::Answer refusal{"-" + std::string(code) + " not now\r\n"};
    cluster.serve(cluster.low, "low", first(3, "GET", refusal));
    auto patient = Connection::open(cluster.url(), kLong);
    patient.append({"GET", "bar"});
    patient.append({"GET", "foo"});
    CHECK(text(patient.read()) == "low bar");
    CHECK(text(patient.read()) == "high foo");
    CHECK(cluster.low.count("GET") == 4);

    cluster.serve(cluster.low, "low", always("GET", refusal));
    auto connection = Connection::open(cluster.url(), kShort);
    const auto reply = connection.call({"GET", "bar"});
    REQUIRE(reply.is_error());
    CHECK(to_error(reply).code() == code);
    CHECK(to_error(reply).failure() == Failure::kNotNow);
  }
}

TEST_CASE("a program with an event loop needs no further call to send for what was refused") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", first(2, "GET", {"-TRYAGAIN not now\r\n"}));
  cluster.serve(cluster.high, "high", first(1, "GET", moved(12182, cluster.low.name())));
  for (const auto& url : {cluster.url(), FakeCluster::plain(cluster.high)}) {
    auto connection = Connection::open(url, kLong);
    connection.append({"GET", "foo"});
    connection.send_some();
    const auto reply = poll_for_reply(connection);
    REQUIRE(reply);
    CHECK(text(*reply).ends_with(" foo"));  // the slots that are asked for say it is high
    cluster.serve(cluster.high, "high", first(1, "GET", moved(12182, cluster.low.name())));
  }
}

TEST_CASE("a connection with nothing to do is not ready") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", {"-TRYAGAIN not now\r\n"}));
  auto connection = Connection::open(cluster.url(), kShort);
  CHECK(connection.call({"GET", "bar"}).is_error());
  connection.append({"GET", "bar"});
  connection.send_some();
  const auto reply = poll_for_reply(connection);
  REQUIRE(reply);
  CHECK(to_error(*reply).code() == "TRYAGAIN");
  // A timer that was set may go off once more.
  pollfd polled{connection.fd(), POLLIN, 0};
  for (int i = 0; i < 3; ++i) {
    if (::poll(&polled, 1, 200) > 0) CHECK_FALSE(connection.try_read());
  }
  CHECK(::poll(&polled, 1, 0) == 0);
}

// ---- Failures ----

TEST_CASE("a connection that breaks answers only what was sent on it") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", first(1, "GET", {"", true}));
  auto connection = Connection::open(cluster.url(), kLong);
  for (int i = 0; i < 10; ++i) {
    connection.append({"GET", "bar"});
    connection.append({"GET", "foo"});
  }
  for (int i = 0; i < 10; ++i) {
    const auto lost = connection.read();
    REQUIRE(lost.is_error());
    const auto error = to_error(lost);
    CHECK(error.failure() == Failure::kUnreachable);
    CHECK(error.hint() == kMayHaveRun);
    CHECK(text(connection.read()) == "high foo");
  }
  CHECK(text(connection.call({"GET", "bar"})) == "low bar");
  CHECK(cluster.low.count("GET") == 2);
}

TEST_CASE("what was not sent whole is sent on another connection") {
  FakeCluster cluster;
  const std::string big(std::size_t{1} << 20, 'x');
  cluster.serve(cluster.low, "low", first(1, "SET", {"", true}));
  auto connection = Connection::open(cluster.url(), kLong);
  constexpr int kCommands = 40;  // more than sockets hold
  for (int i = 0; i < kCommands; ++i) connection.append({"SET", "bar", big, std::to_string(i)});
  int lost = 0, done = 0;
  for (int i = 0; i < kCommands; ++i) {
    const auto reply = connection.read();
    if (reply.is_error()) {
      CHECK(to_error(reply).hint() == kMayHaveRun);
      CHECK(done == 0);
      ++lost;
    } else {
      CHECK(text(reply) == "low " + std::to_string(i));
      ++done;
    }
  }
  CHECK(lost > 0);
  CHECK(done > 0);
  CHECK(cluster.low.count("SET") == done + 1);  // the node has read one of the lost ones
}

TEST_CASE("a node that hangs times out alone, and what it answers too late is not taken") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", {""}));
  auto connection = Connection::open(cluster.url(), kShort);
  for (int i = 0; i < 3; ++i) {
    connection.append({"GET", "bar"});
    connection.append({"GET", "foo"});
  }
  for (int i = 0; i < 3; ++i) {
    const auto late = connection.read();
    REQUIRE(late.is_error());
    CHECK(to_error(late).failure() == Failure::kTimeout);
    CHECK(to_error(late).hint() == kMayHaveRun);
    CHECK(text(connection.read()) == "high foo");
  }
  CHECK(cluster.low.count("GET") == 3);
}

TEST_CASE("a node that hangs gets at most one pipeline a second to be in doubt about") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", {""}));
  auto connection = Connection::open(cluster.url(), kShort);
  const auto start = rlctl::Clock::now();
  int in_doubt = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto reply = connection.call({"GET", "bar"});
    REQUIRE(reply.is_error());
    if (to_error(reply).hint() == kMayHaveRun) {
      ++in_doubt;
    } else {
      CHECK(contains(message_of(to_error(reply)), "was not sent"));
    }
  }
  CHECK(in_doubt <= 1 + (rlctl::Clock::now() - start) / 1s);
  CHECK(cluster.low.count("GET") == in_doubt);
}

TEST_CASE("time_out() answers for the nodes that are late, not for others") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", {""}));
  auto connection = Connection::open(cluster.url(), kLong);
  connection.append({"GET", "bar"});
  connection.send_some();
  rlctl::wait_for(-1, 0, nullptr, rlctl::Clock::now() + kShort);
  connection.append({"GET", "foo"});
  connection.time_out(kShort);
  const auto late = connection.try_read();
  REQUIRE(late);
  CHECK(to_error(*late).failure() == Failure::kTimeout);
  CHECK(text(connection.read()) == "high foo");
}

TEST_CASE("a node that is down from the start answers for its keys only, after the time-out") {
  FakeCluster cluster;
  const HostPort nobody{.host = "127.0.0.1", .port = 1};
  cluster.serve(cluster.high, "high",
                always("CLUSTER", {"*2\r\n" + slots_row(0, 8191, nobody) +
                                   slots_row(8192, 16383, cluster.high.address())}));
  Url url = cluster.url();
  url.port = 1;
  auto connection = Connection::open(url, kShort);
  connection.append({"GET", "bar"});
  connection.append({"GET", "foo"});
  const auto refused = connection.read();
  REQUIRE(refused.is_error());
  CHECK(to_error(refused).failure() == Failure::kNotSent);
  CHECK(contains(message_of(to_error(refused)), "was not sent"));
  CHECK(text(connection.read()) == "high foo");
  // By now it has been down for long: no further wait.
  CHECK(connection.call({"GET", "bar"}).is_error());
}

TEST_CASE("a node that has been down for long is replaced as soon as the Cluster knows by whom") {
  FakeCluster cluster;
  auto is_replaced = std::make_shared<bool>(false);
  const HostPort nobody{.host = "127.0.0.1", .port = 1};
  const auto before =
      "*2\r\n" + slots_row(0, 8191, nobody) + slots_row(8192, 16383, cluster.high.address());
  cluster.serve(cluster.high, "high", [=](const Words& words) -> std::optional<FakeNode::Answer> {
    if (words.front() != "CLUSTER" || *is_replaced) return std::nullopt;
    return FakeNode::Answer{before};
  });
  Url url = cluster.url();
  url.port = cluster.high.address().port;
  auto connection = Connection::open(url, kShort);
  for (int i = 0; i < 3; ++i) CHECK(connection.call({"GET", "bar"}).is_error());
  *is_replaced = true;
  std::string answer;
  for (const auto end = rlctl::Clock::now() + kLong; rlctl::Clock::now() < end;) {
    answer = text(connection.call({"GET", "bar"}));
    if (answer == "low bar") break;
  }
  CHECK(answer == "low bar");
}

TEST_CASE("a node that refuses the password answers with that, and others go on") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("AUTH", {"-WRONGPASS no\r\n"}));
  cluster.serve(cluster.high, "high", always("AUTH", {"+OK\r\n"}));
  Url url = cluster.url();
  url.password = "secret";
  auto connection = Connection::open(url, kLong);
  connection.append({"GET", "bar"});
  connection.append({"GET", "foo"});
  const auto refused = connection.read();
  REQUIRE(refused.is_error());
  CHECK(to_error(refused).failure() == Failure::kRefused);
  CHECK(to_error(refused).code() == "WRONGPASS");
  CHECK_FALSE(contains(message_of(to_error(refused)), "secret"));
  CHECK(text(connection.read()) == "high foo");
}

TEST_CASE("a user who may not ask for the slots is told so, or follows MOVED") {
  FakeCluster cluster;
  const auto refuse = always("CLUSTER", {"-NOPERM this user has no permissions\r\n"});
  cluster.serve(cluster.high, "high", refuse);
  cluster.serve(cluster.low, "low", [&, refuse](const Words& words) {
    return words.back() == "foo" ? std::optional(moved(12182, cluster.high.name())) : refuse(words);
  });
  const auto error = error_of([&] { (void)Connection::open(cluster.url(), kLong); });
  CHECK(error.failure() == Failure::kRefused);
  CHECK(contains(error.hint(), "+cluster|slots"));
  auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
  for (int i = 0; i < 3; ++i) {
    connection.append({"GET", "foo"});
    connection.append({"GET", "bar"});
    CHECK(text(connection.read()) == "high foo");
    CHECK(text(connection.read()) == "low bar");
  }
  CHECK(cluster.low.count("GET foo") == 1);
  // The masters that MOVED has named may not be all.
  CHECK(error_of([&] { (void)connection.servers(); }).failure() == Failure::kRefused);
}

TEST_CASE("a node that sends no RESP, or too many replies, answers for its keys only") {
  for (const auto* bytes : {"HTTP/1.1 400 Bad Request\r\n", "+low bar\r\n+more\r\n", "$-5\r\n"}) {
    CAPTURE(bytes);
    FakeCluster cluster;
    cluster.serve(cluster.low, "low", first(1, "GET", {bytes}));
    auto connection = Connection::open(cluster.url(), kLong);
    connection.append({"GET", "bar"});
    connection.append({"GET", "foo"});
    const auto reply = connection.read();
    if (std::string(bytes).starts_with('+')) {
      CHECK(text(reply) == "low bar");
    } else {
      CHECK(to_error(reply).failure() == Failure::kProtocol);
    }
    CHECK(text(connection.read()) == "high foo");
    CHECK(text(connection.call({"GET", "bar"})) == "low bar");
  }
}

// ---- A plain URL ----

TEST_CASE("a deep pipeline to one node goes on over all of them at the first MOVED") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", [&](const Words& words) -> std::optional<FakeNode::Answer> {
    if (!words.back().starts_with("{foo}")) return std::nullopt;
    return moved(12182, cluster.high.name());
  });
  auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
  constexpr int kDeep = 2000;
  const auto key = [](int i) { return (i % 3 == 2 ? "{foo}" : "{bar}") + std::to_string(i); };
  for (int i = 0; i < kDeep; ++i) connection.append({"GET", key(i)});
  CHECK(connection.outstanding() == kDeep);
  for (int i = 0; i < kDeep; ++i) {
    REQUIRE(text(connection.read()) == (i % 3 == 2 ? "high " : "low ") + key(i));
  }
  CHECK(cluster.high.count("GET") == kDeep / 3);
}

TEST_CASE("the node of a plain URL may hang up after the first MOVED, and is connected to again") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", first(1, "TTL", {"", true}));
  cluster.serve(cluster.high, "high", first(1, "GET", moved(5061, cluster.low.name())));
  auto connection = Connection::open(FakeCluster::plain(cluster.high), kLong);
  CHECK(text(connection.call({"GET", "bar"})) == "low bar");
  CHECK(connection.call({"TTL", "bar"}).is_error());
  CHECK(text(connection.call({"TTL", "bar"})) == "low bar");
  cluster.serve(cluster.high, "high", first(1, "TTL", {"", true}));
  CHECK(connection.call({"TTL", "foo"}).is_error());
  CHECK(text(connection.call({"TTL", "foo"})) == "high foo");
}

// ---- Bytes that do not all come ----

TEST_CASE("a first MOVED that breaks off at any byte never leads to a wrong or a second answer") {
  FakeCluster cluster;
  const auto whole = moved(12182, cluster.high.name()).bytes;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    cluster.serve(cluster.low, "low", first(1, "GET", {whole.substr(0, size), true}));
    auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
    connection.append({"GET", "foo"});
    connection.append({"TTL", "foo"});
    if (size < whole.size()) {
      const auto error = error_of([&] { (void)connection.read(); });
      CHECK(error.failure() == Failure::kUnreachable);
      CHECK(error.hint() == kMayHaveRun);
      CHECK(error_of([&] { (void)connection.read(); }).failure() == Failure::kUnreachable);
    } else {
      CHECK(text(connection.read()) == "high foo");
      const auto lost = connection.read();  // it was sent to the node that hung up
      CHECK(to_error(lost).hint() == kMayHaveRun);
    }
  }
  CHECK(cluster.high.count("GET") == 1);
  CHECK(cluster.high.count("TTL") == 0);
}

TEST_CASE("slots that break off at any byte are asked of another node") {
  FakeCluster cluster;
  const auto whole = cluster.slots();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    const FakeNode::Answer part{whole.substr(0, size), true};
    cluster.serve(cluster.low, "low", always("CLUSTER", part));
    auto connection = Connection::open(cluster.url(), kLong);
    connection.append({"GET", "foo"});
    connection.append({"GET", "bar"});
    CHECK(text(connection.read()) == "high foo");
    CHECK(text(connection.read()) == "low bar");
  }
}

TEST_CASE("a plain URL is no worse off if the slots break off") {
  FakeCluster cluster;
  const auto whole = cluster.slots();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const FakeNode::Answer part{whole.substr(0, size), true};
    cluster.serve(cluster.high, "high", always("CLUSTER", part));
    cluster.serve(cluster.low, "low",
                  [&, part](const Words& words) -> std::optional<FakeNode::Answer> {
                    if (words.front() == "CLUSTER") return part;
                    if (words.back() != "foo") return std::nullopt;
                    return moved(12182, cluster.high.name());
                  });
    auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
    connection.append({"GET", "foo"});
    connection.append({"GET", "bar"});
    CHECK(text(connection.read()) == "high foo");
    CHECK(text(connection.read()) == "low bar");
  }
}

TEST_CASE("slots that make no sense are an error") {
  const auto row = [](const std::string& first, const std::string& last, const std::string& node) {
    return "*1\r\n*3\r\n" + first + last + node;
  };
  const std::string node = "*2\r\n" + bulk("127.0.0.1") + number(1);
  for (const auto& slots :
       {std::string("*0\r\n"), std::string("+OK\r\n"), std::string(":5\r\n"),
        std::string("*-1\r\n"), std::string("*1\r\n*0\r\n"), row(number(5), number(4), node),
        row(number(-1), number(4), node), row(number(0), number(16384), node),
        row(number(4294967296), number(4294967297), node), row(bulk("a"), bulk("b"), node),
        row(number(0), number(5), number(7)), row(number(0), number(5), "*0\r\n"),
        row(number(0), number(5), "*1\r\n" + bulk("127.0.0.1")),
        row(number(0), number(5), "*2\r\n" + bulk("127.0.0.1") + number(65536)),
        row(number(0), number(5), "*2\r\n" + bulk("127.0.0.1") + bulk("x"))}) {
    CAPTURE(slots);
    FakeCluster cluster;
    cluster.serve(cluster.low, "low", always("CLUSTER", {slots}));
    cluster.serve(cluster.high, "high", always("CLUSTER", {slots}));
    const auto error = error_of([&] { (void)Connection::open(cluster.url(), kLong); });
    const bool is_not_ready = error.failure() == Failure::kNotNow;
    CHECK((is_not_ready || error.failure() == Failure::kProtocol));
    // Nothing is made of it either if it comes later.
    auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
    cluster.serve(cluster.low, "low",
                  [&, slots](const Words& words) -> std::optional<FakeNode::Answer> {
                    if (words.front() == "CLUSTER") return FakeNode::Answer{slots};
                    return moved(12182, cluster.high.name());
                  });
    CHECK(text(connection.call({"GET", "foo"})) == "high foo");
    CHECK(text(connection.call({"GET", "foo"})) == "high foo");
  }
}

}  // namespace redis_router_test
