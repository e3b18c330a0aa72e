#include "stored/libraries.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "redis/server.h"
#include "stored/inspection.h"
#include "support/limiters.h"

// Decoded is made by the commands that each library sends. That of their scripts: see
// tests/cli/inspect/libraries.bats.

namespace stored_libraries_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using rlctl::test::TestServer;

namespace {

microseconds time_of(TestServer& server) {
  return redis::server_time(server.call({"TIME"}));
}

Decoded state_of(TestServer& server, const std::string& key) {
  return decode(key, read_contents(server.connection(), {&key, 1}).front());
}

/// The label of the key's form; empty if it is not a limiter's.
std::string label_of(TestServer& server, const std::string& key) {
  const auto state = state_of(server, key);
  return state.form == nullptr ? "" : state.form->label();
}

void expire_at(TestServer& server, const std::string& key, microseconds at) {
  server.call({"PEXPIREAT", key, std::to_string((at.count() + 999) / 1000)});
}

std::string in_seconds(microseconds time) {
  const auto digits = std::to_string(1'000'000 + time.count() % 1'000'000).substr(1);
  return std::to_string(time.count() / 1'000'000) + "." + digits;
}

std::string whole_seconds(microseconds time) {
  return std::to_string(time.count() / 1'000'000);
}

Inspection look(TestServer& server, const std::string& key, const InspectionRequest& request = {}) {
  return inspect(server.connection(), key, request);
}

}  // namespace

