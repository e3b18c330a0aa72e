#include "adversary/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/number.h"

#include "redis/scan.h"

namespace rlctl::adversary {

namespace {

Answer answer_of(const limiter::Decision& decision) {
  return {.allowed = decision.allowed,
          .delay = decision.delay,
          .remaining = decision.remaining,
          .retry_after = decision.retry_after,
          .reset_after = decision.reset_after};
}

/// The schedule that has this key, of so many.
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

/// Adds the answers of a model of leases, and returns what it holds.
std::string run_lease_model(const limiter::Limit& limit, const Schedule& schedule,
                            Answers& answers) {
  limiter::LeaseModel model;
  for (const auto& request : schedule) {
    answers.push_back(
        answer_of(simulation::decide(model, limit, request.event, request.holder, request.at)));
  }
  std::string contents;
  for (const auto& [holder, lapse] : model.lapses()) {
    if (lapse <= schedule.back().at) continue;
    contents += holder + '=' + std::to_string(lapse.count()) + ' ';
  }
  return contents;
}

/// Adds the answers of a model of a budget, and returns what it holds.
std::string run_budget_model(const limiter::Limit& limit, const Schedule& schedule,
                             Answers& answers) {
  limiter::BudgetModel model;
  const limiter::BudgetAndLimit key{.key = &model, .limit = limit};
  for (const auto& request : schedule) {
    answers.push_back(answer_of(simulation::decide({&key, 1}, arrival_of(request))));
  }
  std::string contents;
  const auto& stored = model.stored();
  if (!stored) return contents;
  const auto last = schedule.back().at;
  if (stored->end > last) contents += fmt::format("{}<{}", stored->spent, stored->end.count());
  for (const auto& [id, its] : stored->reservations) {
    if (its.forgotten_at <= last) continue;
    contents += fmt::format(" {}{}{}@{}<{}", id, its.is_settled ? '-' : '+', its.units,
                            its.held_until.count(), its.forgotten_at.count());
  }
  return contents;
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
  std::vector<Answers> answers(schedules.size());
  contents_.clear();
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const auto run_model = has_leases_ ? run_lease_model : run_budget_model;
    contents_.push_back(run_model(limit_, schedules[i], answers[i]));
  }
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

bool ForgetfulTrial::confirms(const Schedule& schedule, const Answers& answers) {
  const auto repeats = [this](const Schedule& requests, const Answers& expected) {
    return run({&requests, 1}).front() == expected;
  };
  // Before the first schedule, there was nothing that could be kept.
  if (repeats(schedule, answers) && repeats(first_->first, first_->second)) return true;
  throw UsageError(
      "the limiter gave different answers to the same schedule, so the search cannot rely on it",
      "it may use a clock of its own, random numbers, or state from before the reset");
}

std::string_view TrialKeys::key_name(std::uint32_t key) const {
  while (names_.size() <= key) names_.push_back(std::to_string(names_.size() + 1));
  return names_[key];
}

StateScope scope_of(const script::Candidate& candidate, redis::PrivateServer* server) {
  // The bundled scripts keep all of their state in their KEYS.
  if (!candidate.foreign) return {};
  constexpr microseconds kMostTolerance{20'000};
  return {.server = server,
          .keys = script::origin_of(candidate.foreign->origins, script::kKeysWord),
          .ttl_tolerance = std::min(kMostTolerance, candidate.limits.front().window / 10)};
}

ScriptTrial::ScriptTrial(redis::Connection& connection, script::Script& script, StateScope scope)
    : connection_(connection), script_(script), decider_(connection, script), scope_(scope) {
  decider_.observe_keys([this](const traffic::Arrival& arrival, redis::Arguments keys) {
    ++calls_;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto schedule = schedule_of(arrival.key, schedules_);
      const auto [owner, is_new] = owners_.try_emplace(std::string(keys[i]), schedule);
      are_shared_ |= owner->second != schedule;
      if (!is_new) continue;
      named_.push_back({.key = owner->first, .place = i, .call = calls_, .arrival = arrival});
    }
  });
}

/// The named keys, and the hash of their TTLs.
std::vector<std::string> ScriptTrial::known_keys() const {
  std::vector<std::string> keys;
  for (const auto& named : named_) keys.emplace_back(named.key);
  if (auto hash = script_.key_of_ttls()) keys.push_back(std::move(*hash));
  return keys;
}

std::set<std::uint32_t> ScriptTrial::schedules_of(const std::set<std::uint32_t>& keys) const {
  std::set<std::uint32_t> schedules;
  for (const auto key : keys) schedules.insert(schedule_of(key, schedules_));
  return schedules;
}

/// The name that the key would have for the first schedule.
std::string ScriptTrial::neutral_name(const NamedKey& named) const {
  auto arrival = named.arrival;
  arrival.key -= schedule_of(arrival.key, schedules_);
  auto keys = script_.keys_of_call(arrival, named.call);
  return named.place < keys.size() ? std::move(keys[named.place]) : std::string(named.key);
}

std::vector<Answers> ScriptTrial::run_once(std::span<const Schedule> schedules) {
  named_.clear();
  owners_.clear();
  are_shared_ = false;
  schedules_ = schedules.size();
  script_.restart();
  contents_.clear();
  auto answers = answers_of(decider_, schedules);
  if (notes_contents_ && !is_apart_) {
    contents_.resize(schedules.size());
    add_contents();
  }
  return answers;
}

/// Adds what each key holds, and the virtual time at which it expires; a key that does not exist is
/// like one that was never named.
void ScriptTrial::add_contents() {
  const auto hash = script_.key_of_ttls();
  for (const auto& named : named_) {
    connection_.append({"DUMP", named.key});
    if (hash) connection_.append({"HGET", *hash, named.key});
  }
  for (const auto& named : named_) {
    const auto contents = connection_.read();
    std::string end;
    bool is_known = !contents.is_error();  // the user may be denied them
    if (hash) {
      const auto reply = connection_.read();
      is_known = is_known && !reply.is_error();
      end = reply.text();
    }
    notes_contents_ = notes_contents_ && is_known;
    if (contents.type() == redis::ReplyType::kNil || !notes_contents_) continue;
    auto& own = contents_[schedule_of(named.arrival.key, schedules_)];
    own.append(neutral_name(named)).append(1, '\0').append(contents.text());
    own.append(1, '\0').append(end).append(1, '\0');
  }
  if (!notes_contents_) contents_.clear();
}

/// Runs the schedules, and those again, with TTLs that are slightly shorter and longer, of which
/// that may change an answer; no answers where they differ.
std::vector<Answers> ScriptTrial::run_with_slack(std::span<const Schedule> schedules) {
  const auto tolerance = scope_.ttl_tolerance;
  auto answers = run_once(schedules);
  stalled_ = schedules_of(decider_.stalled());
  if (tolerance == microseconds{0} || !script_.key_of_ttls()) return answers;
  note_others();
  // It is not known when keys end that are not among KEYS.
  const bool is_each =
      saw_others_ || script_.may_read_ttl() || 2 * tolerance > script::KeyAging::kNear;
  std::vector<std::size_t> numbers;
  std::vector<Schedule> again;
  const auto near_end = schedules_of(decider_.near_end());
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    if (!is_each && !near_end.contains(static_cast<std::uint32_t>(i))) continue;
    numbers.push_back(i);
    again.push_back(schedules[i]);
  }
  if (again.empty()) return answers;
  const auto first_contents = std::move(contents_);
  auto contents = first_contents;
  for (const auto slack : {-tolerance, tolerance}) {
    remove_keys();
    decider_.set_ttl_slack(slack);
    const auto others = run_once(again);
    note_others();
    for (const auto number : schedules_of(decider_.stalled())) {
      stalled_.insert(static_cast<std::uint32_t>(numbers[number]));
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      auto& own = answers[numbers[i]];
      if (own != others[i]) own.clear();
      if (contents_.empty()) continue;
      // A state is that of all three runs; after most schedules they are equal.
      if (contents_[i] == first_contents[numbers[i]]) continue;
      contents[numbers[i]] += (slack.count() < 0 ? "|-" : "|+") + contents_[i];
    }
  }
  decider_.set_ttl_slack(microseconds{0});
  contents_ = notes_contents_ ? std::move(contents) : std::vector<std::string>{};
  return answers;
}

/// Runs schedules again that stalled on a busy machine, if keys may have expired meanwhile.
std::vector<Answers> ScriptTrial::run_together(std::span<const Schedule> schedules) {
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
    note_others();
    remove_keys();
    auto contents = std::exchange(contents_, {});
    auto other_answers = run_with_slack(stalled);
    for (std::size_t i = 0; i < last_run.size(); ++i) {
      answers[last_run[i]] = std::move(other_answers[i]);
      if (!contents_.empty()) contents[last_run[i]] = std::move(contents_[i]);
    }
    contents_ = notes_contents_ ? std::move(contents) : std::vector<std::string>{};
  }
  doubtful_.clear();
  for (const auto i : stalled_) doubtful_.insert(last_run[i]);
  return answers;
}

