#include "adversary/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/number.h"

#include "redis/scan.h"

namespace rlctl::adversary {

namespace {

/// The schedule that has this key, of `schedules`.
std::uint32_t schedule_of(std::uint32_t key, std::size_t schedules) {
  return static_cast<std::uint32_t>(key % schedules);
}

/// Runs schedules together, each with its own key, or one for each client. Throws what decide()
/// throws, and Interrupted if an interrupt ends it.
std::vector<Answers> answers_of(simulation::Decider& decider, std::span<const Schedule> schedules) {
  std::vector<traffic::Arrival> arrivals;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    std::uint32_t index = 0;
    for (const auto& request : schedules[i]) {
      const auto key = static_cast<std::uint32_t>(i + request.client * schedules.size());
      arrivals.push_back(arrival_of(request, key, ++index));
    }
  }
  std::vector<limiter::Decision> decisions(arrivals.size());
  if (decider.decide(arrivals, decisions) < arrivals.size()) throw Interrupted();
  std::vector<Answers> answers(schedules.size());
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    answers[schedule_of(arrivals[i].key, schedules.size())].push_back(answer_of(decisions[i]));
  }
  return answers;
}

/// Schedules that stalled run again, until none stalls or they have run this often. A script that
/// takes milliseconds seems to stall each time.
constexpr int kMaxRepeats = 20;
/// The requests that may be sent again beyond the number of those sent for the first time.
constexpr std::int64_t kMaxResent = 20'000;

}  // namespace

ModelTrial::ModelTrial(const script::Candidate& candidate) : candidate_(candidate) {
  script::require_usable(candidate_);
}

std::vector<Answers> ModelTrial::run(std::span<const Schedule> schedules) {
  simulation::ModelDecider decider(candidate_);
  return answers_of(decider, schedules);
}

std::vector<Answers> HolderModelTrial::run(std::span<const Schedule> schedules) {
  std::vector<Branching::Branch> branches;
  for (const auto& schedule : schedules) branches.push_back({.requests = schedule});
  branching()->run(branches);
  std::vector<Answers> answers;
  for (auto& branch : branches) answers.push_back(std::move(branch.answers));
  return answers;
}

std::vector<Answers> ForgetfulTrial::run(std::span<const Schedule> schedules) {
  std::vector<Answers> answers;
  for (const auto& schedule : schedules) {
    decider_.forget();
    answers.push_back(std::move(answers_of(decider_, {&schedule, 1}).front()));
    if (!first_) first_ = {schedule, answers.back()};
  }
  return answers;
}

bool ForgetfulTrial::leaves_endless_key(const Schedule& schedule) {
  static_cast<void>(run({&schedule, 1}));
  return decider_.has_endless_key();
}

std::vector<microseconds> ForgetfulTrial::ttls(const Schedule& schedule) {
  static_cast<void>(run({&schedule, 1}));
  return decider_.ttls();
}

void ForgetfulTrial::confirm(const Schedule& schedule, const Answers& answers) {
  const auto repeats = [this](const Schedule& requests, const Answers& expected) {
    return run({&requests, 1}).front() == expected;
  };
  // Before the first schedule, there was nothing that could be kept.
  if (repeats(schedule, answers) && repeats(first_->first, first_->second)) return;
  throw UsageError(
      "the limiter gave different answers to the same schedule, so the search cannot rely on it",
      "it may use a clock of its own, random numbers, or state from before the reset");
}

std::string_view TrialKeys::key_name(std::uint32_t key) const {
  while (names_.size() <= key) names_.push_back(std::to_string(names_.size() + 1));
  return names_[key];
}

microseconds ttl_tolerance_of(const script::Candidate& candidate) {
  constexpr microseconds kMost{20'000};
  if (!candidate.foreign) return microseconds{0};
  return std::min(kMost, candidate.limits.front().window / 10);
}

ScriptTrial::ScriptTrial(redis::Connection& connection, script::Script& script,
                         microseconds tolerance, ValueOrigin keys)
    : connection_(connection),
      script_(script),
      decider_(connection, script),
      tolerance_(tolerance),
      keys_(std::move(keys)) {
  decider_.observe_keys([this](const traffic::Arrival& arrival, redis::Arguments named) {
    const auto schedule = schedule_of(arrival.key, schedules_);
    for (const auto key : named) {
      const auto& owner = owners_.try_emplace(std::string(key), schedule).first->second;
      are_shared_ |= owner != schedule;
    }
  });
}

/// The named keys, and the hash of their TTLs.
std::vector<std::string> ScriptTrial::known_keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, owner] : owners_) keys.push_back(key);
  if (auto hash = script_.key_of_ttls()) keys.push_back(std::move(*hash));
  return keys;
}

