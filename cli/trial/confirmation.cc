#include "cli/trial/confirmation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "adversary/trial.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/errors/failure.h"

namespace rlctl::cli::trial {
namespace {

constexpr std::chrono::seconds kTimeout{10};

/// The first request that was decided otherwise; the number of all if there is none.
std::size_t first_difference(const DecisionLog& log, std::span<const limiter::Decision> decisions) {
  std::size_t i = 0;
  while (i < decisions.size() && decisions[i].allowed == log.allowed(i)) ++i;
  return i;
}

}  // namespace

void DecisionLog::add(std::span<const traffic::Arrival> arrivals,
                      std::span<const limiter::Decision> decisions) {
  const auto count = std::min(arrivals.size(), kMost - arrivals_.size());
  is_complete_ = is_complete_ && count == arrivals.size();
  for (std::size_t i = 0; i < count; ++i) {
    arrivals_.push_back(arrivals[i]);
    allowed_.push_back(decisions[i].allowed);
  }
}

std::size_t LoggedDecider::decide(std::span<const traffic::Arrival> arrivals,
                                  std::span<limiter::Decision> decisions) {
  const auto decided = decider_->decide(arrivals, decisions);
  log_.add(arrivals.first(decided), decisions);
  return decided;
}

/// Throws redis::Error if the server does not start.
redis::Connection Confirmer::connect() {
  if (!server_) server_.emplace();
  server_->remove_keys();
  auto connection = redis::Connection::open(server_->url(), kTimeout);
  if (confirmation_.server.empty()) {
    const auto version = redis::version_of(connection);
    confirmation_.server = version ? display(*version) : "a server";
  }
  return connection;
}

template <typename Ask>
void Confirmer::ask_server(const Ask& ask) {
  if (!confirmation_.why_not.empty()) return;
  try {
    if (!server_ && !redis::PrivateServer::is_installed()) {
      confirmation_.why_not = "none is installed";
      return;
    }
    auto connection = connect();
    ask(connection);
  } catch (const redis::Error& error) {
    confirmation_.why_not = error.what();
  } catch (const UsageError& error) {  // a script that cannot be given the virtual time there
    confirmation_.why_not = error.what();
  } catch (const Interrupted&) {
    confirmation_.why_not = "interrupted";
  }
}

void Confirmer::report_fault(const traffic::Candidate& candidate, std::size_t request,
                             bool allowed) const {
  throw ProblemError(
      {.status = ExitStatus::kUnreachable,
       .code = "engine_differs",
       .message = fmt::format("a fault of rlctl: {}: it {} request {}, which {} {}",
                              name_of(candidate), allowed ? "allowed" : "denied", request + 1,
                              confirmation_.server, allowed ? "denied" : "allowed"),
       .hint =
           fmt::format("please report it with the script and this command: {}; a server decides "
                       "all of it with -u private:",
                       command_line(command_))});
}

std::optional<double> Confirmer::confirm(const traffic::Candidate& candidate,
                                         const traffic::Traffic& traffic, const DecisionLog& log) {
  // A server that was held up may have let keys expire by real time.
  constexpr int kAttempts = 5;
  const auto size = log.arrivals().size();
  std::optional<double> bytes_per_key;
  auto same = size;  // how many requests were decided alike
  bool is_held_up = false;
  for (int attempt = 0; attempt == 0 || (is_held_up && attempt < kAttempts); ++attempt) {
    same = size;
    is_held_up = false;
    ask_server([&](redis::Connection& connection) {
      const auto script = traffic::make_script(candidate, traffic, "");
      traffic::ScriptDecider decider(connection, *script);
      decider.stop_at(interrupt_, kTimeout, std::chrono::microseconds{0});
      std::vector<limiter::Decision> decisions(size);
      if (decider.decide(log.arrivals(), decisions) < size) throw Interrupted();
      same = first_difference(log, decisions);
      is_held_up = same < size && decider.was_stalled();
      if (log.is_complete()) bytes_per_key = decider.bytes_per_key();
    });
  }
  if (is_held_up) {
    confirmation_.why_not = "the server was held up";
  } else if (same < size) {
    report_fault(candidate, same, log.allowed(same));
  } else if (confirmation_.why_not.empty()) {
    confirmation_.requests += static_cast<std::int64_t>(size);
  }
  return bytes_per_key;
}

void Confirmer::confirm(const traffic::Candidate& candidate,
                        const std::vector<rlctl::adversary::Answered>& schedules) {
  ask_server([&](redis::Connection& connection) {
    rlctl::adversary::TrialKeys keys;
    const auto script = traffic::make_script(candidate, keys, "");
    rlctl::adversary::ScriptTrial trial(connection, *script,
                                        rlctl::adversary::scope_of(candidate, &*server_));
    trial.decider().stop_at(interrupt_, kTimeout, std::chrono::microseconds{0});
    std::vector<rlctl::adversary::Schedule> asked;
    for (const auto& each : schedules) asked.push_back(each.schedule);
    const auto answers = trial.run(asked);
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      if (answers[i].empty()) {
        ++confirmation_.undecided;
        continue;
      }
      const auto& expected = schedules[i].answers;
      for (std::size_t request = 0; request < expected.size(); ++request) {
        const bool allowed = expected[request].allowed;
        if (answers[i][request].allowed != allowed) report_fault(candidate, request, allowed);
      }
      confirmation_.requests += static_cast<std::int64_t>(expected.size());
    }
  });
}

}  // namespace rlctl::cli::trial