std::vector<Answers> ScriptTrial::run_apart(std::span<const Schedule> schedules) {
  std::vector<Answers> answers;
  for (const auto& schedule : schedules) {
    remove_keys();
    answers.push_back(std::move(run_together({&schedule, 1}).front()));
  }
  return answers;
}

/// Notes whether our own server holds keys besides the known ones.
void ScriptTrial::note_others() {
  if (saw_others_ || scope_.server == nullptr) return;
  const auto known = known_keys();
  std::vector<std::string_view> exists{"EXISTS"};
  exists.insert(exists.end(), known.begin(), known.end());
  connection_.append({"DBSIZE"});
  connection_.append(exists);
  const auto all = connection_.read().integer();
  saw_others_ = all > connection_.read().integer();
}

void ScriptTrial::remove_keys() {
  if (scope_.server != nullptr) return scope_.server->remove_keys();
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
  note_others();
  remove_keys();
  return ttls;
}

bool ScriptTrial::confirms(const Schedule& schedule, const Answers& answers) {
  if (is_apart_ || scope_.server == nullptr) return true;
  const auto again = run_apart({&schedule, 1});
  remove_keys();
  if (again.front() == answers) return true;
  is_apart_ = true;
  return false;
}

std::vector<Answers> ScriptTrial::run(std::span<const Schedule> schedules) {
  if (schedules.empty()) return {};
  std::vector<Answers> answers;
  contents_.clear();
  if (!is_apart_) {
    answers = run_together(schedules);
    note_others();
    is_apart_ = are_shared_ || saw_others_;
  }
  if (is_apart_ && scope_.server == nullptr) {
    remove_keys();
    refuse_value(scope_.keys,
                 std::string(script_.name()) +
                     " is given the same key for every schedule, so that one finds the state of "
                     "the last",
                 "leave out --url, --host, --port and --socket: a private server is emptied "
                 "before each");
  }
  if (is_apart_) {
    contents_.clear();
    answers = run_apart(schedules);
  }
  remove_keys();
  return answers;
}

