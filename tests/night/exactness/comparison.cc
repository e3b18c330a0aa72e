#include "night/exactness/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "limiter/check.h"
#include "lua/substitute.h"
#include "redis/error.h"
#include "redis/server.h"
#include "support/limiters.h"
#include "support/schedule.h"

namespace rlctl::test {
namespace {

using namespace std::chrono_literals;

/// So many replies are outstanding that neither side waits for the other.
constexpr std::size_t kOutstanding = 4'000;
/// So many cases have their keys at the same time.
constexpr std::uint64_t kSlots = 1'000;
/// Runs for further differences, once one is sure.
constexpr int kFewRuns = 5;
/// How often a case is asked again until the server was not held up.
constexpr int kMaxRuns = 1'000;
/// A TTL of a millisecond lasts for longer than this.
constexpr microseconds kHeldUp{900};

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

Lane::Lane(redis::Connection connection, const limiter::Algorithm& algorithm,
           const std::string& name)
    : connection_(std::move(connection)),
      algorithm_(algorithm),
      aging_(connection_, name + ":ttls"),
      sha1_(load(connection_, algorithm.script)),
      sha1_of_virtual_clock_(load(connection_, with_virtual_clock(algorithm.script))) {}

void Lane::append(const Case& asked, const Case::Step& step, std::vector<Answer>& answers) {
  const auto keys = views(step.keys);
  auto arguments = views(step.arguments);
  const auto watch = [&] {
    connection_.append({"TIME"});
    answers.push_back(Answer::kTime);
  };
  if (asked.clocks != Clocks::kCallers && aging_.advance(step.servers_clock, keys)) {
    answers.push_back(Answer::kAging);
    watch();
  }
  answers.push_back(Answer::kDecision);
  if (asked.clocks != Clocks::kServersAging) {
    connection_.append_evalsha(sha1_, keys, arguments);
  } else {
    const auto seconds = std::to_string(step.servers_clock / 1s);
    const auto micros = std::to_string((step.servers_clock % 1s).count());
    arguments.push_back(seconds);
    arguments.push_back(micros);
    connection_.append_evalsha(sha1_of_virtual_clock_, keys, arguments);
  }
  if (asked.clocks != Clocks::kCallers) watch();
}

void Lane::queue(Case asked, std::size_t steps) {
  Pending pending{
      .asked = std::move(asked), .answers = std::exchange(removals_, {}), .queued = Clock::now()};
  auto& made = pending.asked;
  const bool whole = steps >= made.steps.size();
  if (!whole) made.steps.resize(steps);
  for (const auto& step : made.steps) append(made, step, pending.answers);
  if (made.clocks != Clocks::kCallers && aging_.pause()) pending.answers.push_back(Answer::kAging);
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
  std::optional<microseconds> time;  // of the server, after the last command
  for (const Answer answer : pending.answers) {
    const auto reply = connection_.read();
    if (answer == Answer::kAging) script::KeyAging::require_done(reply);
    if (answer == Answer::kTime) {
      const auto now = redis::server_time(reply);
      if (!outcome.first && time && now - *time >= kHeldUp) outcome.is_late = true;
      time = now;
    }
    if (answer == Answer::kDecision) {
      const auto index = static_cast<std::size_t>(step - asked.steps.begin());
      const auto& expected = (step++)->decision;
      ++outcome.decisions;
      std::string got;
      try {
        const auto decision = limiter::Checker::parse(reply, &algorithm_);
        if (decision != expected) got = to_text(decision);
        // parse() reads any number but 1 as a denial.
        if (const auto allowed = reply[0].integer(); allowed != 0 && allowed != 1) {
          got = fmt::format("{} as its first number", allowed);
        }
      } catch (const redis::Error& error) {
        got = error.what();
      }
      if (!got.empty()) differ(index, to_text(expected), std::move(got));
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

void compare(const redis::Url& server, const limiter::Algorithm& algorithm, const Range& range,
             const Interrupt& interrupt, Comparison& done, const std::function<void()>& progress) {
  const auto connect = [&] { return redis::Connection::open(server, range.timeout, &interrupt); };
  Lane lane(connect(), algorithm, range.prefix + "lane");
  std::vector<std::vector<Case::Key>> slots(kSlots);
  auto seed = range.seed;
  std::int64_t queued = 0;

  // Whether a difference is there again each time that the server is not held up; none if it always
  // is.
  const auto remains = [&](const Difference& difference) -> std::optional<bool> {
    Lane again(connect(), algorithm, range.prefix + "again");
    const int runs = done.first ? kFewRuns : kRunsToBeSure;
    int different = 0;
    for (int run = 0; run < kMaxRuns && different < runs; ++run) {
      auto asked = make_case(algorithm, difference.seed,
                             fmt::format("{}again{}-{}:", range.prefix, difference.seed, run),
                             range.alternates);
      const auto keys = asked.keys;
      again.queue(std::move(asked), difference.step + 1);
      const auto outcome = again.take();
      again.remove(keys, false);
      if (!outcome.first) return false;
      if (!outcome.is_late) ++different;
    }
    if (different < runs) return std::nullopt;
    return true;
  };

  const auto begin = Clock::now();
  const auto take = [&] {
    const auto outcome = lane.take();
    done.decisions += outcome.decisions;
    done.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (outcome.first) {
      const auto again = remains(*outcome.first);
      if (!again) ++done.undecided;
      if (again.value_or(false)) {
        done.wrong += outcome.wrong;
        if (!done.first) done.first = outcome.first;
      }
    }
    progress();
  };
  const auto outstanding = range.ends_at_first ? kOutstanding / 20 : kOutstanding;
  const auto ends = [&] { return range.ends_at_first && done.first.has_value(); };
  while (queued < range.decisions && !ends()) {
    auto& to_expire = slots[(seed + kSlots / 2) % kSlots];
    lane.remove(to_expire, seed % 2 == 0);
    to_expire.clear();
    auto asked = make_case(algorithm, seed, range.prefix + slot_of(seed), range.alternates);
    slots[seed % kSlots] = asked.keys;
    const auto steps = std::min<std::int64_t>(std::ssize(asked.steps), range.decisions - queued);
    lane.queue(std::move(asked), static_cast<std::size_t>(steps));
    queued += steps;
    ++seed;
    lane.connection().send_some();
    while (lane.connection().outstanding() > outstanding && !ends()) take();
  }
  while (lane.has_queued() && !ends()) take();
}

}  // namespace rlctl::test