TEST_CASE("a theoretical arrival time is recognized in each library's unit, with its TTL") {
  TestServer server;
  const auto tat = time_of(server) + 300s;
  const std::vector<std::array<std::string, 3>> cases{
      {"redis_rate: gcra", "rate:ann", in_seconds(tat - 1'483'228'800s)},
      {"throttled-py: gcra", "throttled:v1:gcra:ann", in_seconds(tat - 1'735'660'800s)},
      {"redis-cell: gcra", "ann", std::to_string(tat.count()) + "000"},
  };
  for (const auto& each : cases) {
    const auto& label = each[0];
    const auto& key = each[1];
    const auto& value = each[2];
    CAPTURE(label);
    server.call({"SET", key, value});
    expire_at(server, key, tat);
    const auto state = state_of(server, key);
    REQUIRE(state.form != nullptr);
    CHECK(state.form->label() == label);
    CHECK(state.certain);
    CHECK(state.time.value() >= tat - 1us);  // a double has fewer digits
    CHECK(state.time.value() <= tat + 1us);
    CHECK_FALSE(state.limit);
    CHECK_FALSE(look(server, key).used);

    // Thirty seconds ahead at one a second: thirty of sixty.
    const Limit limit{.limit = 60, .window = 60s};
    const auto seen = look(server, key, {.limit = limit, .now = tat - 30s});
    CHECK(seen.used.value() >= 30);
    CHECK(seen.used.value() <= 31);
    CHECK(seen.burst == 60);
    CHECK(seen.reset_after.value() >= 30s - 1us);
    CHECK(seen.reset_after.value() <= 30s + 1us);
    CHECK(seen.next_free == 0us);
    const Limit few{.limit = 60, .window = 60s, .burst = 10};
    const auto full = look(server, key, {.limit = few, .now = tat - 30s});
    CHECK(full.remaining == 0);
    CHECK(full.next_free.value() >= 21s - 1us);
    CHECK(full.next_free.value() <= 21s + 1us);
  }
}

TEST_CASE("limits' names have the limit of each of its strategies") {
  TestServer server;
  const std::string fixed = "LIMITS:LIMITER/ann/10.0.0.1/5/2/minute";
  server.call({"SET", fixed, "3", "PX", "100000"});
  CHECK(label_of(server, fixed) == "limits: fixed-window");
  auto seen = look(server, fixed);
  CHECK(seen.limit == 5);
  CHECK(seen.window == 120s);
  CHECK_FALSE(seen.window_is_inferred);
  CHECK(seen.used == 3);
  CHECK(seen.remaining == 2);
  CHECK(seen.next_free == 0us);
  CHECK(seen.reset_after == seen.ttl);
  seen = look(server, fixed, {.limit = Limit{.limit = 2, .window = 120s}});
  CHECK(seen.limit == 2);
  CHECK(seen.remaining == 0);
  CHECK(seen.next_free == seen.ttl);

  const auto now = time_of(server);
  const std::string moving = "LIMITS:LIMITER/bob/3/1/hour";
  for (const auto ago : {4000s, 30s, 20s, 10s}) {
    server.call({"LPUSH", moving, in_seconds(now - ago)});
  }
  server.call({"EXPIRE", moving, "3600"});
  CHECK(label_of(server, moving) == "limits: sliding-window-log");
  seen = look(server, moving, {.now = now, .bars = 60});
  CHECK(seen.limit == 3);
  CHECK(seen.window == 3600s);
  CHECK(seen.stored == 4);
  CHECK(seen.expired == 1);
  CHECK(seen.used == 3);
  CHECK(seen.remaining == 0);
  REQUIRE(seen.next_free);
  CHECK(std::chrono::abs(*seen.next_free - 3570s) <= 1us);
  CHECK(std::chrono::abs(*seen.reset_after - 3590s) <= 1us);
  REQUIRE(seen.entries.size() == 4);
  CHECK(std::chrono::abs(seen.entries.front().at - (now - 4000s)) <= 1us);
  CHECK(std::chrono::abs(seen.entries.back().at - (now - 10s)) <= 1us);
  const Limit limit{.limit = 3, .window = 25s};
  CHECK(look(server, moving, {.limit = limit, .now = now}).used == 2);

  const std::string sliding = "LIMITS:{LIMITER/cid/7/30/second}";
  server.call({"SET", sliding, "4", "PX", "50000"});
  server.call({"SET", sliding + "/-1", "6", "PX", "20000"});
  for (const auto& key : {sliding, sliding + "/-1"}) {
    CHECK(label_of(server, key) == "limits: sliding-window-counter");
    seen = look(server, key);
    CHECK(seen.limit == 7);
    CHECK(seen.window == 30s);
    CHECK_FALSE(seen.used);
    CHECK(seen.entries.size() == 1);
  }
  CHECK(state_of(server, sliding).partner == sliding + "/-1");
  CHECK(state_of(server, sliding + "/-1").partner == sliding);
}

TEST_CASE("a long list of limits is read as one of this project") {
  TestServer server;
  const auto now = time_of(server);
  const std::string key = "LIMITS:LIMITER/ann/5000/1/hour";
  for (int i = 3000; i > 0; --i) {
    server.call({"LPUSH", key, in_seconds(now - std::chrono::seconds{i * 2})});
  }
  server.call({"EXPIRE", key, "3600"});
  const Limit limit{.limit = 5000, .window = 3600s};
  const auto seen = look(server, key, {.limit = limit, .now = now, .entries = std::nullopt});
  CHECK(seen.stored == 3000);
  // One that is exactly an hour old may be a microsecond older after rounding.
  CHECK(seen.used.value() >= 1799);
  CHECK(seen.used.value() <= 1800);
  REQUIRE(seen.entries.size() == 3000);
  for (std::size_t i = 1; i < seen.entries.size(); ++i) {
    CHECK(seen.entries[i - 1].at < seen.entries[i].at);
  }
}

TEST_CASE("a counter whose name has the number of its window has that window") {
  TestServer server;
  struct Case {
    std::string label, before, after;
    microseconds longer;  ///< the TTL is this and `windows` windows
    int windows;
    bool from_begin;  ///< the TTL counts from the beginning of the window, else from the request
  };
  const std::vector<Case> cases{
      {"upstash: fixed-window", "@upstash/ratelimit:ann:", "", 0s, 1, false},
      {"upstash: sliding-window-counter", "@upstash/ratelimit:a:b:", "", 1s, 2, false},
      {"throttled-py: fixed-window", "throttled:v1:fixed_window:ann:period:", "", 0s, 1, false},
      {"throttled-py: sliding-window-counter", "throttled:v1:sliding_window:ann:period:", "", 0s, 3,
       false},
      {"rack-attack: fixed-window", "rack::attack:", ":req/ip:1.2.3.4", 1s, 1, true},
      {"rack-attack: fixed-window", "app:rack::attack:g2:", ":req/ip:1.2.3.4", 1s, 1, true},
  };
  for (const auto& each : cases) {
    for (const microseconds window : {60s, 1020s, 3600s, 86400s, 30 * 86400s}) {
      CAPTURE(each.label);
      CAPTURE(window.count());
      const auto number = time_of(server) / window + 1;  // far enough from its end
      const auto key = each.before + std::to_string(number) + each.after;
      const auto from = number * window + (each.from_begin ? 0s : window / 3);
      const auto expiry = from + each.windows * window + each.longer;
      server.call({"SET", key, "7"});
      expire_at(server, key, expiry);
      const auto seen = look(server, key);
      REQUIRE(seen.is_limiter());
      CHECK(seen.state.form->label() == each.label);
      CHECK(seen.state.certain);
      CHECK(seen.window == window);
      CHECK(seen.window_is_inferred);
      CHECK(seen.entries == std::vector<InspectedEntry>{{.at = number * window, .count = 7}});
      if (seen.state.partner.empty()) {
        const Limit limit{.limit = 9, .window = window};
        const auto full = look(server, key, {.limit = limit, .now = number * window});
        CHECK(full.remaining == 2);
        CHECK(full.reset_after == window);
        const auto later = look(server, key, {.limit = limit, .now = (number + 1) * window});
        CHECK(later.used == 0);
        CHECK(later.reset_after == 0us);
      } else {
        CHECK(seen.state.partner == each.before + std::to_string(number - 1));
        CHECK_FALSE(seen.used);
      }
      server.call({"PERSIST", key});
      const auto stuck = look(server, key);
      CHECK_FALSE(stuck.state.certain);
      CHECK_FALSE(stuck.window);
    }
  }
}

TEST_CASE("buckets in hashes show their tokens, and with a limit what is left") {
  TestServer server;
  const auto now = microseconds{time_of(server) / 60s * 60s};
  const auto ms = std::to_string((now - 25s).count() / 1000);
  const auto s = whole_seconds(now - 25s);
  const auto later = now + 400ms;

  // Refilled once in 10 s, at 15 s and at 5 s before now.
  const std::string upstash = "@upstash/ratelimit:ann";
  server.call({"HSET", upstash, "refilledAt", ms, "tokens", "-4"});
  server.call({"PEXPIRE", upstash, "60000"});
  auto seen = look(server, upstash);
  REQUIRE(seen.is_limiter());
  CHECK(seen.state.form->label() == "upstash: token-bucket");
  CHECK(seen.state.certain);
  CHECK(seen.state.time == now - 25s);
  CHECK(seen.state.bucket.value().tokens == -4);
  CHECK_FALSE(seen.used);
  CHECK_FALSE(seen.next_free);
  const Limit refill{.limit = 2, .window = 10s, .burst = 5};
  seen = look(server, upstash, {.limit = refill, .now = later});
  CHECK(seen.burst == 5);
  CHECK(seen.used == 5);
  CHECK(seen.remaining == 0);
  CHECK(seen.next_free == 5s - 400ms);
  CHECK(seen.reset_after == 25s - 400ms);

  const std::string tokens = "throttled:v1:token_bucket:ann";
  server.call({"HSET", tokens, "tokens", "3", "last_refreshed", s});
  seen = look(server, tokens);
  REQUIRE(seen.is_limiter());
  CHECK(seen.state.form->label() == "throttled-py: token-bucket");
  CHECK_FALSE(seen.state.certain);  // no TTL
  // Every two seconds one comes back: twelve in 25 s.
  const Limit half{.limit = 30, .window = 60s, .burst = 20};
  seen = look(server, tokens, {.limit = half, .now = later});
  CHECK(seen.remaining == 15);
  CHECK(seen.used == 5);
  CHECK(seen.next_free == 0us);
  CHECK(seen.reset_after == 9s - 400ms);

  const std::string leaking = "throttled:v1:leaking_bucket:ann";
  server.call({"HSET", leaking, "tokens", "15", "last_refreshed", s});
  seen = look(server, leaking, {.limit = half, .now = later});
  REQUIRE(seen.is_limiter());
  CHECK(seen.state.form->label() == "throttled-py: leaky-bucket");
  CHECK(seen.used == 3);
  CHECK(seen.remaining == 17);
  CHECK(seen.reset_after == 5s - 400ms);
}

TEST_CASE("counters and pairs of keys are recognized by their names") {
  TestServer server;
  const auto now = time_of(server);
  const std::string hash = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
  const std::string end = whole_seconds(now + 300s);
  const std::string spring = "request_rate_limiter.{route.ann}.";
  struct Case {
    std::string label, key, value, partner;
    bool certain;
  };
  const std::vector<Case> cases{
      {"rate-limiter-flexible: fixed-window", "rlflx:ann", "3", "", true},
      {"rate-limiter-flexible: fixed-window", "rlflx:a:b", "-2", "", true},
      {"spring-cloud-gateway: token-bucket", spring + "tokens", "3.5", spring + "timestamp", true},
      {"spring-cloud-gateway: token-bucket", spring + "timestamp", whole_seconds(now),
       spring + "tokens", true},
      {"laravel: fixed-window", "laravel_database_laravel_cache_:" + hash, "3",
       "laravel_database_laravel_cache_:" + hash + ":timer", false},
      {"laravel: fixed-window", "shop-cache-" + hash.substr(8), "3",
       "shop-cache-" + hash.substr(8) + ":timer", false},
      {"laravel: fixed-window", "shop-cache-" + hash + ":timer", end, "shop-cache-" + hash, true},
      {"laravel: fixed-window", "shop-cache-send:ann:timer", end, "shop-cache-send:ann", false},
      {"foreign-counter", "rlflx:", "3", "", false},
      {"foreign-counter", "rlflx2:ann", "3", "", false},
      {"", "rlflx:ann", "{\"points\":3}", "", false},
      {"", "request_rate_limiter.route.tokens", "3.5", "", false},
      {"", spring + "tokens", "many", "", false},
      {"foreign-counter", spring + "timestamp", "17", "", false},
      {"foreign-counter", "sessions:" + hash, "3", "", false},
      {"foreign-counter", "cache:" + hash, "3", "", false},
      {"foreign-counter", "shop-cache-" + hash.substr(1), "3", "", false},
      {"", "shop-cache-" + hash, "a:1:{i:0;s:3:\"ann\";}", "", false},
      {"foreign-counter", "egg:timer", "1763750000", "", false},
      {"foreign-counter", ":timer", end, "", false},
  };
  for (const auto& each : cases) {
    CAPTURE(each.key);
    server.call({"SET", each.key, each.value});
    expire_at(server, each.key, now + 300s);
    const auto state = state_of(server, each.key);
    CHECK((state.form == nullptr ? "" : state.form->label()) == each.label);
    CHECK(state.partner == each.partner);
    CHECK(state.certain == each.certain);
    static_cast<void>(look(server, each.key));
  }
  const Limit limit{.limit = 5, .window = 60s};
  auto seen = look(server, "rlflx:a:b", {.limit = limit});
  CHECK(seen.used == 0);  // more was given back than taken
  CHECK(seen.remaining == 5);
  const auto timer = "shop-cache-" + hash + ":timer";
  seen = look(server, timer, {.now = microseconds{std::chrono::seconds{std::stoll(end)}} - 5s});
  CHECK(seen.reset_after == 5s);
  CHECK_FALSE(seen.used);
}

TEST_CASE("sorted sets scored in seconds, ms and µs are windows; queues of jobs are not") {
  TestServer server;
  const auto now = time_of(server);
  const auto add = [&](const std::string& key, const std::string& member, microseconds at,
                       std::int64_t us_per_score) {
    const auto score =
        us_per_score == 1
            ? std::to_string(at.count())
            : std::to_string(static_cast<double>(at.count()) / static_cast<double>(us_per_score));
    server.call({"ZADD", key, score, member});
  };
  for (const std::int64_t unit : {1, 1000, 1'000'000}) {
    CAPTURE(unit);
    const std::string key = "window:ann:" + std::to_string(unit);
    for (const auto ago : {70s, 40s, 10s}) add(key, std::to_string(ago.count()), now - ago, unit);
    if (unit != 1000) CHECK(label_of(server, key).empty());
    server.call({"EXPIRE", key, "50"});
    CHECK(label_of(server, key) == "foreign-zset");
    const Limit limit{.limit = 5, .window = 60s};
    const auto seen = look(server, key, {.limit = limit, .now = now});
    CHECK(seen.state.form->us_per_score == unit);
    CHECK(seen.used == 2);
    CHECK(seen.expired == 1);
    CHECK(std::chrono::abs(seen.reset_after.value() - 50s) <= 1ms);
  }
  const auto label = [&](const std::string& member, const std::string& score) {
    server.call({"DEL", "z"});
    server.call({"ZADD", "z", score, member});
    server.call({"EXPIRE", "z", "60"});
    return label_of(server, "z");
  };
  CHECK(label("job", "17").empty());
  CHECK(label("{\"class\":\"Mail\"}", in_seconds(now)).empty());
  CHECK(label("job", "8000000000").empty());
  CHECK(label("job", "inf").empty());
}

TEST_CASE("what articles teach is recognized by names like theirs") {
  TestServer server;
  const auto now = time_of(server);
  const auto set = [&](const std::string& key, const std::string& value, const std::string& ttl) {
    server.call({"SET", key, value, "PX", ttl});
    return label_of(server, key);
  };
  for (const auto* prefix : {"rate:", "ratelimit:", "rl:", "throttle:"}) {
    CHECK(set(std::string(prefix) + "login:ann", "3", "60000") == "article: fixed-window");
  }
  const auto index = std::to_string(now / 5s);
  CHECK(set("api:" + index, "3", "5000") == "article: fixed-window");
  const auto seen = look(server, "api:" + index, {.now = now});
  CHECK(seen.window == 5s);
  CHECK(seen.used == 3);
  CHECK(set("api:" + std::to_string(now / 1min - 100), "3", "60000") == "foreign-counter");
  CHECK(set("order:179512345", "3", "60000") == "foreign-counter");
  for (std::int64_t i = 200'000; i < 201'000; ++i) {
    CHECK(set("views:" + std::to_string(i), "5", "3600000") == "foreign-counter");
  }
  CHECK(set("api:9223372036854775807", "3", "60000") == "foreign-counter");
  const auto minute = std::to_string(now / 1min % 60);
  CHECK(set("ann:" + minute, "3", "59000") == "article: fixed-window");
  CHECK(set("ann:" + minute, "3", "600000") == "foreign-counter");
  CHECK(set("user:75", "3", "59000") == "foreign-counter");
  CHECK(set("rate:login:ann", "three", "60000").empty());
  server.call({"ZADD", "hist:ann:login", std::to_string(now / 1ms), "a"});
  CHECK(label_of(server, "hist:ann:login") == "article: sliding-window-zset");
  server.call({"ZADD", "hist:scores", "17", "a"});
  CHECK(label_of(server, "hist:scores").empty());
  server.call({"RPUSH", "bucket:ann", "t1", "t2", "t3"});
  CHECK(label_of(server, "bucket:ann") == "article: token-bucket");
  server.call({"RPUSH", "bucket:jobs", "{\"id\":1}"});
  CHECK(label_of(server, "bucket:jobs").empty());
}

TEST_CASE("keys that only resemble a library's are not claimed") {
  TestServer server;
  const auto now = time_of(server);
  const auto s = whole_seconds(now), ns = std::to_string(now.count()) + "000";
  const std::string since_2017 = in_seconds(now - 1'483'228'800s);
  const std::string counter = "foreign-counter", bucket = "throttled:v1:token_bucket:ann";
  struct Case {
    std::vector<std::string> create;  ///< a command, the key and its contents
    std::string label = {};
  };
  const std::vector<Case> cases{
      // Numbers that might be arrival times: the ID of a post, a time in ns, and one without a TTL.
      {{"SETEX", "rate:usd", "60", "1.0837"}},
      {{"SETEX", "config:rate:limit", "60", "100"}, counter},
      {{"SETEX", "rate:ann", "60", "{\"tat\":312345678.5}"}},
      {{"SETEX", "rate:ann", "60", "nan"}},
      {{"SETEX", "rate:ann", "60", "inf"}},
      {{"SETEX", "rate", "60", since_2017}},
      {{"SETEX", "throttled:v1:gcra:ann", "60", "-5.5"}},
      {{"SETEX", "throttled:v2:gcra:ann", "60", "6000000.5"}},
      {{"SETEX", "last-post:ann", "60", "1992345678901234567"}},
      {{"SETEX", "seen:ann", "60", ns}},
      {{"SET", "ann", std::to_string((now + 30s).count()) + "000"}},
      // Hashes with other fields, other names or other values than a bucket's.
      {{"HSET", bucket, "tokens", "3", "last_refreshed", s}, "throttled-py: token-bucket"},
      {{"HSET", "ann", "tokens", "3", "last_refreshed", s}},
      {{"HSET", bucket, "tokens", "3"}},
      {{"HSET", bucket, "tokens", "3", "last_refreshed", s, "name", "ann"}},
      {{"HSET", bucket, "tokens", "three", "last_refreshed", s}},
      {{"HSET", bucket, "tokens", "nan", "last_refreshed", s}},
      {{"HSET", bucket, "tokens", "1e999", "last_refreshed", s}},
      {{"HSET", bucket, "tokens", "3", "last_refreshed", "17"}},
      {{"HSET", bucket, "tokens", "3", "refilledAt", s + "000"}},
      {{"HSET", "@upstash/ratelimit:ann", "request", "1"}},
      {{"HSET", "session:ann", "user", "ann", "ip", "10.0.0.1"}},
      // Other programs' keys.
      {{"SETEX", "sess:Ab3dEf", "60", "eyJhbGciOi"}},
      {{"SET", "config", "{\"limit\":5,\"window\":60}"}},
      {{"RPUSH", "queue", "{\"id\":1}", "{\"id\":2}"}},
      {{"ZADD", "board", "4711", "ann", "9000", "bob"}},
      {{"ZADD", "jobs", "100200300", "job:1", "100200301", "job:2"}},
      {{"SADD", "@upstash/ratelimit:denyList:all", "10.0.0.1"}},
      {{"SETEX", "@upstash/ratelimit:ipDenyListStatus", "60", "valid"}},
  };
  for (const auto& each : cases) {
    const auto& command = each.create;
    CAPTURE(command.back());
    server.call({"FLUSHALL"});
    server.call(command);
    REQUIRE(server.call({"EXISTS", command[1]}).integer() == 1);
    CHECK(label_of(server, command[1]) == each.label);
  }
  // One of redis_rate without a TTL is recognized, but not certain.
  server.call({"SET", "rate:ann", since_2017});
  CHECK(label_of(server, "rate:ann") == "redis_rate: gcra");
  CHECK_FALSE(state_of(server, "rate:ann").certain);
}

TEST_CASE("names that only resemble those of limits or of a numbered window are not claimed") {
  TestServer server;
  for (const std::string key : {"LIMITS:LIMITER/ann/5/1/fortnight",
                                "LIMITS:ann",
                                "LIMITS:5/1/minute",
                                "LIMITS:{",
                                "LIMITS:{LIMITER/ann/5/1/minute",
                                "LIMITS:{LIMITER/ann/5/1/minute}/-2",
                                "LIMITS:LIMITER/ann/x/1/minute",
                                "limits:LIMITER/ann/5/1/minute",
                                "@upstash/ratelimit:dynamic:global",
                                "@upstash/ratelimit:ann",
                                "@upstash/ratelimit:ann:0",
                                "throttled:v1:fixed_window:ann",
                                "throttled:v1:fixed_window:ann:17",
                                "throttled:v1:other:ann:period:17",
                                "rack::attack:generation",
                                "rack::attack:17",
                                "track::attack:17:x",
                                "rack::attack:allow2ban:count:x",
                                "rack::attack:17x:y",
                                "rack::attack:4000000000001:x",
                                "rack::attack:9223372036854775807:x"}) {
    CAPTURE(key);
    server.call({"SET", key, "7", "PX", "60000"});
    CHECK(label_of(server, key) == "foreign-counter");
    server.call({"PERSIST", key});
    CHECK(label_of(server, key) == "foreign-counter");
    server.call({"SET", key, "7 jobs", "PX", "60000"});
    CHECK(label_of(server, key).empty());
    server.call({"DEL", key});
    server.call({"RPUSH", key, "1763750000.5", "1763750001.5"});
    CHECK(label_of(server, key).empty());
    server.call({"DEL", key});
  }
  const std::string huge = "LIMITS:LIMITER/ann/5/1000000/year";
  server.call({"SET", huge, "3"});
  CHECK(label_of(server, huge) == "limits: fixed-window");
  CHECK_FALSE(state_of(server, huge).limit);
}

}  // namespace stored_libraries_test
