// needs: server
#include "adversary/search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "support/limiters.h"
#include "support/test_script.h"

namespace adversary_search_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::adversary;
using namespace rlctl::test;
using rlctl::adversary::Schedule;

namespace {

const Limit kFive{5, 60s, {}};
constexpr std::int64_t kTries = 5'000;
/// 2050, a multiple of every window here: state that expires then outlives the test.
constexpr microseconds kBase{2'524'608'000'000'000};

/// With it, keys that expire early since the machine stood still for some ms leave no answer.
constexpr microseconds kTolerance{20ms};

SearchResult search_script(rlctl::script::Script& script, std::int64_t budget = kTries) {
  TestServer server;
  ScriptTrial trial(server.connection(), script, kTolerance);
  const Interrupt interrupt;
  auto result = search(trial, {.limit = kFive, .tries = budget, .base = kBase}, interrupt);
  CHECK(server.call({"DBSIZE"}).integer() == 0);
  return result;
}

SearchResult search_bundled(std::string_view name, const Limit& limit = kFive,
                            std::int64_t budget = kTries) {
  TestServer server;
  const TrialKeys keys;
  const auto script = rlctl::script::make_script({&algorithm(name), {limit}}, keys, "a:");
  ScriptTrial trial(server.connection(), *script);
  const Interrupt interrupt;
  auto result = search(trial, {.limit = limit, .tries = budget, .base = kBase}, interrupt);
  CHECK(server.call({"DBSIZE"}).integer() == 0);
  return result;
}

/// The times relative to the base.
std::string to_text(const Schedule& schedule) {
  std::string text;
  for (const auto& instant : instants_of(schedule)) {
    if (!text.empty()) text += ", ";
    text += std::to_string(instant.count) + " at " + std::to_string((instant.at - kBase).count());
  }
  return text;
}

/// A model that remembers the latest time of a request.
class LatestTrial final : public Trial {
 public:
  explicit LatestTrial(const rlctl::script::Candidate& candidate) : model_(candidate) {}
  std::vector<Answers> run(std::span<const Schedule> schedules) override {
    for (const auto& schedule : schedules) {
      for (const auto& request : schedule) latest_ = std::max(latest_, request.at);
    }
    return model_.run(schedules);
  }
  microseconds latest() const { return latest_; }

 private:
  ModelTrial model_;
  microseconds latest_{0};
};

/// A correct log in a sorted set, as it is commonly written, whose parts can be replaced by wrong
/// ones.
struct LogScript {
  std::string before = "";
  std::string oldest = "now - window";  ///< entries up to this time have left
  std::string ttl = "window / 1000";
};
std::string text_of(const LogScript& log) {
  return "local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])\n" +
         log.before + "\nredis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', " +
         log.oldest + "))\nif redis.call('ZCARD', KEYS[1]) >= limit then return 0 end\n" +
         "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. redis.call('ZCARD', KEYS[1]))\n"
         "redis.call('PEXPIRE', KEYS[1], " +
         log.ttl + ")\nreturn 1";
}

SearchResult search_log(const LogScript& log, microseconds unit = 1us,
                        std::int64_t budget = kTries) {
  TestScript script(text_of(log), unit);
  return search_script(script, budget);
}

}  // namespace

TEST_CASE("fixed-window allows twice the limit around the edge of a window") {
  const auto result = search_bundled("fixed-window");
  CHECK(result.most.score.worst == 10);
  CHECK(result.most.score.worst_span < 60s);
  CHECK(result.most.schedule.size() == 10);
  CHECK_FALSE(result.is_unbounded);
  CHECK(to_text(result.most.schedule) == "5 at 50000000, 5 at 60000000");
  CHECK_FALSE(result.most_stepping_back);
}

TEST_CASE("each other bundled algorithm has a maximum, whatever the clock does") {
  for (const auto& [name, most] :
       std::vector<std::pair<std::string, std::int64_t>>{{"sliding-window-log", 5},
                                                         {"sliding-window-zset", 5},
                                                         {"sliding-window-counter", 9},
                                                         {"token-bucket", 9},
                                                         {"gcra", 9},
                                                         {"leaky-bucket", 5}}) {
    const auto result = search_bundled(name);
    const auto& algorithm_name = name;  // CAPTURE cannot take a structured binding
    CAPTURE(algorithm_name);
    CAPTURE(to_text(result.most.schedule));
    CHECK(result.most.score.worst == most);
    CHECK(result.most.schedule.size() == static_cast<std::size_t>(most));
    CHECK_FALSE(result.most_stepping_back);
    const bool is_exact =
        std::string_view(name).starts_with("sliding-window-log") || name == "sliding-window-zset";
    if (is_exact) CHECK_FALSE(result.wrongly_denied);
  }
}

TEST_CASE("a correct log is not accused, and instants that can be merged are merged") {
  const auto result = search_log({});
  CHECK(result.most.score.worst == 5);
  CHECK(to_text(result.most.schedule) == "5 at 0");
  CHECK_FALSE(result.wrongly_denied);
}

TEST_CASE("a log that allows one unit less than the limit denies the last one") {
  const auto found = search_log({.before = "limit = limit - 1"});
  CHECK(found.most.score.worst == 4);
  REQUIRE(found.wrongly_denied);
  CHECK(to_text(found.wrongly_denied->schedule) == "5 at 0");
  CHECK(found.wrongly_denied->score.wrongly_denied == std::vector<std::size_t>{4});
}

TEST_CASE("a log that locks a client out once the clock steps back denies what it should allow") {
  const std::string ban = R"(
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if last[2] and tonumber(last[2]) > now then
  redis.call('ZADD', KEYS[1], 9e15, 'banned')
  return 0
end)";
  const auto found = search_log({.before = ban});
  CHECK(found.most.score.worst == 5);
  REQUIRE(found.wrongly_denied);
  CHECK(steps_back(found.wrongly_denied->schedule));
  // A denial only at the edge, which needs no such clock, is less serious.
  const auto both =
      search_log({.before = ban, .oldest = "now - window - 1", .ttl = "window / 500"}, 1us, 30'000);
  REQUIRE(both.wrongly_denied);
  CHECK_FALSE(both.wrongly_denied->score.only_at_edge());
  CHECK(steps_back(both.wrongly_denied->schedule));
}

TEST_CASE("a window of a TTL that the first request sets allows nearly twice the limit") {
  TestScript script(R"(
local window, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], window / 1000) end
return count <= limit and 1 or 0)");
  CHECK(search_script(script).most.score.worst == 9);
}

