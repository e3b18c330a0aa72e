// needs: server
#include "stored/reset.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "redis/scan.h"
#include "support/limiters.h"
#include "support/packed.h"
#include "support/random.h"
#include "support/reset_arena.h"

namespace stored_reset_races_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test::reset;
using rlctl::redis::Connection;

namespace {

const Form* find_form(std::string_view name) {
  for (const auto& form : our_forms()) {
    if (form.name == name && form.type == "string") return &form;
  }
  return nullptr;
}

/// Runs an action once, between a look and the removal.
ResetOptions after_first_look(const std::function<void()>& action) {
  auto first = std::make_shared<bool>(true);
  return {.on_looked = [=](std::size_t) {
    if (std::exchange(*first, false)) action();
  }};
}

}  // namespace

TEST_CASE("a key that changes between the look and the removal is looked at again") {
  using Commands = std::vector<std::vector<std::string_view>>;
  struct Case {
    std::string_view algorithm;
    Commands meanwhile;
    const char* outcome;
  };
  const Case cases[] = {
      {"gcra", {{"DEL", "k"}, {"HSET", "k", "precious", "value"}}, "left hash no-limiter-state"},
      {"gcra", {{"DEL", "k"}}, "none"},
      {"sliding-window-log", {{"PERSIST", "k"}}, "left sliding-window-log uncertain"},
      {"concurrency", {{"PERSIST", "k"}}, "left concurrency uncertain"}};
  Arena arena;
  for (const auto& each : cases) {
    CAPTURE(each.outcome);
    (void)arena.call({"FLUSHALL"});
    arena.ask("before", "gcra");
    arena.ask("k", each.algorithm);
    arena.ask("after", "gcra");
    const auto options = after_first_look([&] {
      for (const auto& command : each.meanwhile) (void)arena.call(command);
    });
    CHECK(arena.reset({"before", "k", "after"}, options) ==
          Outcomes{{"before", "removed gcra"}, {"k", each.outcome}, {"after", "removed gcra"}});
    CHECK(arena.call({"DBSIZE"}).integer() == (each.outcome == std::string("none") ? 0 : 1));
  }
}

TEST_CASE("a key seen earlier is left if it has been replaced since, even with force") {
  Arena arena;
  const std::vector<SeenKey> seen{
      {.key = "same", .type = "string", .form = find_form("gcra")},
      {.key = "other form", .type = "string", .form = find_form("gcra")},
      {.key = "other type", .type = "string", .form = nullptr},
      {.key = "gone", .type = "string", .form = find_form("gcra")},
      {.key = "text", .type = "string", .form = nullptr}};
  for (const bool force : {false, true}) {
    CAPTURE(force);
    (void)arena.call({"FLUSHALL"});
    arena.ask("same", "gcra");
    arena.ask("other form", "fixed-window");
    (void)arena.call({"HSET", "other type", "precious", "x"});
    (void)arena.call({"SET", "text", "hello"});
    CHECK(arena.reset(seen, {.force = force}) ==
          Outcomes{{"same", "removed gcra"},
                   {"other form", "left fixed-window changed"},
                   {"other type", "left hash changed"},
                   {"gone", "none"},
                   {"text", force ? "removed string" : "left string no-limiter-state"}});
  }
}

TEST_CASE("a key seen earlier may also change after the second look") {
  Arena arena;
  arena.ask("k", "gcra");
  const std::vector<SeenKey> seen{{.key = "k", .type = "string", .form = find_form("gcra")}};
  auto options = after_first_look([&] { (void)arena.call({"SET", "k", "5"}); });
  options.force = true;
  CHECK(arena.reset(seen, options) == Outcomes{{"k", "left foreign-counter changed"}});
  CHECK(arena.call({"GET", "k"}).text() == "5");
}

TEST_CASE("a key that is written between the look and the removal is looked at again and removed") {
  Arena arena;
  const auto keys = arena.ask_for(10, "sliding-window-log");
  const auto options = after_first_look([&] { arena.ask("7", "sliding-window-log"); });
  for (const auto& [key, outcome] : arena.reset(keys, options)) {
    CHECK(outcome == "removed sliding-window-log");
  }
  CHECK(arena.call({"DBSIZE"}).integer() == 0);
}

