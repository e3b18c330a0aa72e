#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "limiter/budget_model.h"
#include "limiter/lease_model.h"
#include "limiter/limit.h"
#include "limiter/model.h"
#include "redis/connection.h"
#include "script/key_aging.h"
#include "script/script.h"
#include "simulation/measurement.h"
#include "traffic/traffic.h"

// Runs under the virtual clock: a Decider, which is a model or a script in this process (engine.h),
// or a script on a server, decides each request as of its own time, without waiting.
// cli/commands/burst/runs.cc makes the decider and calls run_virtually(); suggestion.cc runs
// models, and src/adversary gives its schedules to an EngineDecider or a ScriptDecider.

namespace rlctl::simulation {

/// Decides requests one after another, each at its own time, without waiting or reading a clock.
class Decider {
 public:
  virtual ~Decider() = default;
  /// Writes a decision for each arrival, in order, and returns how many: fewer than the arrivals if
  /// an interrupt ended it. Throws what the limiter throws.
  virtual std::size_t decide(std::span<const traffic::Arrival> arrivals,
                             std::span<limiter::Decision> decisions) = 0;
  /// The script that decides; null for a model or a program.
  virtual script::Script* script() { return nullptr; }
  /// The memory of a key in Redis now, on average; std::nullopt without a server, or if it does not
  /// report sizes.
  virtual std::optional<double> bytes_per_key() { return std::nullopt; }
  /// The replies to all calls of decide(); empty without a script.
  virtual RepliesSeen replies() const { return {}; }
  /// Whether the server ever stalled so long that decisions may depend on real time: see
  /// KeyAging::is_late().
  virtual bool was_stalled() const { return false; }
  /// There will be no more requests. Throws what the limiter throws, if the way in which it ends
  /// shows that its decisions cannot be relied on.
  virtual void finish() {}
};

/// A decider that can forget everything, as if nothing had been asked.
class ForgetfulDecider : public Decider {
 public:
  virtual void forget() = 0;
  /// How long each key in Redis still lives, as far as it is known.
  virtual std::vector<std::chrono::microseconds> ttls() { return {}; }
  /// Whether a key is left that never expires; false if unknown.
  virtual bool has_endless_key() { return false; }
};

/// What the reply to a script's call for a request decides. Adds the reply to those seen, unless it
/// is to a renewal, a release or a settle. `number`: of the call, from 1. Throws what
/// Script::parse() throws, with details of the request.
limiter::Decision read_decision(const script::Script& script, redis::ReplyView reply,
                                const traffic::Arrival& arrival, std::int64_t number,
                                RepliesSeen& replies);

/// Uses the models in C++, without a server. Memory grows with the number of keys and the contents
/// of their windows.
class ModelDecider final : public Decider {
 public:
  /// Throws UsageError if the algorithm does not support these limits, and for a foreign limiter,
  /// which has no model.
  explicit ModelDecider(const script::Candidate& candidate);
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;

 private:
  limiter::KeyAndLimit* state_of(std::uint32_t key);
  void fetch(std::span<const traffic::Arrival> to_come) const;

  script::Candidate candidate_;
  std::vector<std::unique_ptr<limiter::KeyModel>> models_;
  /// One per key and limit, ordered by key; without a model until the key's first request.
  std::vector<limiter::KeyAndLimit> states_;
};

/// What the model of `concurrency` decides about an event of a holder. The limit is the number of
/// leases, and their duration.
limiter::Decision decide(limiter::LeaseModel& model, const limiter::Limit& limit,
                         traffic::Event event, std::uint32_t holder, microseconds at);

/// Uses the model of `concurrency`, without a server.
class LeaseModelDecider final : public ForgetfulDecider {
 public:
  explicit LeaseModelDecider(const limiter::Limit& limit) : limit_(limit) {}
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;
  void forget() override { keys_.clear(); }

 private:
  limiter::Limit limit_;                   ///< the number of leases, and their duration
  std::vector<limiter::LeaseModel> keys_;  ///< by the traffic's keys
};

/// What the model of `budget` decides about a request, or an event of a reservation, of a key; it
/// has a model for each limit.
limiter::Decision decide(std::span<const limiter::BudgetAndLimit> key,
                         const traffic::Arrival& arrival);

/// Uses the model of `budget`, without a server.
class BudgetModelDecider final : public ForgetfulDecider {
 public:
  explicit BudgetModelDecider(std::vector<limiter::Limit> limits) : limits_(std::move(limits)) {}
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;
  void forget() override { keys_.clear(); }