TEST_CASE(
    "with other clients' keys present, one key for all schedules is refused, and theirs are kept") {
  for (const std::string key : {"", "t:one"}) {
    TestServer server;
    server.call({"SET", "theirs", "1"});
    TestScript script("return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[3]) and 1 or 0", 1us,
                      key);
    ScriptTrial trial(server.connection(), script);
    const std::vector<Schedule> two(2, Schedule{{kBase}, {kBase}, {kBase + 1s}});
    if (key.empty()) {
      CHECK(trial.run(two)[1].size() == 3);
    } else {
      CHECK_THROWS_AS(static_cast<void>(trial.run(two)), UsageError);
    }
    CHECK(server.call({"KEYS", "*"}).size() == 1);
    CHECK(server.call({"EXISTS", "theirs"}).integer() == 1);
  }
}

TEST_CASE("a decision that depends on a few ms of a TTL is not answered") {
  TestServer server;
  TestScript script(R"(
if redis.call('SET', KEYS[1], 1, 'NX', 'PX', 1000) then return 1 end
return 0)");
  ScriptTrial trial(server.connection(), script, kTolerance);
  const auto pair = [](microseconds apart) { return Schedule{{kBase}, {kBase + apart}}; };
  const std::vector<Schedule> pairs{pair(979ms), pair(981ms), pair(1s), pair(1019ms), pair(1021ms)};
  const Answers denied{{.allowed = true}, {.allowed = false}};
  const Answers allowed{{.allowed = true}, {.allowed = true}};
  CHECK(trial.run(pairs) == std::vector<Answers>{denied, {}, {}, {}, allowed});
}

