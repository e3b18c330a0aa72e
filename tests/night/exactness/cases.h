#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "support/schedule.h"

namespace rlctl::test {

using std::chrono::microseconds;

/// Whose clock decides, and whether virtual time passes for the TTLs of the keys.
enum class Clocks {
  kCallers,       ///< the caller's, at any time; TTLs only lose real time
  kCallersAging,  ///< the caller's, up to an hour behind the server's, which keys expire by
  kServersAging,  ///< the server's, sometimes told to the script; keys expire by it
};

/// Calls of an algorithm's script about some keys that do not exist before, and what its model
/// decides.
struct Case {
  struct Step {
    std::vector<std::string> keys;
    std::vector<std::string> arguments;
    microseconds servers_clock{0};  ///< if keys age
    limiter::Decision decision;
  };
  struct Key {
    std::string name;
    bool exists = false;                            ///< after the last step, unless keys age
    std::optional<std::int64_t> least_ttl_ms = {};  ///< if the last step set or checked the TTL
    std::int64_t most_ttl_ms = 0;
  };

  std::uint64_t seed = 0;
  Clocks clocks = Clocks::kCallers;
  std::vector<Step> steps;
  std::vector<Key> keys;
};

/// The same case for the same seed. `prefix` begins the names of its keys. If it alternates, each
/// call takes one of a few limits.
Case make_case(const limiter::Algorithm& algorithm, std::uint64_t seed, const std::string& prefix,
               bool alternates);
/// The requests of that case, without a prefix, for Differ; none if its keys age or if the
/// algorithm counts leases.
std::optional<Schedule> schedule_of_case(const limiter::Algorithm& algorithm, std::uint64_t seed,
                                         bool alternates);

}  // namespace rlctl::test