 private:
  std::vector<limiter::Limit> limits_;
  std::vector<std::vector<limiter::BudgetModel>> keys_;  ///< by the traffic's keys, then by limit
};

/// Detects scripts that call TIME, by INFO commandstats, which also counts the commands that
/// scripts call. It counts for all clients: this detects nothing while others run scripts, or if
/// the user may not call INFO. (A client that calls TIME without a script is mistaken for the
/// script.)
class TimeWatch {
 public:
  /// Watches from now on. Throws redis::Error if the connection breaks; so does saw_time(). The
  /// connection must outlive this, and have no reply outstanding.
  explicit TimeWatch(redis::Connection& connection);
  /// Whether a script called TIME since the last saw_time(). `scripts` is how many this connection
  /// has executed since then.
  bool saw_time(std::int64_t scripts);

 private:
  struct Calls {
    std::int64_t time = 0, scripts = 0;
  };
  std::optional<Calls> count() const;

  redis::Connection& connection_;
  std::optional<Calls> last_;
};

/// Uses a script on a server, with many requests in one write. The times of the requests are
/// the script's `now`, and TTLs follow them too. (If the times of consecutive requests of one key
/// in one call step back, no time passes between them.)
class ScriptDecider final : public Decider {
 public:
  /// Loads the script. Both arguments must outlive this.
  ScriptDecider(redis::Connection& connection, script::Script& script);
  using OnKeys = std::function<void(const traffic::Arrival& arrival, redis::Arguments keys)>;
  /// From now on calls this with each request and the keys that it names, before it is sent.
  void observe_keys(OnKeys on_keys) { on_keys_ = std::move(on_keys); }
  /// From now on keys expire this much later, or earlier if negative.
  void set_ttl_slack(std::chrono::microseconds slack);
  /// From now on `interrupt`, which must outlive this, ends decide(): it sends no more, and drops
  /// the replies in flight, for which it waits for `patience` altogether. Then those that did not
  /// come are still outstanding. `timeout` is the connection's, which must not have an interrupt.
  void stop_at(const Interrupt& interrupt, std::chrono::microseconds timeout,
               std::chrono::microseconds patience);
  /// Throws what Script::parse() throws, with details of the request, once all replies in flight
  /// are read, so that the connection stays usable. Throws UsageError if the script got the
  /// server's time: its decisions do not apply to these arrivals.
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;
  script::Script* script() override { return &script_; }
  std::optional<double> bytes_per_key() override;
  RepliesSeen replies() const override { return replies_; }
  bool was_stalled() const override { return was_stalled_; }
  /// The Arrival::key of those requests of the last decide() that stalled on a busy machine, so
  /// that their keys may have expired by real time: sent again, they may be decided otherwise.
  const std::set<std::uint32_t>& stalled() const { return stalled_; }
  /// The Arrival::key of those requests of the last decide() near whose time one of their keys
  /// ends: see KeyAging::is_near_end().
  const std::set<std::uint32_t>& near_end() const { return near_end_; }

 private:
  void send(const traffic::Arrival& arrival);
  void skip_others(std::uint32_t next_key = 0);
  redis::Reply read();
  redis::Reply read_answer(const traffic::Arrival& arrival);
  limiter::Decision answer(const traffic::Arrival& arrival);
  void skip_answers() noexcept;
  void watch_time(std::size_t calls);

  redis::Connection& connection_;
  script::Script& script_;
  OnKeys on_keys_;
  std::int64_t answers_ = 0;
  RepliesSeen replies_;
  std::optional<script::KeyAging> aging_;  ///< if the script may decide by TTLs
  enum class Call { kRequest, kAging, kSetup };
  std::deque<Call> in_flight_;  ///< what each reply in flight answers
  std::int64_t others_ = 0;     ///< calls besides requests since the last saw_time()
  std::uint32_t last_key_ = 0;
  /// The latest time of a request of last_key_ in this decide().
  std::chrono::microseconds latest_{0};
  std::uint32_t answered_key_ = 0;  ///< the key of the last answer
  std::set<std::uint32_t> stalled_, near_end_;
  bool was_stalled_ = false;             ///< in any call of decide()
  std::optional<TimeWatch> time_watch_;  ///< if the script may call TIME
  const Interrupt* interrupt_ = nullptr;
  std::chrono::microseconds timeout_{0}, patience_{0};
  Deadline deadline_ = kNoDeadline;  ///< for all replies in flight, after the interrupt
};

/// Sends traffic through a decider under the virtual clock: each request is decided as of its own
/// time, without waiting in between. The same traffic gives the same outcome, however fast the
/// machine is. Ends early, without an exception, if `interrupt` is raised. `compares_reports`:
/// measure whether remaining and reset_after are right, which takes some time. `zero`:
/// see Timeline.
Outcome run_virtually(traffic::Traffic& traffic, Decider& decider,
                      const std::vector<limiter::Limit>& limits, const Interrupt& interrupt,
                      const OnDecision& on_decision = {}, const OnProgress& on_progress = {},
                      bool compares_reports = true,
                      std::optional<std::chrono::microseconds> zero = {});

}  // namespace rlctl::simulation
