#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/lint/plan.h"
#include "lint/findings.h"
#include "redis/connection.h"
#include "redis/server.h"

// The traffic that lint sends to learn what a client gets that does not give up. Thousands of
// requests are needed, so they go to the server without the debugger, in virtual time. observer.cc
// runs the probes once it knows the script's TTLs, and asks the debugger for the line of what they
// show.

namespace rlctl::cli::lint {

/// What the probes must know about a script.
struct ProbeRequest {
  std::chrono::microseconds start{0};  ///< when each schedule begins, since 1970
  std::chrono::microseconds tick{1};   ///< the shortest gap between two instants
  /// The TTLs that the script was seen to set, without duplicates.
  std::vector<std::chrono::microseconds> ttls = {};
  std::vector<std::int64_t> costs = {};
};

/// What the probes showed: each flaw as find_flaws() judges it.
struct Probed {
  std::int64_t requests = 0;  ///< that were sent
  std::optional<rlctl::lint::LockOut> lock_out = {};
  std::optional<rlctl::lint::Renewal> renewal = {};
  std::optional<rlctl::lint::Forgotten> forgotten = {};
  std::optional<rlctl::lint::FreePass> free_pass = {};
  std::vector<std::string> tested = {};
  std::vector<NotTested> not_tested = {};
};

/// Runs all probes on the connection's private server, which is empty afterwards. Throws what the
/// script raises, and Interrupted.
Probed probe(const Subject& subject, redis::Connection& connection, redis::PrivateServer& server,
             const ProbeRequest& request);

}  // namespace rlctl::cli::lint
