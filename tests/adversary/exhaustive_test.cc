// needs: server
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "adversary/sample.h"
#include "adversary/search.h"
#include "support/limiters.h"
#include "support/random.h"
#include "support/test_script.h"

namespace adversary_exhaustive_test {

using namespace std::chrono_literals;
using namespace rlctl::adversary;
using namespace rlctl::test;
using rlctl::Interrupt;
using rlctl::limiter::Limit;

namespace {

const Limit kTwo{2, 60s, {}};
constexpr microseconds kBase{2'524'608'000'000'000};

/// What trying every schedule found.
struct Totals {
  std::int64_t tried = 0, undecided = 0, worst = 0;
  /// The requests of the shortest schedule with a denial that an exact log would not make; 0: none.
  std::size_t shortest_denial = 0;
  bool operator==(const Totals&) const = default;
};
/// The totals of scripts that decide by TTLs: when the machine pauses, a schedule may stay
/// undecided, and those that continue it are not tried.
void check_about_same(const Totals& found, const Totals& expected) {
  CHECK(found.worst == expected.worst);
  CHECK(found.shortest_denial == expected.shortest_denial);
  CHECK(found.undecided <= expected.undecided + expected.tried / 50);
  if (found.undecided == expected.undecided) CHECK(found.tried == expected.tried);
}
std::ostream& operator<<(std::ostream& out, const Totals& totals) {
  return out << totals.tried << " tried, " << totals.undecided << " undecided, " << totals.worst
             << " within a window, wrong denial of " << totals.shortest_denial;
}

/// Tries every schedule from its beginning, without anything of the search that is tested: with
/// times of its own, and by comparing every pair of requests.
class BruteForce {
 public:
  BruteForce(Trial& trial, int requests, std::vector<std::int64_t> costs)
      : trial_(trial), requests_(static_cast<std::size_t>(requests)), costs_(std::move(costs)) {}

  Totals run() {
    extend({});
    return totals_;
  }

 private:
  static std::set<std::int64_t> next_times(const Schedule& before) {
    const std::int64_t w = microseconds{kTwo.window}.count(), base = kBase.count();
    std::set<std::int64_t> times;
    const std::int64_t last = before.empty() ? base : before.back().at.count();
    const auto edge = ((last - base) / w + 1) * w + base;
    for (const auto t : {last, last + 1, last + w / 4, last + w / 2, last + w / 4 * 3}) {
      times.insert(t);
    }
    std::vector<std::int64_t> around{edge};
    for (const auto& request : before) around.push_back(request.at.count() + w);
    for (const auto t : around) times.insert({t - 1, t, t + 1});
    std::erase_if(times, [&](auto t) { return t < last || (before.empty() && t >= base + w); });
    return times;
  }

  void extend(const Schedule& before) {
    if (before.size() == requests_) return;
    std::vector<Schedule> schedules;
    for (const auto time : next_times(before)) {
      for (const auto cost : costs_) {
        schedules.push_back(before);
        schedules.back().push_back({microseconds{time}, cost});
      }
    }
    const auto answers = trial_.run(schedules);
    totals_.tried += static_cast<std::int64_t>(schedules.size());
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      if (answers[i].empty()) {
        ++totals_.undecided;
        continue;
      }
      judge(schedules[i], answers[i]);
      extend(schedules[i]);
    }
  }

  void judge(const Schedule& schedule, const Answers& answers) {
    const auto departure = [&](std::size_t i) { return schedule[i].at + answers[i].delay; };
    for (std::size_t from = 0; from < schedule.size(); ++from) {
      std::int64_t units = 0;
      for (std::size_t i = 0; i < schedule.size(); ++i) {
        const auto after = departure(i) - departure(from);
        if (answers[i].allowed && after >= 0s && after < kTwo.window) units += schedule[i].cost;
      }
      if (answers[from].allowed) totals_.worst = std::max(totals_.worst, units);
    }
    const auto at = schedule.back().at;
    const auto cost = schedule.back().cost;
    if (answers.back().allowed) return;
    auto counted = cost;
    for (std::size_t i = 0; i + 1 < schedule.size(); ++i) {
      if (answers[i].allowed && at - schedule[i].at < kTwo.window) counted += schedule[i].cost;
    }
    auto& shortest = totals_.shortest_denial;
    if (counted <= kTwo.limit && (shortest == 0 || schedule.size() < shortest)) {
      shortest = schedule.size();
    }
  }

  Trial& trial_;
  std::size_t requests_;
  std::vector<std::int64_t> costs_;
  Totals totals_;
};

Totals totals_of(Trial& trial, int requests, std::vector<std::int64_t> costs = {1}) {
  const Interrupt interrupt;
  const auto found = search(
      trial, {.limit = kTwo, .costs = std::move(costs), .base = kBase, .exhaustive = requests},
      interrupt);
  return {.tried = *found.tried,
          .undecided = found.undecided,
          .worst = found.most.score.worst,
          .shortest_denial = found.wrongly_denied ? found.wrongly_denied->schedule.size() : 0};
}

/// A counter of each window of the clock.
constexpr auto kClockCounter = R"(
local window = math.floor(ARGV[1] / ARGV[2])
if redis.call('HGET', KEYS[1], 'window') ~= tostring(window) then
  redis.call('HSET', KEYS[1], 'window', window, 'count', 0)
end
return redis.call('HINCRBY', KEYS[1], 'count', 1) <= tonumber(ARGV[3]) and 1 or 0)";
/// A counter whose window begins with the first request, by its TTL.
constexpr auto kTtlCounter = R"(
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2] / 1000) end
return count <= tonumber(ARGV[3]) and 1 or 0)";
/// A log whose members are the times, so that requests of one instant are one.
constexpr auto kTimesAsMembers = R"(
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2]))
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2] / 500)
return 1)";
/// A TTL that each request renews, of a window shorter than any pause of the machine.
constexpr auto kRenewed = R"(
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 50)
return count <= tonumber(ARGV[3]) and 1 or 0)";