TEST_CASE("whatever a limiter writes between the look and the removal is noticed") {
  Arena arena;
  for (const auto& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    arena.ask("k", algorithm.name);
    int looks = 0;
    const ResetOptions options{.on_looked = [&](std::size_t) {
      if (++looks == 1) arena.ask("k", algorithm.name);
    }};
    CHECK(arena.reset({"k"}, options) == Outcomes{{"k", "removed " + std::string(algorithm.name)}});
    CHECK(looks == 2);
    CHECK(arena.call({"DBSIZE"}).integer() == 0);
  }
}

TEST_CASE("a bucket in a hash that is written between the look and the removal is noticed") {
  Arena arena;
  const std::string key = "throttled:v1:token_bucket:ann", label = "token-bucket";
  (void)arena.call({"HSET", key, "tokens", "9", "last_refreshed", "1763750000"});
  CHECK(arena.reset({key}) == Outcomes{{key, "left " + label + " foreign"}});
  int looks = 0;
  ResetOptions options{.force = true, .on_looked = [&](std::size_t) {
                         if (++looks == 1) (void)arena.call({"HSET", key, "tokens", "8"});
                       }};
  CHECK(arena.reset({key}, options) == Outcomes{{key, "removed " + label}});
  CHECK(looks == 2);

  (void)arena.call({"HSET", key, "tokens", "9", "last_refreshed", "1763750000"});
  const auto content = read_contents(arena.connection(), {&key, 1}, built_in_libraries()).front();
  const auto& form = *built_in_libraries().decode({.key = key, .content = &content}, {}).form;
  options = after_first_look([&] { (void)arena.call({"HSET", key, "name", "ann"}); });
  options.force = true;
  const std::vector<SeenKey> seen{{key, "hash", &form}};
  CHECK(arena.reset(seen, options) == Outcomes{{key, "left hash changed"}});

  // Another hash may change while it is removed: only its type is compared.
  (void)arena.call({"DEL", key});
  (void)arena.call({"HSET", "visits", "ann", "1"});
  options = after_first_look([&] { (void)arena.call({"HSET", "visits", "bob", "1"}); });
  options.force = true;
  CHECK(arena.reset({"visits"}, options) == Outcomes{{"visits", "removed hash"}});
}

TEST_CASE("a SCRIPT FLUSH between the look and the removal has no effect") {
  Arena arena;
  const auto keys = arena.ask_for(2200, "gcra");
  int looks = 0;
  const ResetOptions options{.on_looked = [&](std::size_t) {
    if (++looks == 2) (void)arena.call({"SCRIPT", "FLUSH"});
  }};
  for (const auto& [key, outcome] : arena.reset(keys, options)) CHECK(outcome == "removed gcra");
  CHECK(arena.call({"DBSIZE"}).integer() == 0);
}

TEST_CASE("a constantly written key is reported as changing and does not delay its neighbours") {
  Arena arena;
  const auto keys = arena.ask_for(200, "gcra");
  int looks = 0;
  ResetOptions options{.tries = 5, .on_looked = [&](std::size_t) {
                         const auto other = test::packed("gcra ", 1.7e15 + ++looks, 2, 7, 6e7, 7);
                         (void)arena.call({"SET", "123", other});
                       }};
  const auto outcomes = arena.reset(keys, options);
  REQUIRE(outcomes.size() == 200);
  for (const auto& [key, outcome] : outcomes) {
    CHECK(outcome == (key == "123" ? "left gcra changing" : "removed gcra"));
  }
  CHECK(arena.call({"DBSIZE"}).integer() == 1);
  CHECK(looks == 5);
}

