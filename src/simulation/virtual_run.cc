#include "simulation/virtual_run.h"

#include <poll.h>

#include <algorithm>
#include <string>
#include <utility>

#include "redis/error.h"
#include "redis/server.h"
#include "simulation/real_run.h"

namespace rlctl::simulation {
namespace {

using limiter::Decision;

/// Requests in one write. The answers to one lot are read while the server works on the next;
/// larger lots would only wait in buffers.
constexpr std::size_t kLot = 512;
/// How many requests ahead memory is prefetched.
constexpr std::size_t kAhead = 8;

/// Requests between two checks of the interrupt. A script takes a few µs for each.
constexpr std::size_t kBatch = 4096;

/// Calls a function that talks to a server; false if the interrupt ended it.
template <typename Call>
bool finishes(Call call) {
  try {
    call();
    return true;
  } catch (const Interrupted&) {
    return false;
  }
}

/// Reads as many arrivals as fit; fewer at the end of the traffic.
std::size_t fill(traffic::Traffic& traffic, std::span<traffic::Arrival> arrivals) {
  std::size_t count = 0;
  while (count < arrivals.size() && traffic.next(arrivals[count])) ++count;
  return count;
}

}  // namespace

Decision read_decision(const script::Script& script, redis::ReplyView reply,
                       const traffic::Arrival& arrival, std::int64_t number, RepliesSeen& replies) {
  try {
    const auto decision = script.parse(reply, arrival, number);
    const bool is_read =
        arrival.event == traffic::Event::kRequest || arrival.event == traffic::Event::kReserve;
    if (is_read) replies.add(reply, arrival, decision.allowed, script.limit());
    return decision;
  } catch (const redis::Error& error) {
    throw script.with_request(error, arrival, number);
  }
}

ModelDecider::ModelDecider(const script::Candidate& candidate) : candidate_(candidate) {
  if (candidate_.foreign) {
    throw UsageError("there is no model of " + std::string(name_of(candidate_)) +
                     ": a script runs on a server");
  }
  require_usable(candidate_);
}

/// The first of the key's states; a key has one per limit.
limiter::KeyAndLimit* ModelDecider::state_of(std::uint32_t key) {
  const auto& limits = candidate_.limits;
  const auto first = key * limits.size();
  while (states_.size() < first + limits.size()) {
    states_.push_back({.limit = limits[states_.size() % limits.size()]});
  }
  auto* const state = &states_[first];
  if (state->key == nullptr) {
    for (std::size_t i = 0; i < limits.size(); ++i) {
      state[i].key = models_.emplace_back(candidate_.algorithm->make_model()).get();
    }
  }
  return state;
}

/// With many keys, the next one is seldom in a cache: prefetches the states of upcoming keys, and
/// then the models to which they point.
void ModelDecider::fetch(std::span<const traffic::Arrival> to_come) const {
  const auto state = [&](std::size_t ahead) -> const limiter::KeyAndLimit* {
    if (ahead >= to_come.size()) return nullptr;
    const auto first = to_come[ahead].key * candidate_.limits.size();
    return first < states_.size() ? &states_[first] : nullptr;
  };
  __builtin_prefetch(state(2 * kAhead));
  if (const auto* soon = state(kAhead)) __builtin_prefetch(soon->key);
}

std::size_t ModelDecider::decide(std::span<const traffic::Arrival> arrivals,
                                 std::span<Decision> decisions) {
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    fetch(arrivals.subspan(i));
    const auto& arrival = arrivals[i];
    decisions[i] = limiter::decide({state_of(arrival.key), candidate_.limits.size()}, arrival.cost,
                                   arrival.sent_at());
  }
  return arrivals.size();
}

Decision decide(limiter::LeaseModel& model, const limiter::Limit& limit, traffic::Event event,
                std::uint32_t holder, microseconds at) {
  const auto name = traffic::holder_name(holder);
  if (event == traffic::Event::kRenew) return model.renew(limit.limit, limit.window, name, at);
  if (event == traffic::Event::kRelease) return model.release(limit.limit, name, at);
  return model.acquire(limit.limit, limit.window, name, at);
}

std::size_t LeaseModelDecider::decide(std::span<const traffic::Arrival> arrivals,
                                      std::span<Decision> decisions) {
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const auto& arrival = arrivals[i];
    if (arrival.key >= keys_.size()) keys_.resize(arrival.key + std::size_t{1});
    decisions[i] =
        simulation::decide(keys_[arrival.key], limit_, arrival.event, arrival.holder, arrival.at);
  }
  return arrivals.size();
}

