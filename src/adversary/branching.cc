#include <fmt/format.h>

#include <memory>
#include <utility>
#include <variant>

#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/budget_model.h"
#include "limiter/lease_model.h"

// How each trial answers the requests of an exhaustive search: models and scripts in the engine
// from a copy of what the requests before have left, all others from the beginning.

namespace rlctl::adversary {
namespace {

// ---- Models ----

/// The model of an algorithm in C++. Takes one request in each branch.
class ModelBranching final : public Branching {
 public:
  /// Throws UsageError if the algorithm does not support the limit. Uses the first limit only.
  explicit ModelBranching(const script::Candidate& candidate) : limit_(candidate.limits.front()) {
    script::require_usable(candidate);
    empty_ = std::make_shared<Left>(candidate.algorithm->make_model());
  }

  void run(std::span<Branch> branches) override {
    add_sent(std::ssize(branches));
    for (auto& branch : branches) {
      const auto& from = branch.from ? *branch.from : *empty_;
      const auto& model = *static_cast<const Left&>(from).model;
      const auto at = branch.requests.front().at;
      const auto cost = branch.requests.front().cost;
      if (!branch.is_kept) {
        // A refund is always allowed.
        branch.answers = {cost < 0 ? Answer{.allowed = true}
                                   : answer_of(model.peek(limit_, cost, at))};
        continue;
      }
      auto next = std::make_shared<Left>(model.clone());
      const limiter::KeyAndLimit key{.key = next->model.get(), .limit = limit_};
      branch.answers = {answer_of(limiter::decide({&key, 1}, cost, at))};
      branch.state = std::move(next);
    }
  }

 private:
  struct Left final : State {
    explicit Left(std::unique_ptr<limiter::KeyModel> key) : model(std::move(key)) {}
    std::unique_ptr<limiter::KeyModel> model;
  };

  limiter::Limit limit_;
  std::shared_ptr<State> empty_;
};

Answer answer_to(limiter::LeaseModel& model, const limiter::Limit& limit, const Request& request) {
  return answer_of(simulation::decide(model, limit, request.event, request.holder, request.at));
}
Answer answer_to(limiter::BudgetModel& model, const limiter::Limit& limit, const Request& request) {
  const limiter::BudgetAndLimit key{.key = &model, .limit = limit};
  return answer_of(simulation::decide({&key, 1}, arrival_of(request)));
}

/// What the model holds after its last request, at this time.
std::string contents_of(const limiter::LeaseModel& model, microseconds last) {
  std::string contents;
  for (const auto& [holder, lapse] : model.lapses()) {
    if (lapse > last) contents += fmt::format("{}={} ", holder, lapse.count());
  }
  return contents;
}
std::string contents_of(const limiter::BudgetModel& model, microseconds last) {
  std::string contents;
  const auto& stored = model.stored();
  if (!stored) return contents;
  if (stored->end > last) contents += fmt::format("{}<{}", stored->spent, stored->end.count());
  for (const auto& [id, its] : stored->reservations) {
    if (its.forgotten_at <= last) continue;
    contents += fmt::format(" {}{}{}@{}<{}", id, its.is_settled ? '-' : '+', its.units,
                            its.held_until.count(), its.forgotten_at.count());
  }
  return contents;
}

/// The model of `concurrency` or of `budget`, which is copied for each state.
class HolderModelBranching final : public Branching {
 public:
  HolderModelBranching(const limiter::Limit& limit, bool has_leases) : limit_(limit) {
    if (has_leases) {
      empty_ = limiter::LeaseModel();
    } else {
      empty_ = limiter::BudgetModel();
    }
  }

  void run(std::span<Branch> branches) override {
    for (auto& branch : branches) {
      auto model = branch.from ? static_cast<const Left&>(*branch.from).model : empty_;
      for (const auto& request : branch.requests) {
        branch.answers.push_back(
            std::visit([&](auto& its) { return answer_to(its, limit_, request); }, model));
      }
      add_sent(std::ssize(branch.requests));
      if (!branch.is_kept) continue;
      branch.state = std::make_shared<Left>(std::move(model), branch.requests.back().at);
    }
  }

 private:
  using Model = std::variant<limiter::LeaseModel, limiter::BudgetModel>;
  struct Left final : State {
    Left(Model some, microseconds at) : model(std::move(some)), last(at) {}
    std::string identity() const override {
      return std::visit([&](const auto& its) { return contents_of(its, last); }, model);
    }
    Model model;
    microseconds last;  ///< the time of the request that left it
  };

  limiter::Limit limit_;
  Model empty_;
};

// ---- Scripts in the engine ----

/// A script that runs in the engine, whose keys are copied for each state. If large states take too
/// much together, further ones are reached again when they are needed.
class EngineBranching final : public Branching {
 public:
  /// The decider must outlive this.
  explicit EngineBranching(simulation::EngineDecider& decider) : decider_(decider) {}