std::unique_ptr<Branching> Trial::branching() {
  return std::make_unique<ReplayBranching>(*this);
}

std::unique_ptr<Branching> ModelTrial::branching() {
  return std::make_unique<ModelBranching>(candidate_);
}

std::unique_ptr<Branching> EngineTrial::branching() {
  return std::make_unique<EngineBranching>(decider_);
}

std::unique_ptr<Branching> ScriptTrial::branching() {
  note_contents();
  return Trial::branching();
}

// ---- States ----

std::string Branching::State::identity() const {
  return fmt::format("{}", static_cast<const void*>(this));
}

// ---- Models ----

ModelBranching::ModelBranching(const script::Candidate& candidate)
    : limit_(candidate.limits.front()) {
  script::require_usable(candidate);
  empty_ = std::make_shared<ModelState>(candidate.algorithm->make_model());
}

void ModelBranching::run(std::span<Branch> branches) {
  requests_sent_ += static_cast<std::int64_t>(branches.size());
  for (auto& branch : branches) {
    const auto& from = branch.from ? *branch.from : *empty_;
    const auto& model = *static_cast<const ModelState&>(from).model;
    const auto at = branch.requests.front().at;
    const auto cost = branch.requests.front().cost;
    if (!branch.is_kept) {
      // A refund is always allowed.
      branch.answers = {cost < 0 ? Answer{.allowed = true}
                                 : answer_of(model.peek(limit_, cost, at))};
      continue;
    }
    auto next = std::make_shared<ModelState>(model.clone());
    const limiter::KeyAndLimit key{.key = next->model.get(), .limit = limit_};
    branch.answers = {answer_of(limiter::decide({&key, 1}, cost, at))};
    branch.state = std::move(next);
  }
}

// ---- Scripts in the engine ----

void EngineBranching::run(std::span<Branch> branches) {
  for (auto& branch : branches) {
    begin_at(branch.from.get());
    branch.answers = ask(branch.requests);
    if (branch.is_kept) branch.state = std::make_shared<Left>(decider_.state());
  }
}