Decision decide(std::span<const limiter::BudgetAndLimit> key, const traffic::Arrival& arrival) {
  const auto id = traffic::reservation_name(arrival.holder);
  if (arrival.event == traffic::Event::kReserve) {
    return limiter::reserve(key, id, arrival.cost, arrival.hold, arrival.at);
  }
  if (arrival.event == traffic::Event::kSettle)
    return limiter::settle(key, id, arrival.actual, arrival.at);
  return limiter::decide(key, arrival.cost, arrival.at);
}

std::size_t BudgetModelDecider::decide(std::span<const traffic::Arrival> arrivals,
                                       std::span<Decision> decisions) {
  std::vector<limiter::BudgetAndLimit> states(limits_.size());
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const auto& arrival = arrivals[i];
    if (arrival.key >= keys_.size()) keys_.resize(arrival.key + std::size_t{1});
    auto& models = keys_[arrival.key];
    models.resize(limits_.size());
    for (std::size_t l = 0; l < limits_.size(); ++l) states[l] = {&models[l], limits_[l]};
    decisions[i] = simulation::decide(states, arrival);
  }
  return arrivals.size();
}

TimeWatch::TimeWatch(redis::Connection& connection) : connection_(connection), last_(count()) {}

std::optional<TimeWatch::Calls> TimeWatch::count() const {
  const auto counts = redis::read_call_counts(connection_);
  if (!counts) return std::nullopt;
  const auto time = counts->find("time");
  return Calls{.time = time == counts->end() ? 0 : time->second,
               .scripts = redis::calls_of_scripts(*counts)};
}

bool TimeWatch::saw_time(std::int64_t scripts) {
  const auto before = last_;
  last_ = count();
  return before && last_ && last_->time > before->time &&
         last_->scripts - before->scripts == scripts;
}

ScriptDecider::ScriptDecider(redis::Connection& connection, script::Script& script)
    : connection_(connection), script_(script) {
  script_.load(connection_);
  if (auto hash = script_.key_of_ttls()) {
    aging_.emplace(connection_, std::move(*hash), script_.may_read_ttl());
  }
  if (script_.may_call_time()) time_watch_.emplace(connection_);
}

void ScriptDecider::set_ttl_slack(std::chrono::microseconds slack) {
  if (aging_) aging_->set_slack(slack);
}

void ScriptDecider::stop_at(const Interrupt& interrupt, std::chrono::microseconds timeout,
                            std::chrono::microseconds patience) {
  interrupt_ = &interrupt;
  timeout_ = timeout;
  patience_ = patience;
}

void ScriptDecider::send(const traffic::Arrival& arrival) {
  const auto call = script_.call(arrival);
  if (on_keys_) on_keys_(arrival, call.keys);
  if (aging_) {
    latest_ = arrival.key == last_key_ ? std::max(latest_, arrival.at) : arrival.at;
    last_key_ = arrival.key;
    if (aging_->advance(latest_, call.keys)) in_flight_.push_back(Call::kAging);
  }
  in_flight_.insert(in_flight_.end(), queue_preparation(script_, connection_, arrival),
                    Call::kSetup);
  in_flight_.push_back(Call::kRequest);
  call.append_to(connection_);
}

/// Throws Interrupted once the interrupt is raised, and from then on only when the deadline passes.
redis::Reply ScriptDecider::read() {
  if (interrupt_ == nullptr) return connection_.read();
  while (true) {
    if (auto reply = connection_.try_read()) return *std::move(reply);
    const bool has_rest = !connection_.send_some();
    const bool stops = deadline_ != kNoDeadline;
    const auto wake =
        wait_for(connection_.fd(), has_rest ? POLLIN | POLLOUT : POLLIN,
                 stops ? nullptr : interrupt_, stops ? deadline_ : Clock::now() + timeout_);
    if (wake == Wake::kReady) continue;
    if (stops) throw Interrupted();
    connection_.time_out(timeout_);
  }
}

/// Reads the replies that come before each answer, to a request of `next_key`, and after the last
/// one.
void ScriptDecider::skip_others(std::uint32_t next_key) {
  while (!in_flight_.empty() && in_flight_.front() != Call::kRequest) {
    const auto reply = read();
    const auto call = in_flight_.front();
    in_flight_.pop_front();
    ++others_;
    if (call == Call::kSetup) {
      try {
        script_.require_prepared(reply);
        continue;
      } catch (const redis::Error&) {
        skip_answers();
        throw;
      }
    }
    script::KeyAging::require_done(reply);
    if (script::KeyAging::is_near_end(reply)) near_end_.insert(next_key);
    if (!script::KeyAging::is_late(reply)) continue;
    stalled_.insert(answered_key_);
    was_stalled_ = true;
  }
}

