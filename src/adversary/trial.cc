#include "adversary/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "limiter/limit.h"
#include "limiter/model.h"
#include "redis/error.h"
#include "redis/scan.h"

namespace rlctl::adversary {
namespace {

Answer answer_of(const limiter::Decision& decision) {
  return {.allowed = decision.allowed, .delay = decision.delay};
}

/// The requests of all schedules, each schedule with its own key.
std::vector<traffic::Arrival> arrivals_of(std::span<const Schedule> schedules, std::int64_t cost) {
  std::vector<traffic::Arrival> arrivals;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    for (const auto at : schedules[i]) {
      arrivals.push_back({.at = at, .key = static_cast<std::uint32_t>(i), .cost = cost});
    }
  }
  return arrivals;
}

constexpr std::string_view kElsewhere = "keeps state in keys that are not among its KEYS";

UsageError keeps_state(std::string_view name, std::string_view where) {
  return UsageError(fmt::format(
      "{} {}, so that one schedule finds the state of the last; leave out --url, --host, "
      "--port and --socket: on a private server each schedule begins with an empty "
      "database",
      name, where));
}

}  // namespace

ModelTrial::ModelTrial(const traffic::Candidate& candidate, std::int64_t cost)
    : candidate_(candidate), cost_(cost) {
  traffic::require_usable(candidate_);
}

Answers ModelTrial::answers_to(const Schedule& schedule) const {
  std::vector<std::unique_ptr<limiter::KeyModel>> models;
  std::vector<limiter::KeyAndLimit> keys;
  for (const auto& limit : candidate_.limits) {
    models.push_back(candidate_.algorithm->make_model());
    keys.push_back({.key = models.back().get(), .limit = limit});
  }
  Answers answers;
  for (const auto at : schedule) answers.push_back(answer_of(limiter::decide(keys, cost_, at)));
  return answers;
}

std::vector<Answers> ModelTrial::ask(std::span<const Schedule> schedules) {
  std::vector<Answers> answers;
  for (const auto& schedule : schedules) answers.push_back(answers_to(schedule));
  return answers;
}

std::string_view TrialKeys::key_name(std::uint32_t key) const {
  while (names_.size() <= key) names_.push_back(std::to_string(names_.size() + 1));
  return names_[key];
}

/// Wraps a script, and records the keys that its requests name.
class ScriptTrial::NamedKeys final : public traffic::Script {
 public:
  explicit NamedKeys(traffic::Script& script) : script_(script) {}

  [[nodiscard]] std::string_view name() const override { return script_.name(); }
  void require_virtual_clock() const override { script_.require_virtual_clock(); }
  [[nodiscard]] bool may_call_time() const override { return script_.may_call_time(); }
  [[nodiscard]] std::optional<std::string> key_of_ttls() const override {
    return script_.key_of_ttls();
  }
  void load(redis::Connection& connection) override { script_.load(connection); }
  [[nodiscard]] limiter::ScriptCall call(const traffic::Arrival& arrival) override {
    const auto call = script_.call(arrival);
    for (const auto key : call.keys) {
      const auto named = owners_.try_emplace(std::string(key), arrival.key);
      are_shared_ |= named.first->second != arrival.key;
    }
    return call;
  }
  [[nodiscard]] redis::Error with_question(const redis::Error& error,
                                           const traffic::Arrival& arrival,
                                           std::int64_t number) const override {
    return script_.with_question(error, arrival, number);
  }
  /// The keys named since forget().
  [[nodiscard]] std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const auto& [key, owner] : owners_) keys.push_back(key);
    return keys;
  }
  /// Whether two schedules have named the same key since forget().
  [[nodiscard]] bool are_shared() const { return are_shared_; }
  void forget() {
    owners_.clear();
    are_shared_ = false;
  }

 private:
  [[nodiscard]] limiter::Decision read(redis::ReplyView reply) const override {
    return script_.parse(reply);
  }

  traffic::Script& script_;
  std::unordered_map<std::string, std::uint32_t> owners_;  ///< the schedule of each key
  bool are_shared_ = false;
};

ScriptTrial::ScriptTrial(redis::Connection& connection, traffic::Script& script, std::int64_t cost,
                         Preconditions preconditions)
    : connection_(connection),
      script_(std::make_unique<NamedKeys>(script)),
      decider_(connection, *script_),
      cost_(cost),
      preconditions_(std::move(preconditions)) {}

ScriptTrial::~ScriptTrial() = default;