/// A script on its own server.
struct OnServer {
  explicit OnServer(TestScript& script) : trial(server.connection(), script, 20ms) {}
  TestServer server;
  ScriptTrial trial;
};

}  // namespace

TEST_CASE("every algorithm is searched exhaustively as by brute force") {
  for (const auto& row : rlctl::limiter::algorithms()) {
    if (!rlctl::limiter::counts_requests(row)) continue;
    CAPTURE(row.name);
    const rlctl::script::Candidate candidate{&row, {kTwo}};
    ModelTrial trial(candidate);
    const auto requests = static_cast<int>(scaled(4, 5));
    const auto expected = BruteForce(trial, requests, {1}).run();
    CHECK(expected.tried > 3'000);
    CHECK(totals_of(trial, requests) == expected);

    const TrialKeys keys;
    const Interrupt interrupt;
    rlctl::simulation::EngineDecider engine(candidate, keys, interrupt);
    EngineTrial engine_trial(engine);
    CHECK(totals_of(engine_trial, requests) == expected);

    TestServer server;
    const auto script = rlctl::script::make_script(candidate, keys, "a:");
    ScriptTrial script_trial(server.connection(), *script);
    CHECK(totals_of(script_trial, requests) == expected);
    CHECK(server.call({"DBSIZE"}).integer() == 0);
  }
}

TEST_CASE("mixed costs are searched exhaustively as by brute force") {
  for (const auto* name : {"fixed-window", "sliding-window-log", "gcra", "leaky-bucket"}) {
    CAPTURE(name);
    const rlctl::script::Candidate candidate{&algorithm(name), {kTwo}};
    ModelTrial trial(candidate);
    const auto requests = static_cast<int>(scaled(3, 4));
    CHECK(totals_of(trial, requests, {1, 2}) == BruteForce(trial, requests, {1, 2}).run());
  }
}

TEST_CASE("scripts that leak are searched exhaustively as by brute force") {
  const auto compare = [](const char* text, int requests, std::int64_t worst) {
    TestScript script(text, 1us, "", kTwo);
    OnServer limiter(script);
    const auto expected = BruteForce(limiter.trial, requests, {1}).run();
    CHECK(expected.worst == worst);
    const auto found = totals_of(limiter.trial, requests);
    CAPTURE(found);
    CAPTURE(expected);
    check_about_same(found, expected);
    CHECK(limiter.server.call({"DBSIZE"}).integer() == 0);
  };
  compare(kClockCounter, 3, 3);
  compare(kTtlCounter, 4, 3);
  compare(kTimesAsMembers, 3, 3);
  compare(kRenewed, 3, 3);
}

TEST_CASE("a server that pauses makes no difference to scripts that decide by TTLs") {
  TestScript script(kTtlCounter, 1us, "", kTwo);
  OnServer calm(script), pausing(script);
  const auto undisturbed = totals_of(calm.trial, 4);
  const std::jthread pauses([pid = pausing.server.pid()](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::kill(pid, SIGSTOP);
      std::this_thread::sleep_for(30ms);  // longer than the tolerance
      ::kill(pid, SIGCONT);
      std::this_thread::sleep_for(10ms);
    }
  });
  const auto disturbed = totals_of(pausing.trial, 4);
  CAPTURE(disturbed);
  CAPTURE(undisturbed);
  check_about_same(disturbed, undisturbed);
}

TEST_CASE("an exhaustive search shrinks what it finds") {
  const rlctl::script::Candidate candidate{&algorithm("fixed-window"), {kTwo}};
  ModelTrial trial(candidate);
  const auto result = search(trial, {.limit = kTwo, .base = kBase, .exhaustive = 6}, Interrupt());
  CHECK(result.most.score.worst == 4);
  CHECK(result.most.schedule.size() == 4);
  REQUIRE(result.tried);
  CHECK(*result.tried > 100'000);
  CHECK(result.requests_sent > *result.tried);  // and those of shrinking
  CHECK_FALSE(result.most_stepping_back);
}

TEST_CASE("an exhaustive search leaves a sample of the schedules that it tried") {
  ModelTrial trial({&algorithm("fixed-window"), {kTwo}});
  SampledTrial sampled(trial, 1);
  const auto result = search(sampled, {.limit = kTwo, .base = kBase, .exhaustive = 4}, Interrupt());
  const auto sample = sampled.sample();
  CHECK(sample.size() > SampledTrial::kEach);
  std::int64_t most = 0;
  for (const auto& [schedule, answers] : sample) {
    CHECK(trial.run({&schedule, 1}).front() == answers);
    most = std::max(most, std::ranges::count(answers, true, &Answer::allowed));
  }
  CHECK(most == result.most.score.worst);
}

}  // namespace adversary_exhaustive_test