redis::Reply ScriptDecider::read_answer(const traffic::Arrival& arrival) {
  try {
    skip_others(arrival.key);
    return read();
  } catch (const redis::Error& error) {
    throw without_answer(error, script_, arrival, answers_ + 1, true);
  }
}

Decision ScriptDecider::answer(const traffic::Arrival& arrival) {
  const auto reply = read_answer(arrival);
  in_flight_.pop_front();
  ++answers_;
  answered_key_ = arrival.key;
  try {
    return read_decision(script_, reply, arrival, answers_, replies_);
  } catch (const redis::Error&) {
    skip_answers();
    throw;
  }
}

/// Drops all replies in flight. If the connection breaks now, its next use reports that.
void ScriptDecider::skip_answers() noexcept {
  try {
    in_flight_.clear();
    while (connection_.outstanding() > 0) static_cast<void>(read());
  } catch (const std::exception&) {
    return;
  }
}

std::size_t ScriptDecider::decide(std::span<const traffic::Arrival> arrivals,
                                  std::span<Decision> decisions) {
  latest_ = std::chrono::microseconds{0};
  stalled_.clear();
  near_end_.clear();
  auto unsent = arrivals;
  std::size_t answered = 0;
  const auto send_lot = [&] {
    if (interrupt_ != nullptr) interrupt_->check();
    // If the script never ends, a user must stop every call that was sent.
    const auto lot = unsent.first(std::min(answers_ > 0 ? kLot : 1, unsent.size()));
    for (const traffic::Arrival& arrival : lot) send(arrival);
    // Real time may pass before the next lot.
    if (aging_ && aging_->pause()) in_flight_.push_back(Call::kAging);
    unsent = unsent.subspan(lot.size());
    return lot.size();
  };
  try {
    auto awaited = send_lot();
    while (awaited > 0) {
      connection_.send_some();
      const bool overlaps = answers_ > 0;
      const auto next = overlaps ? send_lot() : 0;
      for (; awaited > 0; --awaited, ++answered) decisions[answered] = answer(arrivals[answered]);
      awaited = overlaps ? next : send_lot();
    }
    skip_others();
  } catch (const Interrupted&) {
    deadline_ = Clock::now() + patience_;
    skip_answers();
    return answered;
  }
  watch_time(arrivals.size());
  return answered;
}

void ScriptDecider::watch_time(std::size_t calls) {
  const auto scripts = static_cast<std::int64_t>(calls) + std::exchange(others_, 0);
  if (!time_watch_ || !time_watch_->saw_time(scripts)) return;
  throw UsageError(std::string(script_.name()) +
                   " gets the server's time: it finds TIME in _G or in code from a string, where "
                   "rlctl cannot put the virtual one; call redis.call('TIME') by its name, or " +
                   script::kUseRealClock);
}

std::optional<double> ScriptDecider::bytes_per_key() {
  return simulation::bytes_per_key(connection_, script_.keys());
}

Outcome run_virtually(traffic::Traffic& traffic, Decider& decider,
                      const std::vector<limiter::Limit>& limits, const Interrupt& interrupt,
                      const OnDecision& on_decision, const OnProgress& on_progress,
                      bool compares_reports, std::optional<std::chrono::microseconds> zero) {
  OutcomeRecorder recorder(limits, on_decision, compares_reports, zero);
  bool is_interrupted = false;
  std::vector<traffic::Arrival> arrivals(kBatch);
  std::vector<Decision> decisions(kBatch);
  std::int64_t decided = 0;
  while (!(is_interrupted = interrupt.signal() != 0)) {
    const auto count = fill(traffic, arrivals);
    if (count == 0) break;
    const auto batch = std::span(arrivals).first(count);
    std::size_t answered = 0;
    const auto decide = [&] {
      answered = decider.decide(batch, std::span(decisions).first(count));
    };
    is_interrupted = !finishes(decide) || answered < count;
    for (std::size_t i = 0; i < answered; ++i) recorder.add(arrivals[i], decisions[i]);
    decided += static_cast<std::int64_t>(answered);
    if (is_interrupted) break;
    if (on_progress) on_progress(decided);
  }
  auto outcome = recorder.finish();
  outcome.replies = decider.replies();
  outcome.was_stalled = decider.was_stalled();
  if (!is_interrupted) {
    is_interrupted = !finishes([&] { outcome.bytes_per_key = decider.bytes_per_key(); });
  }
  outcome.interrupted = is_interrupted;
  return outcome;
}

}  // namespace rlctl::simulation