TEST_CASE("a busy key that is not a limiter's does not delay the removal of others for long") {
  Arena arena;
  arena.ask("limiter", "gcra");
  (void)arena.call({"SET", "busy", "x"});
  int looks = 0;
  const ResetOptions options{.tries = 3, .on_looked = [&](std::size_t) {
                               ++looks;
                               (void)arena.call({"APPEND", "busy", "x"});
                             }};
  CHECK(arena.reset({"busy", "limiter"}, options) ==
        Outcomes{{"busy", "left string no-limiter-state"}, {"limiter", "removed gcra"}});
  CHECK(looks == 1);
}

TEST_CASE("a key that expires between the look and the removal is reported as missing") {
  Arena arena;
  arena.ask("k", "gcra");
  const auto options = after_first_look([&] {
    (void)arena.call({"PEXPIRE", "k", "1"});
    while (arena.call({"EXISTS", "k"}).integer() != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  });
  CHECK(arena.reset({"k"}, options) == Outcomes{{"k", "none"}});
}

namespace {

std::string wide_key(int i) {
  return (i % 100 == 0 ? "limiter:" : i % 10 == 1 ? "hash:" : "text:") + std::to_string(i);
}

/// Creates keys, of which every hundredth is a limiter's.
void fill(Connection& connection, int count) {
  for (int i = 0; i < count; ++i) {
    const auto key = wide_key(i);
    if (key.starts_with('l')) {
      connection.append({"RPUSH", key, "1700000000123456", "1700000000123457"});
      connection.append({"EXPIRE", key, "3600"});
    } else if (key.starts_with('h')) {
      connection.append({"HSET", key, "f", std::to_string(i)});
    } else {
      connection.append({"SET", key, "value " + std::to_string(i)});
    }
  }
  while (connection.outstanding() > 0) REQUIRE_FALSE(connection.read().is_error());
}

}  // namespace

TEST_CASE("exactly the limiters among many keys are removed while others write to all of them") {
  Arena arena;
  const int keys = static_cast<int>(test::scaled(20'000, 100'000));
  fill(arena.connection(), keys);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    auto connection = arena.connect();
    for (unsigned i = 0; !stop; i = i * 7919U + 13U) {
      const auto key = wide_key(static_cast<int>(i % static_cast<unsigned>(keys)));
      const auto limiter =
          "limiter:" + std::to_string(i % (static_cast<unsigned>(keys) / 100) * 100);
      // Writes to it like a limiter, but without recreating it once it is removed.
      connection.append({"RPUSHX", limiter, "1700000000123458"});
      if (key.starts_with('h')) connection.append({"HSET", key, "g", "new"});
      if (key.starts_with('t')) connection.append({"SETRANGE", key, "0", "V"});
      while (connection.outstanding() > 0) (void)connection.read();
    }
  });
  std::map<std::string, int> outcomes;
  Resetter resetter(arena.connection(), {}, [&](const ResetOutcome& outcome) {
    if (outcome.result != ResetResult::kKept) ++outcomes[std::string(outcome.key)];
    if (outcome.reason) CHECK(outcome.reason == KeptReason::kNoLimiterState);
  });
  redis::Scan scan(arena.connection(), "*");
  while (!scan.done()) resetter.reset(scan.next());
  stop = true;
  writer.join();

  CHECK(outcomes.size() == static_cast<std::size_t>(keys) / 100);
  CHECK(arena.call({"DBSIZE"}).integer() == keys - keys / 100);
  for (int i = 0; i < keys; ++i) {
    const auto key = wide_key(i);
    if (key.starts_with('h')) arena.connection().append({"HGET", key, "f"});
    if (key.starts_with('t')) arena.connection().append({"GETRANGE", key, "1", "-1"});
    if (key.starts_with('l')) arena.connection().append({"EXISTS", key});
  }
  int wrong = 0;
  for (int i = 0; i < keys; ++i) {
    const auto key = wide_key(i);
    const auto reply = arena.connection().read();
    const auto number = std::to_string(i);
    if (key.starts_with('h') && reply.text() != number) ++wrong;
    if (key.starts_with('t') && reply.text() != "alue " + number) ++wrong;
    if (key.starts_with('l') && reply.integer() != 0) ++wrong;
  }
  CHECK(wrong == 0);
}

}  // namespace stored_reset_races_test
