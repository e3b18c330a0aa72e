#include "cli/trial/confirmation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/errors/failure.h"
#include "exec/clocked_decider.h"
#include "redis/error.h"
#include "redis/server.h"

namespace rlctl::cli::trial {
namespace {

constexpr std::chrono::seconds kTimeout{10};

/// How the server decides otherwise than the engine; empty if it does not. Throws redis::Error if
/// it does not answer, and Interrupted.
std::string difference_of(exec::ClockedDecider& server, const traffic::Arrival& arrival,
                          bool allowed, std::chrono::microseconds delay) {
  limiter::Decision decision;
  try {
    if (server.decide({&arrival, 1}, {&decision, 1}) == 0) throw Interrupted();
  } catch (const redis::Error& error) {
    if (error.failure() != redis::Failure::kRejected) throw;
    return fmt::format("replied an error: {}", error.what());
  }
  if (decision.allowed != allowed) return decision.allowed ? "allowed it" : "denied it";
  return decision.delay == delay ? "" : "delayed it otherwise";
}

}  // namespace

void DecisionLog::add(std::span<const traffic::Arrival> arrivals,
                      std::span<const limiter::Decision> decisions) {
  const auto count = std::min(arrivals.size(), kMost - arrivals_.size());
  is_complete_ = is_complete_ && count == arrivals.size();
  for (std::size_t i = 0; i < count; ++i) {
    arrivals_.push_back(arrivals[i]);
    answers_.emplace_back(decisions[i].allowed, decisions[i].delay);
  }
}

std::size_t LoggedDecider::decide(std::span<const traffic::Arrival> arrivals,
                                  std::span<limiter::Decision> decisions) {
  const auto decided = engine_.decide(arrivals, decisions);
  log_.add(arrivals.first(decided), decisions);
  return decided;
}

void Confirmer::ask_server(const script::Candidate& candidate, const traffic::Traffic& names,
                           const std::function<void(exec::ClockedDecider&)>& ask) {
  if (!confirmation_.why_not.empty()) return;
  bool has_started = false;
  try {
    if (!redis::PrivateServer::is_installed()) {
      confirmation_.why_not = "none is installed";
      return;
    }
    exec::ClockedDecider decider(candidate, names, kTimeout, interrupt_);
    if (confirmation_.server.empty()) confirmation_.server = decider.server_name();
    has_started = true;
    ask(decider);
  } catch (const redis::Error& error) {
    const bool is_lost = has_started && error.failure() == redis::Failure::kUnreachable;
    confirmation_.why_not = is_lost ? "it ended before it had decided all" : error.what();
  } catch (const UsageError& error) {  // see compare(), or the script cannot be given the time
    confirmation_.why_not = error.what();
  } catch (const OutputError& error) {
    confirmation_.why_not = error.what();
  } catch (const Interrupted&) {
    confirmation_.why_not = "interrupted";
  }
}

void Confirmer::compare(exec::ClockedDecider& server, const script::Candidate& candidate,
                        std::size_t number, std::string_view of, const traffic::Arrival& arrival,
                        bool allowed, std::chrono::microseconds delay) {
  const auto difference = difference_of(server, arrival, allowed, delay);
  ++confirmation_.requests;
  if (difference.empty()) return;
  // The engine decides as Redis 7 does; an older server may rightly decide otherwise.
  const bool is_older = confirmation_.server.starts_with("Redis 6");
  auto what = fmt::format("{} {} request {} of {}{}, and {} {}",
                          is_older ? "rlctl, as Redis 7," : "a fault of rlctl: it",
                          allowed ? "allowed" : "denied", number, of, name_of(candidate),
                          confirmation_.server, difference);
  if (is_older) throw UsageError(what);
  throw ProblemError(
      {.status = ExitStatus::kUnreachable,
       .code = "engine_differs",
       .message = std::move(what),
       .hint = fmt::format("unless the script depends on os.clock() or on the order of a set's "
                           "members, please report it with the script and this command: {}; a "
                           "server decides all of it with -u private:",
                           command_line(command_))});
}

std::optional<double> Confirmer::confirm(const script::Candidate& candidate,
                                         const traffic::Traffic& traffic, const DecisionLog& log) {
  std::optional<double> bytes_per_key;
  ask_server(candidate, traffic, [&](exec::ClockedDecider& server) {
    for (std::size_t i = 0; i < log.arrivals().size(); ++i) {
      const auto& [allowed, delay] = log.answers()[i];
      compare(server, candidate, i + 1, "", log.arrivals()[i], allowed, delay);
    }
    if (log.is_complete()) bytes_per_key = server.bytes_per_key();
  });
  confirmation_.is_part |= !log.is_complete();
  return bytes_per_key;
}

void Confirmer::confirm(const script::Candidate& candidate,
                        const std::vector<rlctl::adversary::Answered>& schedules) {
  const rlctl::adversary::TrialKeys keys;
  ask_server(candidate, keys, [&](exec::ClockedDecider& server) {
    for (const auto& [schedule, answers] : schedules) {
      server.forget();
      for (std::uint32_t i = 0; i < schedule.size(); ++i) {
        const auto arrival = arrival_of(schedule[i], schedule[i].client, i + 1);
        compare(server, candidate, i + 1, "a schedule of ", arrival, answers[i].allowed,
                answers[i].delay);
      }
    }
  });
}

}  // namespace rlctl::cli::trial
