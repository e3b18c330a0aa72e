// needs: server
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/wait.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/url.h"
#include "support/failure.h"
#include "support/fake_cluster.h"

// What a Connection to several servers answers when some of them fail.

namespace rlctl::redis::router_failures_test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace support;

namespace {

/// Whether GET bar has this answer, of a node that is asked now and then.
bool is_answered_at_last(Connection& connection, const std::string& expected) {
  for (const auto end = Clock::now() + kLong; Clock::now() < end;) {
    if (answers(connection, "GET bar") == expected) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a connection that breaks answers only what was sent on it") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", first(1, "GET", {"", true}));
  auto connection = Connection::open(cluster.url(), kLong);
  for (int i = 0; i < 10; ++i) append(connection, "GET bar; GET foo");
  for (int i = 0; i < 10; ++i) CHECK(read(connection, 2) == "unreachable, in doubt; high foo");
  CHECK(answers(connection, "GET bar") == "low bar");
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
    const auto answer = read(connection, 1);
    if (answer == "unreachable, in doubt") {
      CHECK(done == 0);
      ++lost;
    } else {
      CHECK(answer == "low " + std::to_string(i));
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
  auto connection = Connection::open(cluster.url(), kLong);
  for (int i = 0; i < 3; ++i) append(connection, "GET bar; GET foo");
  connection.send_some();
  cluster.high.wait_for("GET", 3);
  for (int i = 0; i < 3; ++i) {
    connection.set_timeout(kShort);
    CHECK(read(connection, 1) == "timeout, in doubt");
    connection.set_timeout(kLong);
    CHECK(read(connection, 1) == "high foo");
  }
  CHECK(cluster.low.count("GET") == 3);
}

TEST_CASE("a node that hangs gets at most one pipeline a second to be in doubt about") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", {""}));
  auto connection = Connection::open(cluster.url(), kLong);
  connection.set_timeout(kShort);
  const auto start = Clock::now();
  int in_doubt = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto reply = connection.call({"GET", "bar"});
    REQUIRE(reply.is_error());
    if (is_in_doubt(to_error(reply))) {
      ++in_doubt;
    } else {
      CHECK(contains(message_of(to_error(reply)), "was not sent"));
    }
  }
  CHECK(in_doubt <= 1 + (Clock::now() - start) / 1s);
  CHECK(cluster.low.count("GET") == in_doubt);
  cluster.serve(cluster.low, "low");
  connection.set_timeout(kLong);
  CHECK(is_answered_at_last(connection, "low bar"));
}

TEST_CASE("time_out() answers for the nodes that are late, not for others") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("GET", {""}));
  auto connection = Connection::open(cluster.url(), kLong);
  append(connection, "GET bar");
  connection.send_some();
  wait_for(-1, 0, nullptr, Clock::now() + kShort);
  append(connection, "GET foo");
  connection.time_out(kShort);
  const auto late = connection.try_read();
  REQUIRE(late);
  CHECK(outcome(*late).starts_with("timeout"));
  CHECK(read(connection, 1) == "high foo");
}

TEST_CASE("a node that is down from the start answers for its keys only, after the timeout") {
  FakeCluster cluster;
  const HostPort nobody{.host = "127.0.0.1", .port = 1};
  cluster.serve(cluster.high, "high",
                always("CLUSTER", {"*2\r\n" + slots_row(0, 8191, nobody) +
                                   slots_row(8192, 16383, cluster.high.address())}));
  Url url = cluster.url();
  url.port = 1;
  auto connection = Connection::open(url, kLong);
  append(connection, "GET bar; GET foo");
  connection.set_timeout(kShort);
  const auto refused = connection.read();
  CHECK(outcome(refused) == "not sent");
  CHECK(contains(message_of(to_error(refused)), "was not sent"));
  connection.set_timeout(kLong);
  CHECK(read(connection, 1) == "high foo");
  // By now it has been down for long: no further wait.
  connection.set_timeout(kShort);
  CHECK(answers(connection, "GET bar") == "not sent");
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
  auto connection = Connection::open(url, kLong);
  connection.set_timeout(kShort);
  for (int i = 0; i < 3; ++i) CHECK(connection.call({"GET", "bar"}).is_error());
  *is_replaced = true;
  CHECK(is_answered_at_last(connection, "low bar"));
}