std::vector<Answers> ScriptTrial::ask_once(std::span<const Schedule> schedules) {
  const auto arrivals = arrivals_of(schedules, cost_);
  std::vector<limiter::Decision> decisions(arrivals.size());
  script_->forget();
  decider_.decide(arrivals, decisions);
  std::vector<Answers> answers(schedules.size());
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    answers[arrivals[i].key].push_back(answer_of(decisions[i]));
  }
  return answers;
}

/// If keys may have TTLs, runs the schedules three times, with slightly different TTLs: answers
/// that differ depend on chance.
std::vector<Answers> ScriptTrial::ask_together(std::span<const Schedule> schedules) {
  auto answers = ask_once(schedules);
  const auto tolerance = preconditions_.ttl_tolerance;
  if (tolerance == microseconds{0} || !script_->key_of_ttls()) return answers;
  for (const auto slack : {-tolerance, tolerance}) {
    remove_keys();
    decider_.set_ttl_slack(slack);
    const auto others = ask_once(schedules);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] != others[i]) answers[i].clear();
    }
  }
  decider_.set_ttl_slack(microseconds{0});
  return answers;
}

std::vector<Answers> ScriptTrial::ask_apart(std::span<const Schedule> schedules) {
  std::vector<Answers> answers;
  for (const auto& schedule : schedules) {
    remove_keys();
    answers.push_back(std::move(ask_together({&schedule, 1}).front()));
  }
  return answers;
}

/// Whether there are keys besides the named ones and the hash of the TTLs.
bool ScriptTrial::holds_more_than_named() {
  auto known = script_->keys();
  if (auto hash = script_->key_of_ttls()) known.push_back(std::move(*hash));
  if (preconditions_.state == Preconditions::State::kUnderPrefix) {
    redis::Scan scan(connection_, redis::escape_glob(preconditions_.prefix) + "*");
    while (!scan.done()) {
      for (const auto& key : scan.next()) {
        if (std::find(known.begin(), known.end(), key) == known.end()) return true;
      }
    }
    return false;
  }
  std::vector<std::string_view> exists{"EXISTS"};
  exists.insert(exists.end(), known.begin(), known.end());
  connection_.append({"DBSIZE"});
  connection_.append(exists);
  const auto all = connection_.read().integer();
  return all > connection_.read().integer();
}

/// Runs a schedule twice, and throws if the answers are not independent.
void ScriptTrial::require_apart(const Schedule& schedule) {
  const std::array twice{schedule, schedule};
  const auto answers = ask_together(twice);
  if (script_->are_shared()) {
    throw keeps_state(script_->name(), "is given the same key for every schedule");
  }
  if (answers[0] != answers[1] || holds_more_than_named()) {
    throw keeps_state(script_->name(), kElsewhere);
  }
  remove_keys();
  is_checked_ = true;
}

void ScriptTrial::remove_keys() {
  if (preconditions_.state == Preconditions::State::kOwnServer) {
    redis::Reply reply = connection_.call({"FLUSHDB"});
    if (reply.is_error()) throw redis::to_error(reply);
    return;
  }
  auto keys = script_->keys();
  if (auto hash = script_->key_of_ttls()) keys.push_back(std::move(*hash));
  redis::unlink_keys(connection_, keys);
}

void ScriptTrial::take_care() {
  is_apart_ = true;
  decider_.age_all_keys();
}

bool ScriptTrial::confirms(const Schedule& schedule, const Answers& answers) {
  using State = Preconditions::State;
  if (is_apart_ || preconditions_.state == State::kOfNamedKeys) return true;
  const auto again = ask_apart({&schedule, 1});
  remove_keys();
  if (again.front() == answers) return true;
  if (preconditions_.state == State::kUnderPrefix) throw keeps_state(script_->name(), kElsewhere);
  take_care();
  return false;
}

std::vector<Answers> ScriptTrial::ask(std::span<const Schedule> schedules) {
  using State = Preconditions::State;
  if (schedules.empty()) return {};
  if (preconditions_.state == State::kUnderPrefix && !is_checked_) require_apart(schedules.front());
  std::vector<Answers> answers;
  if (!is_apart_) {
    answers = ask_together(schedules);
    is_apart_ = preconditions_.state == State::kOwnServer &&
                (script_->are_shared() || holds_more_than_named());
    if (is_apart_) take_care();
  }
  if (is_apart_) answers = ask_apart(schedules);
  remove_keys();
  return answers;
}

}  // namespace rlctl::adversary