std::set<std::uint32_t> ScriptTrial::schedules_of(const std::set<std::uint32_t>& keys) const {
  std::set<std::uint32_t> schedules;
  for (const auto key : keys) schedules.insert(schedule_of(key, schedules_));
  return schedules;
}

std::vector<Answers> ScriptTrial::run_once(std::span<const Schedule> schedules) {
  owners_.clear();
  schedules_ = schedules.size();
  script_.restart();
  return answers_of(decider_, schedules);
}

/// Runs the schedules, and those again, with TTLs that are slightly shorter and longer, of which
/// that may change an answer; no answers where they differ.
std::vector<Answers> ScriptTrial::run_with_slack(std::span<const Schedule> schedules) {
  auto answers = run_once(schedules);
  stalled_ = schedules_of(decider_.stalled());
  if (tolerance_ == microseconds{0} || !script_.key_of_ttls()) return answers;
  const bool is_each = script_.may_read_ttl() || 2 * tolerance_ > script::KeyAging::kNear;
  std::vector<std::size_t> numbers;
  std::vector<Schedule> again;
  const auto near_end = schedules_of(decider_.near_end());
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    if (!is_each && !near_end.contains(static_cast<std::uint32_t>(i))) continue;
    numbers.push_back(i);
    again.push_back(schedules[i]);
  }
  if (again.empty()) return answers;
  for (const auto slack : {-tolerance_, tolerance_}) {
    remove_keys();
    decider_.set_ttl_slack(slack);
    const auto others = run_once(again);
    for (const auto number : schedules_of(decider_.stalled())) {
      stalled_.insert(static_cast<std::uint32_t>(numbers[number]));
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      auto& own = answers[numbers[i]];
      if (own != others[i]) own.clear();
    }
  }
  decider_.set_ttl_slack(microseconds{0});
  return answers;
}

/// Runs schedules again that stalled on a busy machine, if keys may have expired meanwhile.
std::vector<Answers> ScriptTrial::run(std::span<const Schedule> schedules) {
  if (schedules.empty()) return {};
  auto answers = run_with_slack(schedules);
  std::vector<std::size_t> last_run(schedules.size());  // the numbers of the schedules
  std::iota(last_run.begin(), last_run.end(), std::size_t{0});
  requests_sent_ += requests_of(schedules);
  for (int again = 0; again < kMaxRepeats && !stalled_.empty(); ++again) {
    if (requests_resent_ >= kMaxResent + requests_sent_) break;
    std::vector<std::size_t> numbers;
    for (const auto i : stalled_) numbers.push_back(last_run[i]);
    last_run = std::move(numbers);
    std::vector<Schedule> stalled;
    for (const auto i : last_run) stalled.push_back(schedules[i]);
    requests_resent_ += requests_of(stalled);
    remove_keys();
    auto other_answers = run_with_slack(stalled);
    for (std::size_t i = 0; i < last_run.size(); ++i) {
      answers[last_run[i]] = std::move(other_answers[i]);
    }
  }
  remove_keys();
  if (!are_shared_) return answers;
  refuse_value(keys_,
               std::string(script_.name()) +
                   " is given the same key for every schedule, so that one finds the state of "
                   "the last",
               "leave out --url, --host, --port and --socket");
}

void ScriptTrial::remove_keys() {
  redis::unlink_keys(connection_, known_keys());
}

std::vector<microseconds> ScriptTrial::ttls(const Schedule& schedule) {
  const auto hash = script_.key_of_ttls();
  if (!hash || schedule.empty()) return {};
  static_cast<void>(run_once({&schedule, 1}));
  const auto ends = connection_.call({"HGETALL", *hash});
  std::vector<microseconds> ttls;
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
    const auto end = to_number<std::int64_t>(ends[i + 1].text());
    if (ends[i].text() == *hash || !end) continue;
    ttls.push_back(microseconds{*end} - schedule.back().at);
  }
  remove_keys();
  return ttls;
}

}  // namespace rlctl::adversary