TEST_CASE("a node that refuses the password answers with that, and others go on") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", always("AUTH", {"-WRONGPASS no\r\n"}));
  cluster.serve(cluster.high, "high", always("AUTH", {"+OK\r\n"}));
  Url url = cluster.url();
  url.password = "secret";
  auto connection = Connection::open(url, kLong);
  append(connection, "GET bar; GET foo");
  const auto refused = connection.read();
  CHECK(outcome(refused) == "refused WRONGPASS");
  CHECK_FALSE(contains(message_of(to_error(refused)), "secret"));
  CHECK(read(connection, 1) == "high foo");
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
  CHECK(error.command() == "CLUSTER SLOTS");
  auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
  for (int i = 0; i < 3; ++i) CHECK(answers(connection, "GET foo; GET bar") == "high foo; low bar");
  CHECK(cluster.low.count("GET foo") == 1);
  // The masters that MOVED has named may not be all.
  CHECK(error_of([&] { (void)connection.servers(); }).failure() == Failure::kRefused);
}

TEST_CASE("a node that sends no RESP, or too many replies, answers for its keys only") {
  const char* const cases[][2] = {{"HTTP/1.1 400 Bad Request\r\n", "protocol"},
                                  {"$-5\r\n", "protocol"},
                                  {"+low bar\r\n+more\r\n", "low bar"}};
  for (const auto& row : cases) {
    const auto& [bytes, answer] = row;
    CAPTURE(row[0]);
    FakeCluster cluster;
    cluster.serve(cluster.low, "low", first(1, "GET", {bytes}));
    auto connection = Connection::open(cluster.url(), kLong);
    append(connection, "GET bar; GET foo");
    CHECK(read(connection, 1).starts_with(answer));
    CHECK(read(connection, 1) == "high foo");
    CHECK(answers(connection, "GET bar") == "low bar");
  }
}

// ---- Bytes that do not all come ----

TEST_CASE("a first MOVED that breaks off at any byte never leads to a wrong or a second answer") {
  FakeCluster cluster;
  const auto whole = moved(12182, cluster.high.name()).bytes;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    cluster.serve(cluster.low, "low", first(1, "GET", {whole.substr(0, size), true}));
    auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
    append(connection, "GET foo; TTL foo");
    if (size < whole.size()) {
      const auto error = error_of([&] { (void)connection.read(); });
      CHECK(error.failure() == Failure::kUnreachable);
      CHECK(is_in_doubt(error));
      CHECK(error_of([&] { (void)connection.read(); }).failure() == Failure::kUnreachable);
    } else {
      // The second was sent to the node that hung up.
      CHECK(read(connection, 2) == "high foo; unreachable, in doubt");
    }
  }
  CHECK(cluster.high.count("GET") == 1);
  CHECK(cluster.high.count("TTL") == 0);
}

TEST_CASE(
    "slots that break off at any byte are asked of another node, and a plain URL does without") {
  FakeCluster cluster;
  const auto whole = cluster.slots();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    const auto part = always("CLUSTER", {whole.substr(0, size), true});
    const auto refer = moved(12182, cluster.high.name());
    cluster.serve(cluster.low, "low", part);
    cluster.serve(cluster.high, "high");
    auto connection = Connection::open(cluster.url(), kLong);
    CHECK(answers(connection, "GET foo; GET bar") == "high foo; low bar");
    if (size == whole.size()) break;

    cluster.serve(cluster.high, "high", part);
    cluster.serve(cluster.low, "low", [part, refer](const Words& words) {
      return words.back() == "foo" ? std::optional(refer) : part(words);
    });
    auto plain = Connection::open(FakeCluster::plain(cluster.low), kLong);
    CHECK(answers(plain, "GET foo; GET bar") == "high foo; low bar");
  }
}