void EngineBranching::begin_at(const State* state) {
  if (state == nullptr) return decider_.forget();
  decider_.set_state(static_cast<const Left&>(*state).state);
}

Answers EngineBranching::ask(const Schedule& requests) {
  auto index = static_cast<std::uint32_t>(decider_.state().calls);
  Answers answers;
  for (const auto& request : requests) {
    const auto arrival = arrival_of(request, request.client, ++index);
    limiter::Decision decision;
    if (decider_.decide({&arrival, 1}, {&decision, 1}) == 0) throw Interrupted();
    answers.push_back(answer_of(decision));
  }
  requests_sent_ += static_cast<std::int64_t>(requests.size());
  return answers;
}

/// With the clock: texts of keys are equal if they differ by a shift of time, which requests do
/// not.
std::string EngineBranching::Left::identity() const {
  return fmt::format("{} {}", state.keys.now().count(), state.keys.to_text());
}

// ---- Replays ----

std::size_t ReplayBranching::HashOfRequests::operator()(const Schedule& requests) const noexcept {
  const auto& request = requests.front();
  auto hash = static_cast<std::uint64_t>(request.at.count()) * 0x9e3779b97f4a7c15U;
  hash ^= (std::uint64_t{request.holder} << 20U) ^ static_cast<std::uint64_t>(request.cost);
  hash ^= static_cast<std::uint64_t>(request.event) << 8U;
  return static_cast<std::size_t>((hash ^ (hash >> 29U)) * 0xbf58476d1ce4e5b9U);
}

void ReplayBranching::run(std::span<Branch> branches) {
  if (states_.size() > max_states_) {
    std::erase_if(states_, [](const auto& entry) { return entry.second.use_count() == 1; });
    max_states_ = std::max(kMinStates, 2 * states_.size());
  }
  std::vector<Known*> all;
  std::vector<Queued> queue;
  for (const auto& branch : branches) {
    auto& from = static_cast<Replayed&>(branch.from ? *branch.from : *empty_);
    auto& known = from.known[branch.requests];
    all.push_back(&known);
    const bool lacks_state = branch.is_kept && !known.answers.empty() && known.state.expired();
    if (known.place) {
      queue[*known.place].is_kept |= branch.is_kept;
    } else if (!known.is_answered || lacks_state) {
      known.place = queue.size();
      queue.push_back({&from, &branch.requests, &known, branch.is_kept});
    }
  }
  for (std::span rest(queue); !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), kReplayedAtOnce));
    replay(some);
    rest = rest.subspan(some.size());
  }
  for (std::size_t i = 0; i < branches.size(); ++i) {
    branches[i].answers = all[i]->answers;
    if (branches[i].is_kept) branches[i].state = all[i]->state.lock();
  }
}

void ReplayBranching::replay(std::span<Queued> queue) {
  std::vector<Schedule> schedules;
  for (const auto& each : queue) {
    auto& schedule = schedules.emplace_back(each.from->schedule);
    schedule.insert(schedule.end(), each.requests->begin(), each.requests->end());
  }
  replayed_ += static_cast<std::int64_t>(queue.size());
  requests_sent_ += requests_of(schedules);
  const auto answers = trial_.run(schedules);
  const auto contents = trial_.contents();
  sends_each_whole_ |= contents.empty();
  for (std::size_t i = 0; i < queue.size(); ++i) {
    auto& known = *queue[i].known;
    known.is_answered = true;
    known.place.reset();
    const auto new_answers = std::min(answers[i].size(), queue[i].requests->size());
    known.answers.assign(answers[i].end() - static_cast<std::ptrdiff_t>(new_answers),
                         answers[i].end());
    if (known.answers.empty() || !queue[i].is_kept) continue;
    queue[i].state =
        state_after(std::move(schedules[i]), contents.empty() ? nullptr : &contents[i]);
    known.state = queue[i].state;
  }
}

/// The state with these contents, which the schedule has reached. Unknown contents are like no
/// others.
std::shared_ptr<Branching::State> ReplayBranching::state_after(Schedule schedule,
                                                               const std::string* contents) {
  std::shared_ptr<Replayed> unmerged;
  auto& state = contents == nullptr ? unmerged : states_[*contents];
  if (!state) {
    state = std::make_shared<Replayed>();
  } else if (state->schedule.back().at <= schedule.back().at) {
    return state;
  }
  state->schedule = std::move(schedule);
  return state;
}

}  // namespace rlctl::adversary
