#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/wait.h"
#include "exec/clock.h"
#include "exec/server.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "script/script.h"
#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

namespace rlctl::exec {

/// Decides by a script on a private server of its own, whose clock is set to the time of each
/// request: keys expire at the very microsecond, as in the engine. Awaits each answer before it
/// sends the next request, which takes some 20 µs. If the time steps back, no key lives longer for
/// that: TTLs follow the latest time of any request, as of an EngineDecider.
class ClockedDecider final : public simulation::ForgetfulDecider {
 public:
  /// Starts the server and loads the script. The candidate, the names and the interrupt must
  /// outlive this. `timeout`: for each answer. Throws redis::Error, also if the server does not
  /// follow the clock, what make_script() throws, OutputError and Interrupted.
  ClockedDecider(const script::Candidate& candidate, const traffic::Traffic& names,
                 std::chrono::microseconds timeout, const Interrupt& interrupt);

  script::Script* script() override { return script_.get(); }
  /// "Redis 7.0.15"; "a server" if it does not say that. Throws redis::Error.
  std::string server_name();

  /// Throws what Script::parse() throws, with details of the request, and redis::Error if the
  /// server is lost or does not answer in time.
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<limiter::Decision> decisions) override;
  std::optional<double> bytes_per_key() override;
  simulation::RepliesSeen replies() const override { return replies_; }
  void forget() override;
  std::vector<std::chrono::microseconds> ttls() override;

 private:
  limiter::Decision answer(const traffic::Arrival& arrival);

  TemporaryFolder folder_;
  VirtualClock clock_;
  ClockedServer server_;
  redis::Connection connection_;
  std::unique_ptr<script::Script> script_;
  std::int64_t calls_ = 0;
  std::chrono::microseconds latest_{0};
  simulation::RepliesSeen replies_;
};

}  // namespace rlctl::exec