TEST_CASE("what only the rounding of the limiter's clock explains is a finding of its own") {
  const auto search_told = [](const std::string& oldest, microseconds tick) {
    TestServer server;
    TestScript script(
        text_of({.before = "now = now - now % 1000000; ARGV[1] = string.format('%.0f', now)",
                 .oldest = oldest,
                 .ttl = "window / 500"}));
    ScriptTrial trial(server.connection(), script, kTolerance);
    return search(trial, {.limit = kFive, .tries = kTries, .base = kBase, .tick = tick},
                  Interrupt());
  };
  const auto found = search_told("now - window", 1s);
  CHECK(found.most.score.worst == 5);
  REQUIRE(found.by_rounding);
  CHECK(found.by_rounding->score.worst == 10);
  CHECK(found.by_rounding->score.worst_span > 59s);
  CHECK_FALSE(found.wrongly_denied);
  // If its clock is not known, rounding is not told from a fault; nor is a fault from rounding.
  const auto exact = search_told("now - window", 1us);
  CHECK(exact.most.score.worst == 10);
  CHECK_FALSE(exact.by_rounding);
  const auto early = search_told("now - window + 1000000", 1s);
  CHECK(early.most.score.worst == 10);
  CHECK(early.most.score.worst_span < 60s);
  CHECK_FALSE(early.by_rounding);
}

TEST_CASE("a limiter that allows nothing is handled by the search") {
  TestScript script("return 0");
  const auto result = search_script(script, 5000);
  CHECK(result.most.score.worst == 0);
  REQUIRE(result.wrongly_denied);
  CHECK(result.wrongly_denied->schedule.size() == 1);
}

TEST_CASE("the same seed finds the same schedule, of a model or of its script") {
  for (const auto* name : {"fixed-window", "sliding-window-counter", "gcra"}) {
    ModelTrial trial({&algorithm(name), {kFive}});
    const auto of_model =
        search(trial, {.limit = kFive, .tries = kTries, .base = kBase}, Interrupt());
    const auto of_script = search_bundled(name);
    CHECK(of_model.most.schedule == of_script.most.schedule);
    CHECK(of_model.requests_sent == of_script.requests_sent);
  }
}

TEST_CASE("no request of a search is later than it says, or than the contract allows") {
  for (const Limit& limit : {kFive, Limit{100, 10ms, {}}}) {
    SearchRequest request{.limit = limit, .costs = {1, 3, -1}};
    const auto earliest = rlctl::limiter::kLatestNow - latest_time(request);
    request.base = earliest - earliest % limit.window;
    LatestTrial trial({&algorithm("fixed-window"), {limit}});
    static_cast<void>(search(trial, request, Interrupt()));
    CHECK(trial.latest() <= rlctl::limiter::kLatestNow);
  }
}

TEST_CASE("the budget must be large enough for the limit") {
  CHECK_THROWS_AS(require_enough_tries({.limit = {1000, 60s, {}}, .tries = 39'999}), UsageError);
  CHECK_NOTHROW(require_enough_tries({.limit = {1000, 60s, {}}, .tries = 40'000}));
}

TEST_CASE("an interrupt ends a search of a script within a batch of schedules") {
  TestServer server;
  TestScript script(text_of({}));
  Interrupt interrupt;
  bool is_armed = false;
  std::int64_t calls_since = 0;
  WatchedScript interrupted(script, [&] {
    if (!is_armed) return;
    interrupt.raise(SIGINT);
    ++calls_since;
  });
  ScriptTrial trial(server.connection(), interrupted);
  trial.decider().stop_at(interrupt, 30s, 30s);
  // A batch has some 10,000 requests.
  const auto result = search(trial, {.limit = {100, 60s, {}}, .base = kBase}, interrupt,
                             [&](std::int64_t, double, std::int64_t) { is_armed = true; });
  CHECK(result.interrupted);
  CHECK(result.most.score.worst == 5);
  CHECK(calls_since < 2000);
}

}  // namespace adversary_search_test
