#include "cli/commands/check/batch_link.h"

#include <chrono>
#include <exception>

namespace rlctl::cli::check {
namespace {

constexpr std::chrono::seconds kReconnectPause{1};

}  // namespace

bool BatchLink::ensure() {
  if (connection_) return true;
  if (Clock::now() < next_attempt_) return false;
  try {
    connection_.emplace(connector_.open());
    checker_.emplace(*connection_, algorithm_);
    answered_ = false;
    return true;
  } catch (const std::exception& error) {
    const Problem problem = describe(error);
    if (problem.status < ExitStatus::kUnreachable || problem.code == "interrupted") throw;
    problem_ = problem;
    next_attempt_ = Clock::now() + kReconnectPause;
    return false;
  }
}

void BatchLink::drop(const Problem& problem) {
  checker_.reset();
  connection_.reset();
  // The error for the lines until the next attempt, which are not sent.
  problem_ = problem;
  problem_.message = "not asked: " + problem.message;
  problem_.hint.clear();
  if (!answered_) next_attempt_ = Clock::now() + kReconnectPause;
}

}  // namespace rlctl::cli::check
