// needs: server
// alone: two calls must reach the server within 5 ms, sooner or later
#include "script/key_aging.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>
#include <utility>

#include "redis/error.h"
#include "support/limiters.h"

namespace rlctl::script::key_aging_test {

using namespace std::chrono_literals;
using namespace test;

namespace {

constexpr microseconds kStart{1'767'225'600'000'000};
constexpr std::string_view kKey = "k";

/// Keys on a server on which virtual time passes. TTLs are of minutes and hours, so that a busy
/// machine's pauses do not matter.
class Aged {
 public:
  explicit Aged(bool reads_ttls = false) : aging_(server.connection(), "ttls", reads_ttls) {}

  void at(microseconds since_start, std::string_view key = "k") {
    if (aging_.advance(kStart + since_start, {&key, 1})) require_done();
  }
  void pause() {
    if (aging_.pause()) require_done();
  }
  void set(std::chrono::milliseconds ttl, std::string_view key = "k") {
    ask({"SET", key, "1", "PX", std::to_string(ttl.count())});
  }
  void persist(std::string_view key = "k") { ask({"PERSIST", key}); }
  std::chrono::milliseconds ttl(std::string_view key = "k") {
    return std::chrono::milliseconds{ask({"PTTL", key}).integer()};
  }
  /// When the key expires: virtual, and exact. The key itself may be gone some real ms later.
  microseconds end(std::string_view key = "k") {
    return microseconds{std::stoll(std::string(ask({"HGET", "ttls", key}).text()))};
  }
  bool is_there(std::string_view key = "k") { return ask({"EXISTS", key}).integer() == 1; }

  /// Like at() and pause(): whether keys may have expired by real time during the last request.
  bool is_late_at(microseconds since_start) {
    REQUIRE(aging_.advance(kStart + since_start, {&kKey, 1}));
    return KeyAging::is_late(server.connection().read());
  }
  bool is_late_at_pause() {
    REQUIRE(aging_.pause());
    return KeyAging::is_late(server.connection().read());
  }

  TestServer server;

 private:
  redis::Reply ask(std::initializer_list<std::string_view> command) {
    return server.connection().call(command);
  }
  void require_done() { KeyAging::require_done(server.connection().read()); }

  KeyAging aging_;
};

/// Up to some seconds off: real time passes between two calls.
bool is_about(std::chrono::milliseconds ttl, std::chrono::milliseconds expected) {
  return ttl > expected - 10s && ttl < expected + 10s;
}

}  // namespace

TEST_CASE("the time between two requests is subtracted from a key's TTL") {
  Aged keys;
  keys.at(0us);
  keys.set(60min);
  keys.at(20min);
  CHECK(is_about(keys.ttl(), 40min));
  keys.at(59min);
  CHECK(keys.is_there());
  keys.at(61min);
  CHECK_FALSE(keys.is_there());
  CHECK(keys.server.call({"HKEYS", "ttls"}).size() == 1);
}

TEST_CASE("a key expires when its TTL has passed, neither before nor after that") {
  // Undisturbed, that is: nothing can be said of a run in which the server paused for longer than
  // the TTL is rounded.
  Aged keys;
  for (int attempt = 0;; ++attempt) {
    REQUIRE(attempt < 10'000);
    const auto key = "k" + std::to_string(attempt);
    const microseconds start = attempt * 1h;
    keys.at(start, key);
    const auto began = std::chrono::steady_clock::now();
    keys.set(60s, key);
    keys.at(start + 59'999'999us, key);
    const bool is_there_before = keys.is_there(key);
    keys.at(start + 60s, key);
    const bool is_there_after = keys.is_there(key);
    if (std::chrono::steady_clock::now() - began >= 5ms) continue;
    CHECK(is_there_before);
    CHECK_FALSE(is_there_after);
    break;
  }
}

TEST_CASE("reading a TTL does not shorten it") {
  Aged keys;
  keys.at(0us);
  keys.set(1000min);
  for (int minute = 1; minute < 1000; ++minute) keys.at(minute * 1min);
  CHECK(is_about(keys.ttl(), 1min));
  keys.at(1001min);
  CHECK_FALSE(keys.is_there());
}

TEST_CASE("real time that passes is not taken from the keys, however short the TTL") {
  Aged keys;
  keys.at(0us);
  keys.set(2s);
  keys.pause();
  std::this_thread::sleep_for(2100ms);
  CHECK(keys.is_there());
  keys.at(1min);
  CHECK_FALSE(keys.is_there());

  // Without a pause, between a request and the next call.
  keys.set(1h);
  std::this_thread::sleep_for(300ms);
  keys.at(1h + 1min);
  // It may have been set at any moment of the 300 ms.
  CHECK(keys.is_there());
  keys.at(1h + 1min + 10s);
  CHECK_FALSE(keys.is_there());

  for (int attempt = 0;; ++attempt) {
    REQUIRE(attempt < 100);
    const auto key = "k" + std::to_string(attempt);
    const microseconds start = (2 + 2 * attempt) * 1h;
    keys.at(start, key);
    keys.set(1h, key);
    for (int i = 0; i < 5; ++i) {
      keys.at(start + (i + 1) * 1min, key);
      std::this_thread::sleep_for(100ms);
    }
    const auto began = std::chrono::steady_clock::now();
    keys.at(start + 1h - 1us, key);
    const bool is_there = keys.is_there(key);
    if (std::chrono::steady_clock::now() - began >= 5ms) continue;  // it lives that long
    CHECK(is_there);
    break;
  }
}

TEST_CASE("a TTL that is set again less than a ms later counts from then") {
  // Also if the server pauses, and whatever part of a ms of it is left.
  for (const auto later : {1us, 100us, 999us, 1500us}) {
    for (const auto pause : {0ms, 2ms, 30ms}) {
      CAPTURE(later.count());
      CAPTURE(pause.count());
      Aged keys;
      keys.at(0us);
      keys.set(60min);
      keys.at(later);
      std::this_thread::sleep_for(pause);
      keys.set(60min);
      keys.pause();
      CHECK(keys.end() >= kStart + later + 60min);
    }
  }
}

TEST_CASE("a TTL that is set again counts from then, and one that is removed no longer counts") {
  Aged keys;
  keys.at(0us);
  keys.set(10min);
  keys.at(9min);
  keys.set(20min);
  keys.at(10min);
  CHECK(is_about(keys.ttl(), 19min));
  keys.set(5min);
  keys.at(11min);
  CHECK(is_about(keys.ttl(), 4min));
  keys.persist();
  keys.at(10h);
  CHECK(keys.is_there());
  CHECK(keys.ttl() == -1ms);
}

TEST_CASE("keys that were not named do not age") {
  Aged keys;
  keys.at(0us, "k");
  keys.set(10min, "other");
  keys.at(5min, "k");
  CHECK(is_about(keys.ttl("other"), 10min));
}

TEST_CASE("a key that is named twice ages once") {
  Aged keys;
  KeyAging aging(keys.server.connection(), "ttls");
  const std::array<std::string_view, 2> twice{"k", "k"};
  CHECK(aging.advance(kStart, twice));
  KeyAging::require_done(keys.server.connection().read());
  static_cast<void>(keys.server.call({"SET", "k", "1", "PX", "600000"}));
  CHECK_FALSE(aging.advance(kStart, twice));
  CHECK(aging.pause());
  KeyAging::require_done(keys.server.connection().read());
  CHECK(is_about(keys.ttl(), 1h + 10min));
}

TEST_CASE("a call tells whether keys may have expired by real time during the last request") {
  Aged keys;
  const auto is_late_after = [&](std::chrono::milliseconds time) {
    keys.at(0us);
    std::this_thread::sleep_for(time);
    return keys.is_late_at_pause();
  };
  CHECK(is_late_after(20ms));
  int tries = 0;  // undisturbed sooner or later
  while (is_late_after(0ms)) REQUIRE(++tries < 1000);
  // Nothing was under way: the real time until the next request counts for no key.
  CHECK_FALSE(keys.is_late_at(1s));
}

TEST_CASE("a TTL that was left as it was is exact, however long its request was held up") {
  const auto is_late = [](bool reads_ttls, std::initializer_list<std::string_view> request) {
    Aged keys(reads_ttls);
    keys.at(0us);
    keys.set(1h);
    keys.pause();
    keys.at(1min);
    static_cast<void>(keys.server.call(request));
    std::this_thread::sleep_for(20ms);
    return keys.is_late_at_pause();
  };
  CHECK_FALSE(is_late(false, {"INCR", "k"}));
  // The TTL that a request reads, or sets, depends on when it does.
  CHECK(is_late(true, {"INCR", "k"}));
  CHECK(is_late(false, {"SET", "k", "1", "PX", "3600000"}));
  // Whether it expired or was deleted cannot be seen, nor what came before it lost its TTL.
  CHECK(is_late(false, {"UNLINK", "k"}));
  CHECK(is_late(false, {"PERSIST", "k"}));
}

TEST_CASE("a key that never had a TTL is exact, however long its request was held up") {
  Aged keys;
  // It may have had a TTL that has passed if it is gone.
  for (const auto& [command, expected] :
       {std::pair{"INCR", false}, {"INCR", false}, {"UNLINK", true}}) {
    keys.at(0us);
    static_cast<void>(keys.server.call({command, "k"}));
    std::this_thread::sleep_for(20ms);
    CHECK(keys.is_late_at_pause() == expected);
  }
}

TEST_CASE("requests of one instant are protected now and then") {
  TestServer server;
  KeyAging aging(server.connection(), "ttls");
  int calls = 0;
  for (int i = 0; i < 1000; ++i) calls += aging.advance(kStart, {&kKey, 1}) ? 1 : 0;
  CHECK(calls > 20);
  CHECK(calls < 100);
}

TEST_CASE("a key that is gone before its time counts as expired by real time") {
  // A server that is held up while it sets a short TTL deletes the key at once.
  Aged keys;
  keys.at(0us);
  keys.set(1h);
  keys.pause();
  static_cast<void>(keys.server.call({"UNLINK", "k"}));
  CHECK_FALSE(keys.is_late_at(1min));
  keys.set(1h);
  CHECK(keys.is_late_at(2min));
  // Not a key whose time has come, unless the server is held up.
  int tries = 0;
  for (auto at = 10h;; at += 10h) {
    keys.set(1h);
    static_cast<void>(keys.is_late_at(at));
    if (!keys.is_late_at(at + 1min)) break;
    REQUIRE(++tries < 1000);
  }
}

TEST_CASE("a command that the server refuses is an error") {
  Aged keys;
  static_cast<void>(keys.server.call({"SET", "k", "1", "PX", "1000"}));
  keys.server.call({"SET", "ttls", "not a hash"});
  CHECK_THROWS_AS([&] { keys.at(0us); }(), redis::Error);
}

}  // namespace rlctl::script::key_aging_test
