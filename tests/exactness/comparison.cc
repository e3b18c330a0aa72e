#include "exactness/comparison.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "limiter/check.h"
#include "lua/substitute.h"
#include "redis/error.h"
#include "support/limiters.h"

namespace rlctl::test {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 60s;
/// So many replies are outstanding that neither side waits for the other.
constexpr std::size_t kOutstanding = 4'000;
/// So many cases have their keys at the same time.
constexpr std::uint64_t kSlots = 1'000;
/// How often a difference that may be due to the server's delay must be there.
constexpr int kRuns = 5;

std::string load(redis::Connection& connection, std::string_view script) {
  const auto reply = connection.call({"SCRIPT", "LOAD", script});
  if (reply.is_error()) throw redis::to_error(reply);
  return std::string(reply.text());
}

std::string with_virtual_clock(std::string_view script) {
  const auto substituted = lua::with_substitutes(script, {.time = true});
  if (!substituted) throw UsageError("the script is not valid Lua");
  return *substituted;
}

std::vector<std::string_view> views(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

std::string slot_of(std::uint64_t seed) {
  return "k" + std::to_string(seed % kSlots) + ":";
}

}  // namespace

Lane::Lane(redis::Connection connection, const limiter::Algorithm& algorithm)
    : connection_(std::move(connection)),
      algorithm_(algorithm),
      aging_(connection_, traffic::KeyAging::kHashName),
      sha1_(load(connection_, algorithm.script)),
      sha1_of_virtual_clock_(load(connection_, with_virtual_clock(algorithm.script))) {}

void Lane::append(const Case& asked, const Case::Step& step, std::vector<Answer>& answers) {
  const auto keys = views(step.keys);
  auto arguments = views(step.arguments);
  if (asked.clocks != Clocks::kCallers && aging_.advance(step.servers_clock, keys)) {
    answers.push_back(Answer::kAging);
  }
  answers.push_back(Answer::kDecision);
  if (asked.clocks != Clocks::kServersAging) {
    return connection_.append_evalsha(sha1_, keys, arguments);
  }
  const auto seconds = std::to_string(step.servers_clock / 1s);
  const auto micros = std::to_string((step.servers_clock % 1s).count());
  arguments.push_back(seconds);
  arguments.push_back(micros);
  connection_.append_evalsha(sha1_of_virtual_clock_, keys, arguments);
}

void Lane::queue(Case asked, std::size_t steps) {
  Pending pending{
      .asked = std::move(asked), .answers = std::exchange(removals_, {}), .queued = Clock::now()};
  auto& made = pending.asked;
  const bool whole = steps >= made.steps.size();
  if (!whole) made.steps.resize(steps);
  for (const auto& step : made.steps) append(made, step, pending.answers);
  if (whole && made.clocks == Clocks::kCallers) {
    for (const auto& key : made.keys) {
      connection_.append({"PTTL", key.name});
      pending.answers.push_back(Answer::kTtl);
    }
  }
  pending_.push_back(std::move(pending));
}

void Lane::remove(const std::vector<Case::Key>& keys, bool expire) {
  for (const auto& key : keys) {
    if (expire) {
      connection_.append({"PEXPIRE", key.name, "1"});
    } else {
      connection_.append({"UNLINK", key.name});
    }
    removals_.push_back(Answer::kNothing);
  }
}

Lane::Outcome Lane::take() {
  const Pending pending = std::move(pending_.front());
  pending_.pop_front();
  const Case& asked = pending.asked;
  Outcome outcome;
  const auto differ = [&](std::size_t step, std::string model, std::string script) {
    ++outcome.wrong;
    if (outcome.first) return;
    outcome.first = Difference{asked.seed, step, std::move(model), std::move(script)};
  };
  auto step = asked.steps.begin();
  auto key = asked.keys.begin();
  bool end_differs = false;
  for (const Answer answer : pending.answers) {
    const auto reply = connection_.read();
    if (answer == Answer::kAging) traffic::KeyAging::require_done(reply);
    if (answer == Answer::kDecision) {
      const auto index = static_cast<std::size_t>(step - asked.steps.begin());
      const auto& expected = (step++)->decision;
      ++outcome.decisions;
      if (reply.is_error()) {
        differ(index, to_text(expected), std::string(reply.text()));
      } else if (const auto decision = limiter::Checker::parse(reply); decision != expected) {
        differ(index, to_text(expected), to_text(decision));
      }
    }
    if (answer == Answer::kTtl && !end_differs) {
      const auto ttl = reply.integer();
      const auto& [name, exists, least, most] = *key++;
      const auto passed =
          std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - pending.queued).count() + 1;
      std::string wish;
      if (!exists && ttl != -2) wish = "no key " + name;
      if (exists && ttl < 0) wish = "a key " + name + " with a TTL";
      if (exists && ttl > most) wish = "a TTL of " + name + " of at most " + std::to_string(most);
      if (exists && ttl >= 0 && least && ttl < *least - passed) {
        wish = "a TTL of " + name + " of at least " + std::to_string(*least);
      }
      end_differs = !wish.empty();
      if (end_differs) {
        const auto last = asked.steps.size() - 1;
        const std::string reported = "PTTL " + name + ": " + std::to_string(ttl);
        if (outcome.wrong == 0) differ(last, wish, reported);
      }
    }
  }
  return outcome;
}

void compare(const redis::Url& server, const limiter::Algorithm& algorithm, std::uint64_t seed,
             std::int64_t decisions, const Interrupt& interrupt, Comparison& done,
             const std::function<void()>& progress) {
  const auto connect = [&] { return redis::Connection::open(server, kTimeout, &interrupt); };
  Lane lane(connect(), algorithm);
  std::vector<std::vector<Case::Key>> slots(kSlots);
  std::int64_t queued = 0;

  // Whether a difference is there again, for cases that depend on TTLs.
  const auto remains = [&](const Difference& difference) {
    Lane again(connect(), algorithm);
    for (int run = 0; run < kRuns; ++run) {
      auto asked = make_case(algorithm, difference.seed, "again" + std::to_string(run) + ":");
      const auto keys = asked.keys;
      const auto steps = asked.steps.size();
      again.queue(std::move(asked), steps);
      const bool differs = again.take().first.has_value();
      again.remove(keys, false);
      if (!differs) return false;
    }
    return true;
  };

  const auto begin = Clock::now();
  const auto take = [&] {
    const auto outcome = lane.take();
    done.decisions += outcome.decisions;
    done.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (outcome.first && remains(*outcome.first)) {
      done.wrong += outcome.wrong;
      if (!done.first) done.first = outcome.first;
    }
    progress();
  };
  while (queued < decisions) {
    auto& to_expire = slots[(seed + kSlots / 2) % kSlots];
    lane.remove(to_expire, seed % 2 == 0);
    to_expire.clear();
    auto asked = make_case(algorithm, seed, slot_of(seed));
    slots[seed % kSlots] = asked.keys;
    const auto steps = std::min<std::int64_t>(std::ssize(asked.steps), decisions - queued);
    lane.queue(std::move(asked), static_cast<std::size_t>(steps));
    queued += steps;
    ++seed;
    lane.connection().send_some();
    while (lane.connection().outstanding() > kOutstanding) take();
  }
  while (lane.has_queued()) take();
}

}  // namespace rlctl::test
