// needs: server
#include <doctest/doctest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/wait.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "support/failure.h"
#include "support/fake_cluster.h"

// Where the commands of a Connection go, with nodes that answer what real ones cannot be made to.

namespace rlctl::redis::router_test {

using namespace std::chrono_literals;
using namespace support;

namespace {

// As every server writes them.
constexpr const char* kTryAgain = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
constexpr const char* kClusterDown = "-CLUSTERDOWN The cluster is down\r\n";
constexpr const char* kNotServed = "-CLUSTERDOWN Hash slot not served\r\n";

/// As a program with an event loop does it: never blocks in a call, and does not send after it has
/// sent all.
std::optional<Reply> poll_for_reply(Connection& connection) {
  const auto end = Clock::now() + kLong;
  while (Clock::now() < end) {
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
  append(connection, "GET foo; GET bar; GET {bar}2; GET foo; GET {foo}2; GET bar");
  CHECK(connection.outstanding() == 6);
  CHECK(read(connection, 6) == "high foo; low bar; low {bar}2; high foo; high {foo}2; low bar");
  CHECK(connection.outstanding() == 0);
  CHECK(cluster.low.clients() + cluster.high.clients() == 3);  // one of them for the slots
}

TEST_CASE("keys in different slots are refused before anything is sent") {
  FakeCluster cluster;
  auto connection = Connection::open(cluster.url(), kLong);
  const auto error = error_of([&] { connection.append({"UNLINK", "foo", "bar"}); });
  CHECK(error.failure() == Failure::kUsage);
  CHECK(connection.outstanding() == 0);
  CHECK(answers(connection, "GET foo") == "high foo");
}

// ---- MOVED ----

TEST_CASE(
    "MOVED is followed, and later commands go to the new owner at once, with or without a key") {
  // Such as MULTI and EXEC after WATCH, which would guard nothing elsewhere.
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", moved(5061, cluster.high.name())));
  auto connection = Connection::open(cluster.url(), kLong);
  CHECK(answers(connection, "GET bar") == "high bar");
  CHECK(answers(connection, "PING") == "high PING");
  CHECK(answers(connection, "TTL foo") == "high foo");
  CHECK(cluster.low.count("GET") == 1);
}

TEST_CASE("a pipeline of which every command, or every second, is MOVED does not wait for long") {
  for (const std::string_view other : {"bar", "b"}) {  // both are in slots of the first node
    FakeCluster cluster;
    cluster.serve(cluster.low, "low", [&](const Words& words) -> std::optional<FakeNode::Answer> {
      if (words != Words{"GET", "bar"}) return std::nullopt;
      return FakeNode::Answer{moved(5061, cluster.high.name())};
    });
    auto connection = Connection::open(cluster.url(), kLong);
    for (int i = 0; i < 200; ++i) connection.append({"GET", i % 2 == 0 ? "bar" : other});
    connection.flush();
    cluster.low.wait_for("GET", 200);
    std::this_thread::sleep_for(50ms);  // the replies are there, so that no poll reports them
    const auto start = Clock::now();
    for (int i = 0; i < 200; ++i) {
      CHECK(text(connection.read()) == (i % 2 == 0 || other == "bar" ? "high bar" : "low b"));
    }
    // Each wait that nothing ends lasts a second.
    CHECK(Clock::now() - start < 60s);
  }
}

TEST_CASE("each command of a deep pipeline is executed once while slots move to and fro") {
  // The keys are at home, then elsewhere, then ASKed for elsewhere.
  std::mutex mutex;
  int asked = 0;
  std::map<std::string, int> executed;
  FakeCluster cluster;
  const auto serve = [&](FakeNode& node, FakeNode& other, const std::string& its_key) {
    auto asking = std::make_shared<bool>(false);
    const auto script = [&, asking,
                         its_key](const Words& words) -> std::optional<FakeNode::Answer> {
      const bool may = std::exchange(*asking, words.front() == "ASKING");
      if (words.front() != "SET") return std::nullopt;
      const std::lock_guard lock(mutex);
      const auto phase = ++asked / 100 % 3;
      const bool is_at_home = words[1] == its_key;
      if (phase == 0 ? is_at_home : !is_at_home && (phase == 1 || may)) {
        ++executed[words.back()];
        return std::nullopt;
      }
      const int slot = words[1] == "bar" ? 5061 : 12182;
      if (phase < 2 || !is_at_home) return moved(slot, other.name());
      return FakeNode::Answer{"-ASK " + std::to_string(slot) + " " + other.name() + "\r\n"};
    };
    cluster.serve(node, "at", script);
  };
  serve(cluster.low, cluster.high, "bar");
  serve(cluster.high, cluster.low, "foo");
  for (const auto& url : {cluster.url(), FakeCluster::plain(cluster.low)}) {
    auto connection = Connection::open(url, kLong);
    constexpr int kCommands = 3000;
    for (int i = 0; i < kCommands; ++i) {
      connection.append({"SET", i % 2 == 0 ? "bar" : "foo", std::to_string(i)});
    }
    for (int i = 0; i < kCommands; ++i) {
      CHECK(text(connection.read()) == "at " + std::to_string(i));
    }
    const std::lock_guard lock(mutex);
    CHECK(executed.size() == kCommands);
    for (const auto& [command, times] : executed) CHECK(times == 1);
    executed.clear();
  }
}

TEST_CASE("MOVED without a host names another port of the same host") {
  FakeCluster cluster;
  const auto port = std::to_string(cluster.high.address().port);
  for (const auto& host : {"", "?"}) {
    cluster.serve(cluster.low, "low", always("GET", moved(5061, host + (":" + port))));
    for (const auto& url : {cluster.url(), FakeCluster::plain(cluster.low)}) {
      auto connection = Connection::open(url, kLong);
      CHECK(answers(connection, "GET bar") == "high bar");
    }
  }
}

TEST_CASE("MOVED to an IPv6 address names it") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", moved(5061, "::1:1")));
  auto connection = Connection::open(cluster.url(), kLong);
  connection.set_timeout(kShort);
  const auto error = to_error(connection.call({"GET", "bar"}));
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
    CHECK(answers(connection, "GET bar") == "low bar");
  }
}

TEST_CASE("nodes that send a command to and fro are given up at the timeout, with their answer") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", moved(5061, cluster.high.name())));
  cluster.serve(cluster.high, "high", always("GET", moved(5061, cluster.low.name())));
  auto connection = Connection::open(cluster.url(), kLong);
  connection.set_timeout(kShort);
  const auto start = Clock::now();
  const auto reply = connection.call({"GET", "bar"});
  const auto took = Clock::now() - start;
  REQUIRE(reply.is_error());
  CHECK(to_error(reply).code() == "MOVED");
  CHECK_FALSE(is_in_doubt(to_error(reply)));
  // Every 50 ms, six times in a row.
  CHECK(cluster.low.count("GET") + cluster.high.count("GET") <= (took / 50ms + 1) * 6);
  connection.set_timeout(kLong);
  CHECK(answers(connection, "TTL foo") == "high foo");
}

