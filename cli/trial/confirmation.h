#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adversary/sample.h"
#include "base/wait.h"
#include "cli/trial/report.h"
#include "exec/clocked_decider.h"
#include "script/script.h"
#include "simulation/engine.h"
#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

// What the engine decided is confirmed by a server, if one is installed: a private one decides some
// of it again, at the same times by its own clock. So a fault of the engine is not reported as one
// of a limiter.

namespace rlctl::cli::trial {

/// Keeps the first requests of a run, and how they were decided.
class DecisionLog {
 public:
  /// As many as a server decides, one after another, in half a second.
  static constexpr std::size_t kMost = 20'000;

  void add(std::span<const traffic::Arrival> arrivals,
           std::span<const limiter::Decision> decisions);
  const std::vector<traffic::Arrival>& arrivals() const { return arrivals_; }
  /// Whether these are all requests.
  bool is_complete() const { return is_complete_; }
  /// Whether each was allowed, and its delay.
  const std::vector<std::pair<bool, std::chrono::microseconds>>& answers() const {
    return answers_;
  }

 private:
  std::vector<traffic::Arrival> arrivals_;
  std::vector<std::pair<bool, std::chrono::microseconds>> answers_;
  bool is_complete_ = true;
};

/// A script in the engine whose decisions are kept.
class LoggedDecider final : public simulation::Decider {
 public:
  /// See EngineDecider.
  LoggedDecider(const script::Candidate& candidate, const traffic::Traffic& traffic,
                const Interrupt& interrupt)
      : engine_(candidate, traffic, interrupt) {}
  script::Script* script() override { return engine_.script(); }
  const DecisionLog& log() const { return log_; }
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;
  simulation::RepliesSeen replies() const override { return engine_.replies(); }

 private:
  simulation::EngineDecider engine_;
  DecisionLog log_;
};

/// Asks a private server what the engine was asked, a new one for each limiter. An error of the
/// server is not one of the run: then the confirmation says why there is none.
class Confirmer {
 public:
  /// `command`: the command line that repeats the run. The interrupt, which must outlive this, ends
  /// what a server is asked.
  Confirmer(const Interrupt& interrupt, std::vector<std::string> command)
      : interrupt_(interrupt), command_(std::move(command)) {}

  /// Returns the memory of a key on the server after these requests, on average; std::nullopt if
  /// they are not all requests, or if it is unknown. Throws ProblemError, which says that this is a
  /// fault of rlctl, if the server decides otherwise and is not Redis 6.
  std::optional<double> confirm(const script::Candidate& candidate, const traffic::Traffic& traffic,
                                const DecisionLog& log);
  /// Throws as the other does.
  void confirm(const script::Candidate& candidate,
               const std::vector<rlctl::adversary::Answered>& schedules);
  const Confirmation& confirmation() const { return confirmation_; }

 private:
  void ask_server(const script::Candidate& candidate, const traffic::Traffic& names,
                  const std::function<void(exec::ClockedDecider&)>& ask);
  void compare(exec::ClockedDecider& server, const script::Candidate& candidate, std::size_t number,
               std::string_view of, const traffic::Arrival& arrival, bool allowed,
               std::chrono::microseconds delay);

  const Interrupt& interrupt_;
  std::vector<std::string> command_;
  Confirmation confirmation_;
};

}  // namespace rlctl::cli::trial
