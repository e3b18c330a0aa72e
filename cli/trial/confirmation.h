#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adversary/sample.h"
#include "base/wait.h"
#include "cli/trial/report.h"
#include "redis/server.h"
#include "traffic/script.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

// What the engine decided is confirmed by a server, if one is installed: a private one decides some
// of it again. So a fault of the engine is not reported as one of a limiter.

namespace rlctl::cli::trial {

/// Keeps the first requests of a run, and how they were decided.
class DecisionLog {
 public:
  /// A server decides so many in a tenth of a second.
  static constexpr std::size_t kMost = 20'000;

  void add(std::span<const traffic::Arrival> arrivals,
           std::span<const limiter::Decision> decisions);
  const std::vector<traffic::Arrival>& arrivals() const { return arrivals_; }
  /// Whether these are all requests.
  bool is_complete() const { return is_complete_; }
  bool allowed(std::size_t i) const { return answers_[i].first; }
  /// Whether a decision is as it was then.
  bool is_alike(std::size_t i, const limiter::Decision& decision) const {
    return answers_[i] == std::pair(decision.allowed, decision.delay);
  }

 private:
  std::vector<traffic::Arrival> arrivals_;
  std::vector<std::pair<bool, std::chrono::microseconds>> answers_;  ///< allowed, and the delay
  bool is_complete_ = true;
};

/// A decider whose decisions are kept.
class LoggedDecider final : public traffic::Decider {
 public:
  explicit LoggedDecider(std::unique_ptr<traffic::Decider> decider)
      : decider_(std::move(decider)) {}
  const DecisionLog& log() const { return log_; }
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;
  std::optional<double> bytes_per_key() override { return decider_->bytes_per_key(); }
  traffic::RepliesSeen replies() const override { return decider_->replies(); }
  bool was_stalled() const override { return decider_->was_stalled(); }
  void finish() override { decider_->finish(); }

 private:
  std::unique_ptr<traffic::Decider> decider_;
  DecisionLog log_;
};

/// Asks a private server what the engine was asked. An error of the server is not one of the run:
/// then the confirmation says why there is none.
class Confirmer {
 public:
  /// `command`: the command line that repeats the run. The interrupt, which must outlive this, ends
  /// what a server is asked.
  Confirmer(const Interrupt& interrupt, std::vector<std::string> command)
      : interrupt_(interrupt), command_(std::move(command)) {}

  /// Returns the memory of a key on the server after these requests, on average; std::nullopt if
  /// they are not all requests, or if it is unknown. Throws ProblemError, which says that this is a
  /// fault of rlctl, if the server decides otherwise.
  std::optional<double> confirm(const traffic::Candidate& candidate,
                                const traffic::Traffic& traffic, const DecisionLog& log);
  /// Throws as the other does.
  void confirm(const traffic::Candidate& candidate,
               const std::vector<rlctl::adversary::Answered>& schedules);
  const Confirmation& confirmation() const { return confirmation_; }

 private:
  redis::Connection connect();
  template <typename Ask>
  void ask_server(const Ask& ask);
  [[noreturn]] void report_fault(const traffic::Candidate& candidate, std::size_t request,
                                 bool allowed) const;

  const Interrupt& interrupt_;
  std::vector<std::string> command_;
  std::optional<redis::PrivateServer> server_;
  bool has_no_server_ = false;
  Confirmation confirmation_;
};

}  // namespace rlctl::cli::trial