// ---- ASK, TRYAGAIN, CLUSTERDOWN ----

TEST_CASE("ASK is followed with ASKING, for this command only") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", first(1, "GET", {"-ASK 5061 " + cluster.high.name() + "\r\n"}));
  auto connection = Connection::open(cluster.url(), kLong);
  CHECK(answers(connection, "GET bar") == "high bar");
  CHECK(answers(connection, "GET bar") == "low bar");
  CHECK(cluster.high.seen() == Words{"ASKING", "GET bar"});
}

TEST_CASE("a script that a node lacks is loaded there once for a pipeline, also behind ASK") {
  for (const std::string key : {"foo", "bar"}) {
    CAPTURE(key);
    const std::string sha(40, 'a');
    std::atomic<bool> has_script = false;
    bool is_asking = false;
    FakeCluster cluster;
    const auto importer = cluster.high.name();
    cluster.serve(cluster.low, "low", [&](const Words& words) -> std::optional<FakeNode::Answer> {
      if (words.front() == "SCRIPT") return FakeNode::Answer{bulk(sha)};
      if (words.front() != "EVALSHA") return std::nullopt;
      return FakeNode::Answer{"-ASK 5061 " + importer + "\r\n"};
    });
    cluster.serve(cluster.high, "high", [&](const Words& words) -> std::optional<FakeNode::Answer> {
      if (words.front() == "SCRIPT") {
        has_script = true;
        return FakeNode::Answer{bulk(sha)};
      }
      const bool may = std::exchange(is_asking, words.front() == "ASKING") || key == "foo";
      if (words.front() != "EVALSHA") return std::nullopt;
      if (!has_script) return FakeNode::Answer{"-NOSCRIPT No matching script.\r\n"};
      return may ? FakeNode::Answer{"+ran\r\n"} : FakeNode::Answer{"-MOVED 5061 127.0.0.1:1\r\n"};
    });
    auto connection = Connection::open(cluster.url(), kLong);
    REQUIRE(text(connection.call({"SCRIPT", "LOAD", "return 1"})) == sha);
    for (const bool is_flushed : {false, true}) {
      if (is_flushed) has_script = false;
      const auto loads = cluster.high.count("SCRIPT");
      for (int i = 0; i < 100; ++i) connection.append({"EVALSHA", sha, "1", key});
      for (int i = 0; i < 100; ++i) CHECK(text(connection.read()) == "ran");
      CHECK(cluster.high.count("SCRIPT") - loads == (is_flushed ? 1 : 0));
    }
    CHECK(cluster.low.count("SCRIPT") == 1);
  }
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

TEST_CASE("TRYAGAIN and CLUSTERDOWN are retried until the timeout") {
  for (const auto* sentence : {kTryAgain, kClusterDown, kNotServed}) {
    CAPTURE(sentence);
    FakeCluster cluster;
    const FakeNode::Answer refusal{sentence};
    cluster.serve(cluster.low, "low", first(3, "GET", refusal));
    auto connection = Connection::open(cluster.url(), kLong);
    CHECK(answers(connection, "GET bar; GET foo") == "low bar; high foo");
    CHECK(cluster.low.count("GET") == 4);

    cluster.serve(cluster.low, "low", always("GET", refusal));
    connection.set_timeout(kShort);
    const std::string_view words = sentence;
    const std::string code(words.substr(1, words.find(' ') - 1));
    CHECK(answers(connection, "GET bar") == "not now " + code);
  }
}

TEST_CASE("an error with a Cluster's code but not its words is the answer, sent once") {
  // A script may reply it after it has written.
  for (const std::string error :
       {"TRYAGAIN later", "CLUSTERDOWN", "MOVED 5061 127.0.0.1:1", "MOVED 12181 127.0.0.1:1",
        "ASK 5061 127.0.0.1:1", "NOSCRIPT later", "READONLY now"}) {
    CAPTURE(error);
    FakeCluster cluster;
    const std::string sha(40, 'a');
    cluster.serve(cluster.low, "low", always("SCRIPT", {bulk(sha)}));
    cluster.serve(cluster.high, "high", [&](const Words& words) -> std::optional<FakeNode::Answer> {
      if (words.front() == "SCRIPT") return FakeNode::Answer{bulk(sha)};
      if (words.front() == "EVALSHA") return FakeNode::Answer{"-" + error + "\r\n"};
      return std::nullopt;
    });
    for (const auto& url : {cluster.url(), FakeCluster::plain(cluster.high)}) {
      auto connection = Connection::open(url, kLong);
      REQUIRE(text(connection.call({"SCRIPT", "LOAD", "return 1"})) == sha);
      const auto before = cluster.high.count("EVALSHA");
      CHECK(text(connection.call({"EVALSHA", sha, "1", "foo"})) == error);
      CHECK(cluster.high.count("EVALSHA") - before == 1);
    }
  }
}

TEST_CASE("a server that is no Cluster's is not left for the one that a script names") {
  FakeCluster cluster;
  int asked = 0;
  cluster.serve(cluster.low, "low", [&](const Words& words) -> std::optional<FakeNode::Answer> {
    if (words.front() == "CLUSTER") {
      return FakeNode::Answer{"-ERR This instance has cluster support disabled\r\n"};
    }
    ++asked;
    return moved(5061, cluster.high.name());
  });
  auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
  const auto answer = "MOVED 5061 " + cluster.high.name();
  CHECK(answers(connection, "GET bar; GET bar") == answer + "; " + answer);
  CHECK(asked == 2);
  CHECK(cluster.low.count("CLUSTER") == 1);
  CHECK(cluster.high.seen().empty());
}

TEST_CASE("a node that refuses CLUSTER SLOTS and HELLO is not taken for a standalone server") {
  FakeCluster cluster;
  // Redis 6.0 refuses even HELLO.
  cluster.low.set_script([](const Words& words) -> FakeNode::Answer {
    if (words.front() == "EXISTS") {
      return {"-CROSSSLOT Keys in request don't hash to the same slot\r\n"};
    }
    return {"-NOPERM this user has no permissions to run the '" + words.front() + "' command\r\n"};
  });
  auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
  const auto error = error_of([&] { static_cast<void>(connection.servers()); });
  CHECK(error.failure() == Failure::kRefused);
  CHECK(contains(error.what(), "CLUSTER"));
}

TEST_CASE("after an interrupt every command is answered, with what has arrived") {
  constexpr int kCommands = 5;
  int counted = 0;
  for (int attempt = 0; attempt < 10 && counted < kCommands - 1; ++attempt) {
    int asked = 0;
    Interrupt interrupt;
    FakeCluster cluster;
    cluster.low.set_script([&](const Words& words) -> FakeNode::Answer {
      if (words.front() == "AUTH") return {"+OK\r\n"};
      if (words.front() == "CLUSTER") return {cluster.slots()};
      return asked++ == 0 ? moved(5061, cluster.high.name()) : FakeNode::Answer{"+counted\r\n"};
    });
    // The first command is referred to a node that does not let rlctl log in.
    cluster.high.set_script([&](const Words&) -> FakeNode::Answer {
      interrupt.raise(SIGINT);
      return {};
    });
    auto url = FakeCluster::plain(cluster.low);
    url.password = "secret";
    auto connection = Connection::open(url, kLong, &interrupt);
    for (int i = 0; i < kCommands; ++i) connection.append({"GET", "bar"});
    CHECK_THROWS_AS(static_cast<void>(connection.read()), Interrupted);
    cluster.low.wait_for("GET", kCommands);
    // The last answers are on their way, and TCP may wait for 40 ms before it sends them.
    std::this_thread::sleep_for(100ms * (attempt + 1));
    REQUIRE(connection.give_up());
    std::vector<std::string> replies;
    while (connection.outstanding() > 0) {
      const auto reply = connection.try_read();
      REQUIRE(reply);
      replies.push_back(text(*reply));
    }
    REQUIRE(replies.size() == kCommands);
    CHECK(replies.front() != "counted");
    counted = static_cast<int>(std::count(replies.begin(), replies.end(), "counted"));
  }
  CHECK(counted == kCommands - 1);
}

TEST_CASE("the node of a plain URL may first reply ASK, TRYAGAIN or CLUSTERDOWN") {
  FakeCluster cluster;
  const auto ask = "-ASK 5061 " + cluster.high.name() + "\r\n";
  for (const auto& refusal : {ask, std::string(kTryAgain), std::string(kClusterDown)}) {
    CAPTURE(refusal);
    cluster.serve(cluster.low, "low", first(1, "GET", {refusal}));
    auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
    const std::string answer = refusal == ask ? "high bar" : "low bar";
    CHECK(answers(connection, "GET bar; TTL bar") == answer + "; low bar");
  }
}

TEST_CASE("a program with an event loop needs no further call to send for what was refused") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", first(2, "GET", {kTryAgain}));
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
  cluster.serve(cluster.low, "low", always("GET", {kTryAgain}));
  auto connection = Connection::open(cluster.url(), kLong);
  connection.set_timeout(kShort);
  CHECK(answers(connection, "GET bar") == "not now TRYAGAIN");
  append(connection, "GET bar");
  connection.send_some();
  const auto reply = poll_for_reply(connection);
  REQUIRE(reply);
  CHECK(outcome(*reply) == "not now TRYAGAIN");
  // A timer that was set may go off once more.
  pollfd polled{connection.fd(), POLLIN, 0};
  for (int i = 0; i < 3; ++i) {
    if (::poll(&polled, 1, 200) > 0) CHECK_FALSE(connection.try_read());
  }
  CHECK(::poll(&polled, 1, 0) == 0);
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
  CHECK(answers(connection, "GET bar") == "low bar");
  CHECK(answers(connection, "TTL bar") == "unreachable, in doubt");
  CHECK(answers(connection, "TTL bar") == "low bar");
  cluster.serve(cluster.high, "high", first(1, "TTL", {"", true}));
  CHECK(answers(connection, "TTL foo") == "unreachable, in doubt");
  CHECK(answers(connection, "TTL foo") == "high foo");
}

}  // namespace rlctl::redis::router_test
