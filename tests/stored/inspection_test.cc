// needs: server
#include "stored/inspection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "redis/server.h"
#include "stored/libraries.h"
#include "stored/survey.h"
#include "support/contract.h"
#include "support/failure.h"
#include "support/lease_calls.h"
#include "support/limiters.h"
#include "support/packed.h"
#include "support/random.h"
#include "support/schedule.h"

namespace stored_inspection_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test;

namespace {

/// What inspect() says with the built-in rows.
Inspection inspect(redis::Connection& connection, const std::string& key,
                   const InspectionRequest& request, const OnProgress& on_progress = {}) {
  return stored::inspect(connection, key, request, built_in_libraries(), on_progress);
}

constexpr std::int64_t kMax = 1'000'000'000;

/// A copy that can be passed to a script without touching the key. It expires too: the scripts of
/// lists and sorted sets take small numbers that do not for another program's.
void copy(TestServer& server, const std::string& from, const std::string& to) {
  const auto payload = server.dump(from);
  server.call({"DEL", to});
  if (!payload.empty()) {
    const auto ttl = std::to_string(std::max<std::int64_t>(0, server.pttl(from)));
    REQUIRE_FALSE(server.call({"RESTORE", to, ttl, payload}).is_error());
  }
}

Decision ask_copy(TestServer& server, const Algorithm& algorithm, const std::string& key,
                  const Limit& limit, std::int64_t cost, microseconds now) {
  copy(server, key, "copy");
  Checker checker(server.connection(), algorithm);
  return checker.check({.keys = {"copy"}, .limits = {limit}, .cost = cost, .now = now});
}

/// The units in use, from what the script says would remain under a limit that is not reached; -1
/// if it cannot be asked.
std::int64_t used_by_script(TestServer& server, const Algorithm& algorithm, const std::string& key,
                            Limit limit, microseconds now, std::int64_t about) {
  if (algorithm.has_burst) {
    const auto by_span =
        4e15 * static_cast<double>(limit.limit) / static_cast<double>(limit.window.count());
    limit.burst = std::min({kMax, (std::int64_t{1} << 53) / limit.limit,
                            static_cast<std::int64_t>(std::min(by_span, 1e9))});
    const std::int64_t all = *limit.burst + (algorithm.name == "leaky-bucket" ? 1 : 0);
    const auto remaining = ask_copy(server, algorithm, key, limit, 0, now).remaining;
    return remaining > 0 ? all - remaining : -1;  // the queue is too long to be measured
  }
  // There is no larger limit. One larger than necessary would not help: the fraction of an estimate
  // would be lost next to it.
  if (about + 5 > kMax) return -1;
  limit.limit = about + 5;
  return limit.limit - ask_copy(server, algorithm, key, limit, 0, now).remaining;
}

void check_equals_script(TestServer& server, const Algorithm& algorithm, const std::string& key,
                         const Limit& limit, microseconds now) {
  const auto dump = server.dump(key);
  const Elapsed elapsed;
  const auto pttl = server.pttl(key);
  auto asked = limit;
  asked.burst = effective_burst(algorithm, limit);  // else the stored one may apply
  const auto seen = inspect(server.connection(), key,
                            {.limit = asked, .algorithm = &algorithm, .now = now, .bars = 20});
  CHECK(server.dump(key) == dump);
  const auto pttl_after = server.pttl(key);
  CHECK(pttl_after <= pttl);
  CHECK(pttl_after >= pttl - elapsed.ms());
  CAPTURE(to_command(algorithm, {.keys = {key}, .limits = {limit}, .cost = 0, .now = now}));
  const auto look = ask_copy(server, algorithm, key, limit, 0, now);
  const auto one = ask_copy(server, algorithm, key, limit, 1, now);
  CHECK_FALSE(seen.changed_while_read);
  CHECK(seen.now == now);
  CHECK(seen.remaining == look.remaining);
  CHECK(seen.reset_after == look.reset_after);
  CHECK(seen.next_free == one.retry_after);
  const auto used = used_by_script(server, algorithm, key, limit, now, *seen.used);
  if (used >= 0) CHECK(seen.used == used);
  if (dump.empty()) {
    CHECK_FALSE(seen.exists());
    return;
  }
  REQUIRE(seen.is_limiter());
  CHECK(seen.state.form->name == algorithm.name);
  CHECK(seen.limit == limit.limit);
  CHECK(seen.window == limit.window);
  std::int64_t in_bars = 0;
  for (const auto bar : seen.bars) in_bars += bar;
  const auto layout = seen.state.form->layout;
  if (layout != Layout::kText && layout != Layout::kBudget) CHECK(in_bars == seen.used);
}

/// An instant at which something is about to change, or some other one.
microseconds make_instant(Random& random, const Request& request, const Decision& decision) {
  auto now = *request.now;
  const auto kind = random.uniform(1, 100);
  const microseconds step{random.uniform(-1, 1)};
  if (kind <= 25) return now;
  if (kind <= 45) now += decision.reset_after + step;
  if (kind > 45 && kind <= 60) now += std::max(0us, decision.retry_after) + step;
  const microseconds some{random.log_uniform(1, 2 * request.limits[0].window.count())};
  if (kind > 60) now += kind <= 85 ? some : -some;
  return std::clamp(now, 0us, microseconds{4'000'000'000'000'000});
}

}  // namespace

TEST_CASE("used, remaining, next_free and reset_after agree with the script's answers") {
  TestServer server;
  Random random;
  for (const auto& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    std::int64_t states = 0;
    while (states < operations(scaled(200, 700))) {
      const auto schedule = make_schedule(algorithm, random);
      server.call({"FLUSHALL"});
      ScriptLimiter script(server, algorithm);
      for (const auto& request : schedule) {
        const auto decision = script.ask(request);
        if (!random.percent(15)) continue;
        const auto now = make_instant(random, request, decision);
        const auto i = static_cast<std::size_t>(
            random.uniform(0, static_cast<std::int64_t>(request.keys.size()) - 1));
        check_equals_script(server, algorithm, request.keys[i], request.limits[i], now);
        ++states;
      }
    }
  }
}

namespace {

Decision call(TestServer& server, const std::string& key, const LeaseCall& call) {
  return Checker::parse(server.eval(algorithm("concurrency").script, {key}, call.arguments()));
}

}  // namespace

TEST_CASE("leases: the free leases and expiries agree with the script's answers") {
  TestServer server;
  Random random;
  const auto& concurrency = algorithm("concurrency");
  for (int i = 0; i < scaled(20, 60); ++i) {
    server.call({"FLUSHALL"});
    auto now = kNow;
    for (int step = 0; step < 15; ++step) {
      LeaseCall request{.limit = random.uniform(1, 6),
                        .lease = microseconds{random.log_uniform(1, 1'000'000)},
                        .action = random.percent(80) ? "acquire" : "release",
                        .id = std::string(1, static_cast<char>('a' + random.uniform(0, 8))),
                        .now = now};
      static_cast<void>(call(server, "k", request));
      if (!random.percent(30)) now += microseconds{random.log_uniform(1, 300'000)};
      const auto dump = server.dump("k");
      const auto seen =
          inspect(server.connection(), "k",
                  {.limit = Limit{.limit = request.limit}, .algorithm = &concurrency, .now = now});
      CHECK(server.dump("k") == dump);
      copy(server, "k", "copy");
      request.now = now;
      request.action = "renew";
      request.id = "nobody";
      const auto gone = call(server, "copy", request);
      request.action = "acquire";
      const auto acquired = call(server, "copy", request);
      CHECK(seen.remaining == gone.remaining);
      CHECK(seen.reset_after == gone.reset_after);
      CHECK(seen.next_free == acquired.retry_after);
      CHECK(seen.exists() == !dump.empty());
      if (seen.exists()) {
        CHECK(seen.used == seen.stored - seen.expired);
        CHECK(seen.entries.size() == static_cast<std::size_t>(seen.stored));
        CHECK_FALSE(seen.entries.front().holder->empty());
      }
    }
  }
}

TEST_CASE("budgets: the figures agree with the script's answers, also of a survey") {
  TestServer server;
  Random random;
  const auto& budget = algorithm("budget");
  Checker checker(server.connection(), budget);
  const Limit limit{.limit = 20, .window = 1ms};
  const auto make = [&](std::int64_t cost, microseconds now) {
    Request request{.keys = {"k"}, .limits = {limit}, .cost = cost, .now = now};
    if (random.percent(15)) return request;
    request.reservation =
        ReservationCall{.settles = random.percent(30),
                        .id = std::string(1, static_cast<char>('a' + random.uniform(0, 15))),
                        .hold = microseconds{random.log_uniform(1'000, 10'000)}};
    return request;
  };
  for (int i = 0; i < scaled(20, 100); ++i) {
    server.call({"FLUSHALL"});
    auto now = kNow;
    for (int step = 0; step < 25; ++step) {
      (void)checker.check(make(random.uniform(1, 9), now));
      if (!random.percent(40)) now += microseconds{random.log_uniform(1, 4'000)};
      const auto dump = server.dump("k");
      const InspectedKey asked{.key = "k", .request = {.usual_limit = limit, .now = now}};
      auto surveyed = survey(server.connection(), {&asked, 1}, built_in_libraries());
      auto seen = inspect(server.connection(), "k",
                          {.limit = limit, .algorithm = &budget, .now = now, .entries = {}});
      CHECK(server.dump("k") == dump);
      const auto look = ask_copy(server, budget, "k", limit, 0, now);
      const auto one = ask_copy(server, budget, "k", limit, 1, now);
      for (const auto* each : {&surveyed.front().inspection, &seen}) {
        CHECK(each->exists() == !dump.empty());
        CHECK(each->remaining == look.remaining);
        CHECK(each->reset_after == look.reset_after);
        CHECK(each->next_free == one.retry_after);
      }
      if (!seen.exists()) continue;
      CHECK(*seen.spent + *seen.held == seen.used);
      CHECK(surveyed.front().inspection.used == seen.used);
      CHECK(surveyed.front().inspection.held == seen.held);
      std::int64_t held = 0;
      for (const auto& [id, stored, state] : seen.reservations) {
        if (state == ReservationState::kHeld) held += stored.units;
        copy(server, "k", "copy");
        const Request again{.keys = {"copy"},
                            .limits = {limit},
                            .cost = 1,
                            .now = now,
                            .reservation = ReservationCall{.settles = true, .id = id}};
        CHECK(checker.check(again).reservation == state);
      }
      CHECK(held == seen.held);
      CHECK(std::ranges::is_sorted(seen.reservations, {}, [](const InspectedReservation& each) {
        return each.stored.held_until;
      }));
    }
  }
}

TEST_CASE("the limit that is stored beside the leases is not one of them, on any page") {
  TestServer server;
  for (const std::int64_t holders : {1, 3, 1000, 1001, 2500}) {
    CAPTURE(holders);
    server.call({"FLUSHALL"});
    for (std::int64_t i = 0; i < holders; ++i) {
      const LeaseCall request{.limit = 3000,
                              .lease = 1s + microseconds{i},
                              .action = "acquire",
                              .id = std::to_string(i),
                              .now = kNow};
      REQUIRE(call(server, "k", request).allowed);
    }
    const auto all = inspect(server.connection(), "k", {.now = kNow, .entries = std::nullopt});
    CHECK(all.limit == 3000);
    CHECK(all.used == holders);
    CHECK(all.stored == holders);
    REQUIRE(all.entries.size() == static_cast<std::size_t>(holders));
    CHECK(all.entries.front().holder == "0");
    CHECK(all.entries.front().at == kNow + 1s);
    const auto later =
        inspect(server.connection(), "k", {.limit = Limit{.limit = holders}, .now = kNow + 1s});
    CHECK(later.limit == holders);
    CHECK(later.expired == 1);
    const auto full =
        inspect(server.connection(), "k", {.limit = Limit{.limit = holders}, .now = kNow});
    CHECK(full.next_free == 1s);
  }
}

TEST_CASE("windows of many pages have the same figures as a model") {
  TestServer server;
  Random random;
  const Limit limit{.limit = 50'000, .window = 60s};
  for (const std::string name : {"sliding-window-log", "sliding-window-zset"}) {
    CAPTURE(name);
    server.call({"FLUSHALL"});
    const auto model = algorithm(name).make_model();
    ScriptLimiter script(server, algorithm(name));
    microseconds now = kNow;
    std::vector<microseconds> times;
    while (times.size() < 45'000) {
      const auto cost = random.log_uniform(1, 3000);
      now += microseconds{random.log_uniform(1, 10'000)};
      REQUIRE(script.ask("k", limit, cost, now).allowed);
      model->record(limit, cost, now);
      times.insert(times.end(), static_cast<std::size_t>(cost), now);
    }
    for (int i = 0; i < scaled(15, 50); ++i) {
      // Windows and limits within the range of what is stored.
      const auto span = (times.back() - times.front()).count();
      const Limit asked{.limit = random.log_uniform(1, 60'000),
                        .window = microseconds{random.uniform(1, 2 * span)}};
      const auto at = times.back() + microseconds{random.uniform(-span, span)};
      const auto seen = inspect(server.connection(), "k", {.limit = asked, .now = at, .bars = 50});
      const auto peek = model->peek(asked, 1, at);
      CHECK(seen.remaining == peek.remaining);
      CHECK(seen.reset_after == peek.reset_after);
      CHECK(seen.next_free == peek.retry_after);
      CHECK(seen.used == model->usage(asked, at).units);
      CHECK(seen.stored == static_cast<std::int64_t>(times.size()));
      const auto time = std::max(at, times.back());
      std::vector<std::int64_t> bars(50);
      for (const auto unit : times) {
        const auto age = static_cast<double>((unit - (time - asked.window)).count());
        if (age <= 0) continue;
        // A unit belongs to the first bar that does not end before it.
        std::size_t bar = 0;
        while (bar < 49 && age > std::round(static_cast<double>(asked.window.count()) *
                                            static_cast<double>(bar + 1) / 50)) {
          ++bar;
        }
        ++bars[bar];
      }
      CHECK(seen.bars == bars);
    }
    int reports = 0;
    const auto all =
        inspect(server.connection(), "k", {.limit = limit, .now = now, .entries = std::nullopt},
                [&](std::int64_t done, std::int64_t of) {
                  ++reports;
                  CHECK(done <= of);
                });
    CHECK(reports > 3);
    std::vector<InspectedEntry> expected;
    for (const auto time : times) {
      if (expected.empty() || expected.back().at != time) {
        expected.push_back({.at = time, .count = 0});
      }
      ++expected.back().count;
    }
    CHECK(all.entries == expected);
  }
}

TEST_CASE("the times of another limiter are reported as far as they are known") {
  TestServer server;
  const auto ms = [](int n) { return std::to_string(kNow.count() / 1000 + n); };
  for (const auto& n : {0, 0, 5, 2000}) server.call({"ZADD", "z", ms(n), ms(n)});
  server.call({"PEXPIRE", "z", "60000"});
  const Limit limit{.limit = 2, .window = 60s};
  const auto now = microseconds{(kNow.count() / 1000 + 3000) * 1000};
  const auto unknown = inspect(server.connection(), "z", {.limit = limit, .now = now, .bars = 10});
  CHECK(unknown.state.form->name == "foreign-zset");
  CHECK_FALSE(unknown.used);
  CHECK_FALSE(unknown.window);
  CHECK(unknown.entries.size() == 3);
  const Libraries as_times({}, "times");
  const auto look = [&](microseconds at) {
    return stored::inspect(server.connection(), "z", {.limit = limit, .now = at, .bars = 10},
                           as_times);
  };
  const auto zset = look(now);
  CHECK(zset.used == 3);
  CHECK(zset.remaining == 0);
  CHECK(zset.next_free == 60s - 3000ms + 5ms);
  CHECK(zset.reset_after == 59s);
  CHECK(zset.entries.size() == 3);
  CHECK(zset.entries[1].at == microseconds{(kNow.count() / 1000 + 5) * 1000});
  // The first one leaves the window after exactly 60 s.
  const auto first = microseconds{kNow.count() / 1000 * 1000};
  CHECK(look(first + 60s - 1us).used == 3);
  CHECK(look(first + 60s).used == 2);
}

TEST_CASE("a count is not compared with the limit of another window") {
  TestServer server;
  server.call({"SET", "LIMITS:LIMITER/ann/5/1/minute", "3", "EX", "60"});
  const auto look = [&](microseconds window) {
    const Limit limit{.limit = 4, .window = window};
    return inspect(server.connection(), "LIMITS:LIMITER/ann/5/1/minute", {.limit = limit});
  };
  CHECK(look(60s).used == 3);
  CHECK_FALSE(look(3600s).used);
  CHECK(look(3600s).state.unknown == "it counts in a window of 60s, which is not the limit's");
}

TEST_CASE("a state that an asked limit cannot have left is not compared with it") {
  TestServer server;
  server.call({"SET", "rlflx:ann", "3", "EX", "3600"});
  server.call({"SET", "plugin-limit-count-ann", "7", "EX", "60"});
  server.call({"HSET", "@upstash/ratelimit:ann", "tokens", "7", "refilledAt", "1795600000000"});
  const auto look = [&](const std::string& key, const Limit& limit) {
    return inspect(server.connection(), key, {.limit = limit});
  };
  CHECK(look("rlflx:ann", {.limit = 5, .window = 3600s}).used == 3);
  CHECK(look("rlflx:ann", {.limit = 5, .window = 60s}).state.unknown ==
        "its window ends later than one of the limit's length");
  CHECK(look("rlflx:ann", {.limit = 2, .window = 60s}).used == 3);  // it may be blocked for longer
  for (const std::string key : {"plugin-limit-count-ann", "@upstash/ratelimit:ann"}) {
    CHECK(look(key, {.limit = 9, .window = 60s}).state.unknown.empty());
    CHECK(look(key, {.limit = 5, .window = 60s}).state.unknown ==
          "more is left than the limit allows");
  }
}

TEST_CASE("a very long TTL is reported as such, not as a negative number") {
  TestServer server;
  server.call({"SET", "k", "5"});
  server.call({"PEXPIRE", "k", "9000000000000000"});
  const auto seen = stored::inspect(server.connection(), "k", {}, Libraries({}, "count"));
  CHECK(seen.ttl.value() > std::chrono::years{280});
  CHECK(seen.reset_after.value() > std::chrono::years{280});
}

TEST_CASE("a number of units that does not fit is reported as the largest number") {
  TestServer server;
  server.call({"SET", "k", packed("leaky ", 1.8e15, 0, 5, 6e7, 5)});
  const Limit limit{.limit = 1'000'000'000, .window = 1us, .burst = 1};
  CHECK(inspect(server.connection(), "k", {.limit = limit, .now = kNow}).used == INT64_MAX);
}

TEST_CASE("a member among leases that is not a lease is shown as it is") {
  TestServer server;
  server.call({"ZADD", "k", "1", "lease:a", "2", "x", "3", "lease:b"});
  const auto seen = inspect(server.connection(), "k", {.now = 0us});
  REQUIRE(seen.entries.size() == 3);
  CHECK(seen.entries[0].holder == "a");
  CHECK(seen.entries[1].holder == "x");
  CHECK(seen.entries[2].holder == "b");
}

TEST_CASE("an entry that is not a time is an error that shows it") {
  TestServer server;
  const auto now = std::to_string(kNow.count());
  server.call({"RPUSH", "k", now, "job\n7", now});
  const auto error = support::error_of([&] { (void)inspect(server.connection(), "k", {}); });
  CHECK(support::message_of(error) == "an entry is not a time: 'job\\n7'");
  CHECK(error.failure() == redis::Failure::kRejected);
  server.call({"DEL", "k"});
  server.call({"RPUSH", "k", now, "-9223372036854775808", now});
  CHECK_THROWS_AS(static_cast<void>(inspect(server.connection(), "k", {})), redis::Error);
}

TEST_CASE("the limit in a key's name applies to its log, not the default one") {
  TestServer server;
  const auto now = redis::server_time(server.call({"TIME"}));
  const std::string key = "LIMITS:LIMITER/ann/5/1/minute";
  for (const auto age : {55s, 45s, 10s}) {
    server.call({"LPUSH", key, std::to_string(std::chrono::duration<double>(now - age).count())});
  }
  const std::optional<Limit> usual = Limit{.limit = 7, .window = 30s};
  for (const auto& limit : {std::optional<Limit>{}, usual}) {
    const auto seen = inspect(server.connection(), key, {.usual_limit = limit, .now = now});
    CHECK(seen.limit == 5);
    CHECK(seen.window == 60s);
    CHECK(seen.used == 3);
    CHECK(seen.remaining == 2);
  }
  const Limit asked{.limit = 7, .window = 30s};
  CHECK(inspect(server.connection(), key, {.limit = asked, .now = now}).used == 1);
}

}  // namespace stored_inspection_test