TEST_CASE(
    "no server leads to where a cloud may offer credentials, unless the URL names such an "
    "address") {
  const HostPort metadata{.host = "169.254.169.254", .port = 1};
  const std::string message =
      "a server refers to redis://169.254.169.254:1, but at 169.254.169.254 a cloud may offer the "
      "credentials of this machine; the command was not sent";
  for (const std::string code : {"MOVED", "ASK"}) {
    CAPTURE(code);
    FakeCluster cluster;
    const FakeNode::Answer answer{"-" + code + " 5061 169.254.169.254:1\r\n"};
    cluster.serve(cluster.low, "low", always("GET", answer));
    cluster.serve(cluster.high, "high");
    for (const auto& url : {cluster.url(), FakeCluster::plain(cluster.low)}) {
      auto connection = Connection::open(url, kLong);
      const auto error = to_error(connection.call({"GET", "bar"}));
      CHECK(error.failure() == Failure::kNotSent);
      CHECK(message_of(error) == message);
    }
  }
  FakeCluster cluster;
  const auto slots = "*1\r\n" + slots_row(0, 16383, metadata);
  cluster.serve(cluster.low, "low", always("CLUSTER", {slots}));
  Url url = FakeCluster::plain(cluster.low);
  url.scheme = Scheme::kCluster;
  auto connection = Connection::open(url, kLong);
  CHECK(message_of(to_error(connection.call({"GET", "bar"}))) == message);

  Url sentinels = FakeCluster::plain(cluster.low);
  sentinels.scheme = Scheme::kSentinel;
  sentinels.master = "mymaster";
  cluster.serve(cluster.low, "low",
                always("SENTINEL", {"*2\r\n" + bulk("169.254.169.254") + bulk("1")}));
  auto sentinel = Connection::open(sentinels, kLong);
  CHECK(message_of(to_error(sentinel.call({"GET", "bar"}))) == message);

  cluster.serve(cluster.low, "low", always("CLUSTER", {slots}));
  // Nobody answers there, or it cannot be reached: either way it was tried.
  url.more_hosts = {{.host = "169.254.0.1", .port = 1}};
  auto allowed = Connection::open(url, kLong);
  allowed.set_timeout(kShort);
  CHECK_FALSE(contains(message_of(to_error(allowed.call({"GET", "bar"}))), "refers to"));
}

TEST_CASE("slots that make no sense are an error") {
  const auto row = [](const std::string& first, const std::string& last, const std::string& node) {
    return "*1\r\n*3\r\n" + first + last + node;
  };
  const std::string node = "*2\r\n" + bulk("127.0.0.1") + number(1);
  std::string too_many = "*16385\r\n";
  for (int i = 0; i <= 16384; ++i) too_many += slots_row(0, 1, {.host = "127.0.0.1", .port = 1});
  for (const std::string& slots :
       {too_many, "*0\r\n"s, "+OK\r\n"s, ":5\r\n"s, "*-1\r\n"s, "*1\r\n*0\r\n"s,
        row(number(5), number(4), node), row(number(-1), number(4), node),
        row(number(0), number(16384), node), row(number(4294967296), number(4294967297), node),
        row(bulk("a"), bulk("b"), node), row(number(0), number(5), number(7)),
        row(number(0), number(5), "*0\r\n"),
        row(number(0), number(5), "*1\r\n" + bulk("127.0.0.1")),
        row(number(0), number(5), "*2\r\n" + bulk("127.0.0.1") + number(65536)),
        row(number(0), number(5), "*2\r\n" + bulk("127.0.0.1") + bulk("x"))}) {
    CAPTURE(slots);
    FakeCluster cluster;
    const auto senseless = always("CLUSTER", {slots});
    cluster.serve(cluster.low, "low", senseless);
    cluster.serve(cluster.high, "high", senseless);
    const auto error = error_of([&] { (void)Connection::open(cluster.url(), kLong); });
    const bool is_not_ready = error.failure() == Failure::kNotNow;
    CHECK((is_not_ready || error.failure() == Failure::kProtocol));
    // Nothing is made of it either if it comes later.
    auto connection = Connection::open(FakeCluster::plain(cluster.low), kLong);
    const auto refer = moved(12182, cluster.high.name());
    cluster.serve(cluster.low, "low", [senseless, refer](const Words& words) {
      const auto answer = senseless(words);
      return answer ? answer : refer;
    });
    for (int i = 0; i < 2; ++i) CHECK(answers(connection, "GET foo") == "high foo");
  }
}

}  // namespace rlctl::redis::router_failures_test
