#include "cli/trial/confirmation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "adversary/trial.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/errors/failure.h"

namespace rlctl::cli::trial {
namespace {

constexpr std::chrono::seconds kTimeout{10};

/// What a server's decisions of the same requests show.
struct ServerComparison {
  std::optional<std::size_t> different = {};  ///< the first request that was decided otherwise
  std::int64_t same = 0;                      ///< the requests that were decided alike
  /// The keys with decisions that depend on when a key of Redis expires: KeyAging is not exact to
  /// the millisecond. What they decide later may differ, too.
  std::set<std::uint32_t> undecided = {};
};

ServerComparison compare(const DecisionLog& log, std::span<const limiter::Decision> decisions,
                         const std::set<std::uint32_t>& near_end, bool reads_ttls) {
  ServerComparison result;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const auto key = log.arrivals()[i].key;
    if (result.undecided.contains(key)) continue;
    if (log.is_alike(i, decisions[i])) {
      ++result.same;
    } else if (reads_ttls || near_end.contains(key)) {
      result.undecided.insert(key);
    } else if (!result.different) {
      result.different = i;
    }
  }
  return result;
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

template <typename Ask>
void Confirmer::ask_server(const Ask& ask) {
  if (has_no_server_) return;
  try {
    if (!server_) {
      has_no_server_ = true;
      if (!redis::PrivateServer::is_installed()) {
        confirmation_.why_not = "none is installed";
        return;
      }
      redis::PrivateServer::Options options;
      options.interrupt = &interrupt_;
      server_.emplace(options);
      has_no_server_ = false;
    }
    server_->remove_keys();
    auto connection = redis::Connection::open(server_->url(), kTimeout);
    if (confirmation_.server.empty()) {
      const auto version = redis::version_of(connection);
      confirmation_.server = version ? display(*version) : "a server";
    }
    ask(connection);
  } catch (const redis::Error& error) {
    confirmation_.why_not = error.what();
  } catch (const UsageError& error) {  // a script that cannot be given the virtual time there
    confirmation_.why_not = error.what();
  } catch (const Interrupted&) {
    confirmation_.why_not = "interrupted";
  }
}

void Confirmer::report_fault(const script::Candidate& candidate, std::size_t request,
                             bool allowed) const {
  throw ProblemError(
      {.status = ExitStatus::kUnreachable,
       .code = "engine_differs",
       .message = fmt::format("a fault of rlctl: {}: {} decides request {} of a schedule otherwise "
                              "than rlctl, which {} it",
                              name_of(candidate), confirmation_.server, request + 1,
                              allowed ? "allows" : "denies"),
       .hint =
           fmt::format("please report it with the script and this command: {}; a server decides "
                       "all of it with -u private:",
                       command_line(command_))});
}

std::optional<double> Confirmer::confirm(const script::Candidate& candidate,
                                         const traffic::Traffic& traffic, const DecisionLog& log) {
  // A server that was held up may have let keys expire by real time.
  constexpr int kAttempts = 5;
  std::optional<double> bytes_per_key;
  ServerComparison found;
  bool is_held_up = false;
  for (int attempt = 0; attempt == 0 || (is_held_up && attempt < kAttempts); ++attempt) {
    found = {};
    is_held_up = false;
    ask_server([&](redis::Connection& connection) {
      const auto script = script::make_script(candidate, traffic, "");
      simulation::ScriptDecider decider(connection, *script);
      decider.stop_at(interrupt_, kTimeout, std::chrono::microseconds{0});
      std::vector<limiter::Decision> decisions(log.arrivals().size());
      if (decider.decide(log.arrivals(), decisions) < decisions.size()) throw Interrupted();
      found = compare(log, decisions, decider.near_end(), script->may_read_ttl());
      is_held_up = found.different && decider.was_stalled();
      if (log.is_complete()) bytes_per_key = decider.bytes_per_key();
    });
  }
  if (is_held_up) {
    confirmation_.why_not = "the server was held up";
  } else if (const auto request = found.different) {
    report_fault(candidate, *request, log.allowed(*request));
  }
  if (found.same == 0 && !found.undecided.empty()) {
    confirmation_.why_not = "its decisions differ, perhaps because of when a key expires";
  }
  confirmation_.requests += found.same;
  confirmation_.is_part |= !log.is_complete();
  confirmation_.undecided += static_cast<std::int64_t>(found.undecided.size());
  return bytes_per_key;
}

void Confirmer::confirm(const script::Candidate& candidate,
                        const std::vector<rlctl::adversary::Answered>& schedules) {
  ask_server([&](redis::Connection& connection) {
    rlctl::adversary::TrialKeys keys;
    const auto script = script::make_script(candidate, keys, "");
    rlctl::adversary::ScriptTrial trial(connection, *script,
                                        rlctl::adversary::scope_of(candidate, &*server_));
    trial.decider().stop_at(interrupt_, kTimeout, std::chrono::microseconds{0});
    std::vector<rlctl::adversary::Schedule> asked;
    for (const auto& each : schedules) asked.push_back(each.schedule);
    const auto answers = trial.run(asked);
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      const auto& expected = schedules[i].answers;
      // KeyAging shows a script TTLs that differ by a few ms.
      const bool differs_by_ttl = answers[i] != expected && script->may_read_ttl();
      if (answers[i].empty() || trial.doubtful().contains(i) || differs_by_ttl) {
        ++confirmation_.undecided;
        continue;
      }
      const auto [theirs, ours] = std::ranges::mismatch(answers[i], expected);
      if (ours != expected.end()) {
        report_fault(candidate, static_cast<std::size_t>(ours - expected.begin()), ours->allowed);
      }
      confirmation_.requests += static_cast<std::int64_t>(expected.size());
    }
  });
}

}  // namespace rlctl::cli::trial
