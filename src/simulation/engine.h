#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "keyspace/keyspace.h"
#include "limiter/check.h"
#include "lua/runner.h"
#include "redis/reply.h"
#include "script/script.h"
#include "simulation/virtual_run.h"

// The engine: scripts run in this process as Redis 7 runs them (lua/runner.h), on keys that are in
// this process, too (keyspace/keyspace.h), without a server. Their time is that of the requests,
// for TIME and for TTLs.

namespace rlctl::simulation {

/// The scripts and the libraries of functions that a Script has loaded. Every number of keyspaces
/// may be given to them.
class Engine final : public script::ScriptHost {
 public:
  /// The instructions of a call, which take about a second; no limiter has as many.
  static constexpr std::int64_t kMostInstructions = 100'000'000;

  /// Ctrl-C ends a script that runs.
  explicit Engine(const Interrupt& interrupt)
      : bounds_{.instructions = kMostInstructions, .interrupt = &interrupt} {}

  /// Answers SCRIPT LOAD and FUNCTION LOAD REPLACE as a server does.
  redis::Reply call(redis::Arguments words) override;
  /// Calls a script or a function, which is loaded, or the reply is an error. Throws
  /// lua::RanTooLong, Interrupted, and lua::NotImplementedHere.
  redis::Reply run(const limiter::ScriptCall& call, lua::Commands& commands);
  /// Of the script that run() calls, or has called last.
  const lua::Runner& runner() const { return *running_; }

 private:
  lua::Bounds bounds_;
  std::shared_ptr<lua::Runner> running_;
  std::map<std::string, std::shared_ptr<lua::Runner>, std::less<>> scripts_;  ///< by SHA1
  /// By each of their functions.
  std::map<std::string, std::shared_ptr<lua::Runner>, std::less<>> libraries_;
  redis::ReplyReader reader_;
  std::string bytes_;  ///< of the last reply; reused, so that a reply allocates little
};

/// A command that a script calls in the engine.
struct EngineCall {
  keyspace::Keyspace& keys;
  std::span<const std::string_view> words;
  bool read_only = false;
  int line = 0;  ///< see lua::Runner::line()

  /// Appends the reply of the keys.
  void run(std::string& reply) const { keys.call(words, read_only, reply); }
};
/// Appends the reply to a call: that of the keys, or another.
using AnswerCall = std::function<void(const EngineCall& call, std::string& reply)>;

/// What a script has stored, and how often it was called for that.
struct EngineState {
  keyspace::Keyspace keys;
  std::int64_t calls = 0;
};

/// Decides by a script that runs in the engine. TIME replies the time of a request, which may step
/// back. No key lives longer for that: TTLs follow the latest time of any request.
class EngineDecider final : public ForgetfulDecider {
 public:
  /// Makes and loads the candidate's script. The arguments must outlive this. Throws what
  /// make_script() throws, and redis::Error if the script does not compile.
  EngineDecider(const script::Candidate& candidate, const traffic::Traffic& traffic,
                const Interrupt& interrupt);

  script::Script* script() override { return script_.get(); }

  /// Throws what Script::parse() throws, with details of the request; redis::Error if the script
  /// runs for too long; UsageError for a command that the keyspace does not have.
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;
  RepliesSeen replies() const override { return replies_; }
  void forget() override;
  std::vector<std::chrono::microseconds> ttls() override;
  bool has_endless_key() override;

  /// From now on this answers the calls of the script, but not those of its setup.
  void answer_calls(AnswerCall answer) { answer_call_ = std::move(answer); }
  /// From now on no key expires, until this is called with false; then all time has passed.
  void keep_keys(bool keeps) { keeps_keys_ = keeps; }
  /// See lua::Runner::returned_number(), of the script's last call.
  std::optional<double> returned_number() const { return engine_.runner().returned_number(); }

  /// What the requests since forget() or the last set_state() have left. A search continues from
  /// there as often as it likes. A script with a setup must not be given a state.
  const EngineState& state() const { return state_; }
  void set_state(const EngineState& state) { state_ = state; }

 private:
  limiter::Decision answer(const traffic::Arrival& arrival);
  redis::Reply prepare(const limiter::ScriptCall& call, keyspace::Keyspace& keys);
  redis::Reply run(const limiter::ScriptCall& call, const traffic::Arrival& arrival,
                   lua::Commands& commands);

  std::unique_ptr<script::Script> script_;
  const Interrupt& interrupt_;
  bool decides_by_ttls_;  ///< otherwise TTLs only free memory
  Engine engine_;
  EngineState state_;
  RepliesSeen replies_;
  AnswerCall answer_call_;
  bool keeps_keys_ = false;
};

}  // namespace rlctl::simulation
