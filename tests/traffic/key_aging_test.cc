#include "traffic/key_aging.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>
#include <utility>

#include "redis/error.h"
#include "support/limiters.h"

namespace traffic_key_aging_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using namespace rlctl::test;
using std::chrono::microseconds;

namespace {

constexpr microseconds kStart{1'767'225'600'000'000};

/// Keys on a server on which virtual time passes. Everything up to a question is one transaction,
/// so that no real time passes in it, however busy the machine is.
class Aged {
 public:
  void at(microseconds since_start, std::string_view key = "k") {
    queue({"PING"});
    if (aging_.advance(kStart + since_start, {&key, 1})) ++queued_;
  }
  void age_all() { aging_.age_all(); }
  void set(std::string_view ttl_ms, std::string_view key = "k") {
    queue({"SET", key, "1", "PX", ttl_ms});
  }
  void persist(std::string_view key = "k") { queue({"PERSIST", key}); }
  std::int64_t ttl(std::string_view key = "k") { return ask("PTTL", key); }
  bool is_there(std::string_view key = "k") { return ask("EXISTS", key) == 1; }

  TestServer server;

 private:
  void queue(std::initializer_list<std::string_view> command) {
    if (queued_ == 0) server.connection().append({"MULTI"});
    server.connection().append(command);
    ++queued_;
  }
  std::int64_t ask(std::string_view command, std::string_view key) {
    queue({command, key});
    const auto asked = queued_ - 1;
    if (aging_.pause()) ++queued_;
    server.connection().append({"EXEC"});
    for (std::size_t i = 0; i <= queued_; ++i) KeyAging::require_done(server.connection().read());
    const auto replies = server.connection().read();
    REQUIRE(replies.size() == std::exchange(queued_, 0));
    for (std::size_t i = 0; i < replies.size(); ++i) KeyAging::require_done(replies[i]);
    return replies[asked].integer();
  }

  KeyAging aging_{server.connection(), "ttls"};
  std::size_t queued_ = 0;
};

/// A few ms less, because it was set a moment ago.
bool is_about(std::int64_t ms, std::int64_t expected) {
  return ms > expected - 300 && ms <= expected;
}

}  // namespace

TEST_CASE("the time between two requests is subtracted from a key's TTL") {
  Aged keys;
  keys.at(0us);
  keys.set("60000");
  keys.at(20s);
  CHECK(is_about(keys.ttl(), 40'000));
  keys.at(59'999'999us);
  CHECK(keys.is_there());
  keys.at(60s);
  CHECK_FALSE(keys.is_there());
  CHECK_FALSE(keys.is_there("ttls"));
}

TEST_CASE("reading a TTL does not shorten it") {
  Aged keys;
  keys.at(0us);
  keys.set("1000");
  for (int ms = 1; ms < 1000; ++ms) keys.at(ms * 1ms);
  CHECK(keys.is_there());
  keys.at(1s);
  CHECK_FALSE(keys.is_there());
}

TEST_CASE("no time passes while there are no requests") {
  Aged keys;
  keys.at(0us);
  keys.set("100");
  CHECK(keys.is_there());
  std::this_thread::sleep_for(150ms);
  CHECK(keys.is_there());
  keys.at(99ms);
  const auto left = keys.ttl();
  CHECK(left > 0);
  CHECK(left <= 5);
  keys.at(0us, "other");
  std::this_thread::sleep_for(50ms);
  CHECK(keys.is_there());
  keys.at(100ms);
  CHECK_FALSE(keys.is_there());
}

TEST_CASE("a TTL that is set again counts from then, and one that is removed no longer counts") {
  Aged keys;
  keys.at(0us);
  keys.set("1000");
  keys.at(900ms);
  keys.set("2000");
  keys.at(1s);
  CHECK(is_about(keys.ttl(), 1900));
  keys.at(1s);
  keys.persist();
  keys.at(1h);
  CHECK(keys.is_there());
  CHECK(keys.ttl() == -1);
}

TEST_CASE("keys that were not named do not age, unless all keys count") {
  Aged keys;
  keys.at(0us, "k");
  keys.set("1000", "made");
  keys.at(500ms, "k");
  CHECK(is_about(keys.ttl("made"), 1000));

  Aged all;
  all.age_all();
  all.at(0us, "k");
  all.set("1000", "made");
  all.at(500ms, "k");
  CHECK(is_about(all.ttl("made"), 500));
  all.at(1s, "k");
  CHECK_FALSE(all.is_there("made"));
}

TEST_CASE("a key that is named twice ages once") {
  Aged keys;
  KeyAging aging(keys.server.connection(), "ttls");
  const std::array<std::string_view, 2> twice{"k", "k"};
  CHECK(aging.advance(kStart, twice));
  KeyAging::require_done(keys.server.connection().read());
  static_cast<void>(keys.server.call({"SET", "k", "1", "PX", "1000000"}));
  CHECK_FALSE(aging.advance(kStart, twice));
  CHECK(aging.pause());
  KeyAging::require_done(keys.server.connection().read());
  const auto left = keys.ttl() - 3'600'000;
  CHECK(left > 900'000);
  CHECK(left <= 1'000'000);
}

TEST_CASE("a command that the server refuses is an error") {
  Aged keys;
  static_cast<void>(keys.server.call({"SET", "k", "1", "PX", "1000"}));
  keys.server.call({"SET", "ttls", "not a hash"});
  CHECK_THROWS_AS(
      [&] {
        keys.at(0us);
        keys.at(1ms);
        static_cast<void>(keys.ttl());
      }(),
      rlctl::redis::Error);
}

}  // namespace traffic_key_aging_test
