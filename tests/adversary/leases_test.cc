// needs: server
#include "adversary/leases.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/foreign_bench.h"
#include "support/limiters.h"

namespace adversary_leases_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::adversary;
using namespace rlctl::test;
using rlctl::adversary::Schedule;
using rlctl::traffic::Event;

namespace {

constexpr microseconds kBase{2'524'608'000'000'000};
const Limit kTwo{2, 10s, {}};

/// A semaphore, and what is wrong with it. ARGV: limit, lease in ms, holder, now in ms.
struct Semaphore {
  std::string what = {};
  std::string acquire = {}, release = {};
  bool overfills = false, leaks = false, leaks_for_ever = false;
  std::int64_t leases = 2;
};

/// Adds the holder by `add` while `count` is below the limit.
std::string acquire_of(std::string_view count, std::string_view add) {
  return "if " + std::string(count) + " >= tonumber(ARGV[1]) then return 0 end\n" +
         std::string(add) + "\nreturn 1";
}

const std::string kCounter = "tonumber(redis.call('GET', KEYS[1]) or 0)";
const std::string kMembers = "redis.call('SCARD', KEYS[1])";
const std::string kScored = "redis.call('ZCARD', KEYS[1])";
const std::string kIncrement = "redis.call('INCR', KEYS[1])";
const std::string kAddMember = "redis.call('SADD', KEYS[1], ARGV[3])";
const std::string kAddScored = "redis.call('ZADD', KEYS[1], ARGV[4] + ARGV[2], ARGV[3])";
const std::string kPrune = "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[4])\n";
const std::string kTtl = " redis.call('PEXPIRE', KEYS[1], ARGV[2])";
const std::string kFirstTtl =
    " if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end";
const std::string kDecrement = "redis.call('DECR', KEYS[1])";
const std::string kDecrementAboveZero =
    "if tonumber(redis.call('GET', KEYS[1]) or 0) > 0 then redis.call('DECR', KEYS[1]) end";
const std::string kRemoveMember = "redis.call('SREM', KEYS[1], ARGV[3])";
const std::string kRemoveScored = "redis.call('ZREM', KEYS[1], ARGV[3])";

const std::vector<Semaphore> kSemaphores{
    {.what = "a sorted set without a flaw",
     .acquire = kPrune + acquire_of(kScored, kAddScored + kTtl),
     .release = kRemoveScored},
    {.what = "a lock without a flaw",
     .acquire = "return redis.call('SET', KEYS[1], ARGV[3], 'NX', 'PX', ARGV[2]) and 1 or 0",
     .release = "if redis.call('GET', KEYS[1]) == ARGV[3] then redis.call('DEL', KEYS[1]) end",
     .leases = 1},
    {.what = "a lock that anybody releases",
     .acquire = "return redis.call('SET', KEYS[1], ARGV[3], 'NX', 'PX', ARGV[2]) and 1 or 0",
     .release = "redis.call('DEL', KEYS[1])",
     .overfills = true,
     .leases = 1},
    {.what = "a sorted set whose dead members stay",
     .acquire = acquire_of(kScored, kAddScored),
     .release = kRemoveScored,
     .leaks = true,
     .leaks_for_ever = true},
    {.what = "a sorted set of which a release removes the oldest member",
     .acquire = kPrune + acquire_of(kScored, kAddScored + kTtl),
     .release = "redis.call('ZPOPMIN', KEYS[1])",
     .overfills = true,
     .leaks = true},
    {.what = "a sorted set with half a lease",
     .acquire =
         kPrune +
         acquire_of(kScored, "redis.call('ZADD', KEYS[1], ARGV[4] + ARGV[2] / 2, ARGV[3])" + kTtl),
     .release = kRemoveScored,
     .overfills = true},
    {.what = "a sorted set with the TTL of its first member",
     .acquire = kPrune + acquire_of(kScored, kAddScored + kFirstTtl),
     .release = kRemoveScored,
     .overfills = true},
    {.what = "a counter without an end that becomes negative",
     .acquire = acquire_of(kCounter, kIncrement),
     .release = kDecrement,
     .overfills = true,
     .leaks = true,
     .leaks_for_ever = true},
    {.what = "a counter that does not become negative",
     .acquire = acquire_of(kCounter, kIncrement + kTtl),
     .release = kDecrementAboveZero,
     .overfills = true,
     .leaks = true},
    {.what = "a set whose dead members stay",
     .acquire = acquire_of(kMembers, kAddMember),
     .release = kRemoveMember,
     .leaks = true,
     .leaks_for_ever = true},
    {.what = "a set whose dead members stay while others come",
     .acquire = acquire_of(kMembers, kAddMember + kTtl),
     .release = kRemoveMember,
     .leaks = true},
    {.what = "a set with the TTL of its first member",
     .acquire = acquire_of(kMembers, kAddMember + kFirstTtl),
     .release = kRemoveMember,
     .overfills = true},
};

rlctl::traffic::Candidate candidate_of(const Semaphore& semaphore) {
  const std::vector<std::string> words{"{limit}", "{lease_ms}", "{holder}", "{now_ms}"};
  auto acquire = foreign::limiter(semaphore.acquire, {"sem:{key}"}, words);
  acquire.has_leases = true;
  auto release = foreign::limiter(semaphore.release, {"sem:{key}"}, words);
  release.has_leases = true;
  acquire.ending = std::make_shared<rlctl::traffic::ForeignLimiter>(release);
  return foreign::candidate(acquire, {semaphore.leases, 10s, {}});
}

HoldingSearchResult search_semaphore(const Semaphore& semaphore, std::optional<int> events = {}) {
  TestServer server;
  const TrialKeys keys;
  const auto candidate = candidate_of(semaphore);
  const auto script = rlctl::traffic::make_script(candidate, keys, "a:");
  ScriptTrial trial(server.connection(), *script,
                    {.server = &server.server(), .ttl_tolerance = 20ms});
  const HoldingSearch request{.limit = candidate.limits.front(),
                              .renews = false,
                              .tries = 4'000,
                              .base = kBase,
                              .tick = 1ms};
  if (!events) return search_leases(trial, request, Interrupt());
  trial.note_contents();
  return search_all_leases(trial, request, *events, Interrupt());
}

std::string to_text(const HoldingFinding& finding) {
  std::string text;
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    const auto& request = finding.schedule[i];
    text += std::to_string((request.at - kBase) / 1ms) + " h" + std::to_string(request.holder) +
            " " + std::string(rlctl::traffic::event_name(request.event)) +
            (finding.answers[i].allowed ? ", " : " denied, ");
  }
  return text;
}
std::string to_text(const std::optional<HoldingFinding>& finding) {
  return finding ? to_text(*finding) : "none";
}

void check(const Semaphore& semaphore, const HoldingSearchResult& result) {
  CAPTURE(semaphore.what);
  CAPTURE(to_text(result.overfilled));
  CAPTURE(to_text(result.leak));
  CHECK(result.overfilled.has_value() == semaphore.overfills);
  CHECK((result.held > semaphore.leases) == semaphore.overfills);
  CHECK(result.leak.has_value() == semaphore.leaks);
  CHECK((result.leaked > 0) == semaphore.leaks);
  CHECK(result.leaks_for_ever == semaphore.leaks_for_ever);
  CHECK_FALSE(result.interrupted);
}

}  // namespace

