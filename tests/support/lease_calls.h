#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "limiter/lease_model.h"
#include "support/random.h"
#include "support/schedule.h"

namespace rlctl::test {

/// One call of the script `concurrency`.
struct LeaseCall {
  std::int64_t limit = 1;
  microseconds lease{1};
  std::string action;
  std::string id;
  microseconds now{0};

  /// ARGV; without the time by the server's clock.
  std::vector<std::string> arguments(bool by_servers_clock = false) const;
};

/// What the model decides.
Decision ask(limiter::LeaseModel& model, const LeaseCall& call);

/// Calls about one key, and what the model decides.
struct PlannedLeaseCalls {
  std::vector<LeaseCall> calls;
  std::vector<Decision> decisions;
  bool exists = false;  ///< whether the key does in the end
};

/// Random holders of a few leases, timed to hit the microseconds at which leases expire.
PlannedLeaseCalls plan_lease_calls(Random& random, Freedom freedom = Freedom::kAll);

}  // namespace rlctl::test
