#include "cli/trial/confirmation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/errors/failure.h"
#include "exec/clock.h"
#include "exec/server.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"
#include "simulation/real_run.h"

namespace rlctl::cli::trial {
namespace {

constexpr std::chrono::seconds kTimeout{10};

}  // namespace

/// A script on a private server of its own, whose clock is set to the time of each request: keys
/// expire there at the same microsecond as in the engine.
class ClockedScript {
 public:
  /// The arguments must outlive this. Throws redis::Error, also if the server does not follow the
  /// clock, UsageError, OutputError and Interrupted.
  ClockedScript(const script::Candidate& candidate, const traffic::Traffic& names,
                const Interrupt& interrupt)
      : clock_(folder_.path(), std::chrono::floor<std::chrono::microseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())),
        server_(&clock_, &interrupt),
        connection_(open_verified(server_, interrupt)),
        script_(make_script(candidate, names, "", {.time = script::ScriptTime::kTold})) {
    script_->load(connection_);
  }

  /// "Redis 7.0.15"
  std::string server_name() {
    const auto version = redis::version_of(connection_);
    return version ? display(*version) : "a server";
  }
  /// If the clock steps back, keys follow the latest time, and the script gets the request's own.
  /// Returns how the server decides otherwise than the engine; empty if it does not.
  std::string difference(const traffic::Arrival& arrival, bool allowed,
                         std::chrono::microseconds delay) {
    latest_ = std::max(latest_, arrival.at);
    clock_.set(latest_);
    script::prepare(*script_, connection_, arrival);
    script_->call(arrival).append_to(connection_);
    const auto reply = connection_.read();
    try {
      const auto decision = script_->parse(reply, arrival, ++calls_);
      if (decision.allowed != allowed) return decision.allowed ? "allowed it" : "denied it";
      return decision.delay == delay ? "" : "delayed it otherwise";
    } catch (const redis::Error& error) {
      return fmt::format("replied an error: {}", error.what());
    }
  }
  /// Removes all keys. The next request may be as of any time.
  void forget() {
    server_.remove_keys();
    script_->restart();
    latest_ = std::chrono::microseconds{0};
  }
  std::optional<double> bytes_per_key() {
    return simulation::bytes_per_key(connection_, script_->keys());
  }

 private:
  static redis::Connection open_verified(exec::ProgramServer& server, const Interrupt& interrupt) {
    server.verify();
    return redis::Connection::open(server.process().url(), kTimeout, &interrupt);
  }

  TemporaryFolder folder_;
  exec::VirtualClock clock_;
  exec::ProgramServer server_;
  redis::Connection connection_;
  std::unique_ptr<script::Script> script_;
  std::int64_t calls_ = 0;
  std::chrono::microseconds latest_{0};
};

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
                           const std::function<void(ClockedScript&)>& ask) {
  if (!confirmation_.why_not.empty()) return;
  if (!redis::PrivateServer::is_installed()) {
    confirmation_.why_not = "none is installed";
    return;
  }
  bool has_started = false;
  try {
    ClockedScript script(candidate, names, interrupt_);
    if (confirmation_.server.empty()) confirmation_.server = script.server_name();
    has_started = true;
    ask(script);
  } catch (const redis::Error& error) {
    const bool is_lost = has_started && error.failure() == redis::Failure::kUnreachable;
    confirmation_.why_not = is_lost ? "it ended before it had decided all" : error.what();
  } catch (const UsageError& error) {  // a script that cannot be given the virtual time there
    confirmation_.why_not = error.what();
  } catch (const OutputError& error) {
    confirmation_.why_not = error.what();
  } catch (const Interrupted&) {
    confirmation_.why_not = "interrupted";
  }
}

void Confirmer::compare(ClockedScript& server, const script::Candidate& candidate,
                        std::size_t number, std::string_view of, const traffic::Arrival& arrival,
                        bool allowed, std::chrono::microseconds delay) {
  const auto difference = server.difference(arrival, allowed, delay);
  ++confirmation_.requests;
  if (difference.empty()) return;
  throw ProblemError(
      {.status = ExitStatus::kUnreachable,
       .code = "engine_differs",
       .message = fmt::format("a fault of rlctl: it {} request {} of {}{}, and {} {}",
                              allowed ? "allowed" : "denied", number, of, name_of(candidate),
                              confirmation_.server, difference),
       .hint =
           fmt::format("please report it with the script and this command: {}; a server decides "
                       "all of it with -u private:",
                       command_line(command_))});
}

std::optional<double> Confirmer::confirm(const script::Candidate& candidate,
                                         const traffic::Traffic& traffic, const DecisionLog& log) {
  std::optional<double> bytes_per_key;
  ask_server(candidate, traffic, [&](ClockedScript& server) {
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
  ask_server(candidate, keys, [&](ClockedScript& server) {
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