TEST_CASE("leases: each planted flaw of a semaphore is found, and nothing in a sound one") {
  for (const auto& semaphore : kSemaphores) check(semaphore, search_semaphore(semaphore));
}

TEST_CASE("leases: every schedule of three events shows the flaws of a semaphore with one lease") {
  for (auto semaphore : kSemaphores) {
    semaphore.leases = 1;
    // More events than that are needed, or more leases.
    semaphore.leaks = semaphore.leaks_for_ever;
    if (semaphore.what.find("TTL of its first member") != std::string::npos) {
      semaphore.overfills = false;
    }
    const auto result = search_semaphore(semaphore, 3);
    check(semaphore, result);
    CHECK(result.tried.value_or(0) > 1'000);
  }
}

TEST_CASE("leases: the shortest schedules are found, and their times are round") {
  CHECK(to_text(search_semaphore(kSemaphores[2]).overfilled) ==
        "0 h1 acquire, 0 h2 release, 0 h2 acquire, ");
}

TEST_CASE("leases: nothing is found in concurrency, nor in its model") {
  const HoldingSearch request{.limit = kTwo, .tries = 10'000, .base = kBase};
  LeaseModelTrial model(kTwo);
  TestServer server;
  const TrialKeys keys;
  const auto script = rlctl::traffic::make_script({&algorithm("concurrency"), {kTwo}}, keys, "a:");
  ScriptTrial trial(server.connection(), *script);
  for (Trial* each : std::vector<Trial*>{&model, &trial}) {
    const auto result = search_leases(*each, request, Interrupt());
    CAPTURE(to_text(result.overfilled));
    CAPTURE(to_text(result.leak));
    CHECK(result.held == 2);
    CHECK(result.leaked == 0);
    CHECK_FALSE(result.overfilled);
    CHECK_FALSE(result.leak);
    CHECK(result.requests_sent >= request.tries);
  }
  trial.note_contents();
  const auto on_server = search_all_leases(trial, request, 3, Interrupt());
  const auto by_model = search_all_leases(model, request, 3, Interrupt());
  CHECK(on_server.tried == by_model.tried);
  CHECK(on_server.held == 2);
  CHECK(on_server.leaked == 0);
}

TEST_CASE("leases: a lapse is no finding, and a late renewal makes a lease run again") {
  const Limit one{1, 10s, {}};
  const Schedule schedule{{.at = 0s, .holder = 1},
                          {.at = 10s, .holder = 2},
                          {.at = 11s, .event = Event::kRenew, .holder = 1}};
  const Answer yes{.allowed = true}, no{};
  CHECK(lease_score_of(schedule, {yes, yes, no}, one, 20s).held == 1);
  const auto score = lease_score_of(schedule, {yes, yes, yes}, one, 20s);
  CHECK(score.held == 2);
  CHECK(score.held_at == 2);
}

TEST_CASE("leases: a slot counts as lost once it has been free for long enough") {
  const Limit one{1, 10s, {}};
  const auto leaked = [&](microseconds after) {
    const Schedule schedule{{.at = 0s, .holder = 1}, {.at = after, .holder = 2}};
    return lease_score_of(schedule, {{.allowed = true}, {}}, one, 20s).leaked;
  };
  CHECK(leaked(10s) == 0);
  CHECK(leaked(30s - 1us) == 0);
  CHECK(leaked(30s) == 1);
}

}  // namespace adversary_leases_test