  void run(std::span<Branch> branches) override {
    for (auto& branch : branches) {
      begin_at(branch.from.get());
      branch.answers = ask(branch.requests);
      if (branch.is_kept) branch.state = state_after(branch);
    }
  }

 private:
  /// Bytes of one state, and of all large ones that are kept, about: a text that grew may take
  /// twice as much, and states that share a value count it several times.
  static constexpr std::size_t kLarge = std::size_t{64} << 10, kMostKept = std::size_t{64} << 20;

  struct Left final : State {
    explicit Left(simulation::EngineState some) : state(std::move(some)) {}
    /// With the clock: texts of keys are equal if they differ by a shift of time, which requests do
    /// not.
    std::string identity() const override {
      return fmt::format("{} {}", state.keys.now().count(), state.keys.to_text());
    }
    simulation::EngineState state;
    std::shared_ptr<std::size_t> kept = {};  ///< the bytes of all; `bytes` of them are this one's
    std::size_t bytes = 0;
    ~Left() override {
      if (kept) *kept -= bytes;
    }
  };
  /// Requests from another state, or from the beginning.
  struct Path final : State {
    Path(std::shared_ptr<State> its_from, Schedule its_requests)
        : from(std::move(its_from)), requests(std::move(its_requests)) {}
    std::shared_ptr<State> from;
    Schedule requests;
  };

  std::shared_ptr<State> state_after(const Branch& branch) {
    auto bytes = decider_.state().keys.bytes_at_most();
    if (bytes < kLarge) bytes = 0;
    if (bytes > 0 && *kept_ + bytes > kMostKept)
      return std::make_shared<Path>(branch.from, branch.requests);
    auto left = std::make_shared<Left>(decider_.state());
    left->kept = kept_;
    left->bytes = bytes;
    *kept_ += bytes;
    return left;
  }

  void begin_at(const State* state) {
    if (state == nullptr) return decider_.forget();
    if (const auto* left = dynamic_cast<const Left*>(state)) return decider_.set_state(left->state);
    const auto& path = static_cast<const Path&>(*state);
    begin_at(path.from.get());
    ask(path.requests);
  }

  Answers ask(const Schedule& requests) {
    auto index = static_cast<std::uint32_t>(decider_.state().calls);
    Answers answers;
    for (const auto& request : requests) {
      const auto arrival = arrival_of(request, request.client, ++index);
      limiter::Decision decision;
      if (decider_.decide({&arrival, 1}, {&decision, 1}) == 0) throw Interrupted();
      answers.push_back(answer_of(decision));
    }
    add_sent(std::ssize(requests));
    return answers;
  }

  std::shared_ptr<std::size_t> kept_ = std::make_shared<std::size_t>(0);
  simulation::EngineDecider& decider_;
};

// ---- Any other limiter ----

/// Runs each schedule from its beginning, many together: a state is the schedule that led to it.
class ReplayBranching final : public Branching {
 public:
  /// The trial must outlive this.
  explicit ReplayBranching(Trial& trial) : trial_(trial) {}

  void run(std::span<Branch> branches) override {
    std::vector<Schedule> schedules;
    for (const auto& branch : branches) {
      auto& schedule = schedules.emplace_back();
      if (branch.from) schedule = static_cast<const Reached&>(*branch.from).schedule;
      schedule.insert(schedule.end(), branch.requests.begin(), branch.requests.end());
    }
    add_sent(requests_of(schedules));
    auto answers = trial_.run(schedules);
    for (std::size_t i = 0; i < branches.size(); ++i) {
      auto& branch = branches[i];
      if (answers[i].empty()) continue;
      branch.answers.assign(answers[i].end() - std::ssize(branch.requests), answers[i].end());
      if (branch.is_kept) branch.state = std::make_shared<Reached>(std::move(schedules[i]));
    }
  }

  std::size_t at_once() const override { return 512; }

 private:
  struct Reached final : State {
    explicit Reached(Schedule some) : schedule(std::move(some)) {}
    Schedule schedule;
  };

  Trial& trial_;
};

}  // namespace

std::string Branching::State::identity() const {
  return fmt::format("{}", static_cast<const void*>(this));
}

std::unique_ptr<Branching> Trial::branching() {
  return std::make_unique<ReplayBranching>(*this);
}

std::unique_ptr<Branching> ModelTrial::branching() {
  return std::make_unique<ModelBranching>(candidate_);
}

std::unique_ptr<Branching> HolderModelTrial::branching() {
  return std::make_unique<HolderModelBranching>(limit_, has_leases_);
}

std::unique_ptr<Branching> EngineTrial::branching() {
  return std::make_unique<EngineBranching>(decider_);
}

}  // namespace rlctl::adversary
