#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limiter/limit.h"
#include "lint/findings.h"
#include "lint/schedules.h"
#include "script/script.h"

// What a limiter does to traffic that a sentence describes: a second client, a clock that is ahead.
// Each row of the table in conduct.cc sends schedules and says what must follow; programs and
// scripts are judged alike, by their answers alone. There is a finding only if the answers show it.

namespace rlctl::lint {

/// What a limiter is told with each request.
struct Profile {
  limiter::Limit limit = {};
  bool has_limit = true;  ///< otherwise it has one of its own
  /// Requests tell it the time by the clocks of clients, of which one may be wrong. A bundled
  /// script asks the server's clock, and how many clocks a program has is not known.
  bool has_time = false;
  bool has_client = true;  ///< in a key or an argument
  bool is_global = false;  ///< its calls name a key that is the same for all clients
  /// What requests cost, also 0 and refunds; empty if each costs 1.
  std::vector<std::int64_t> costs = {};
};
Profile profile_of(const script::Candidate& candidate, std::vector<std::int64_t> costs = {});

/// Judges a limiter by all rows that apply to it. At one instant it allows `at_once` of
/// requests_at_once(), of cost 1. `ask` answers a schedule, or not at all if the limiter refuses a
/// cost other than 1 with an error. Adds what was answered to `tested`, and what cannot be judged
/// to `not_tested`.
std::vector<Finding> judge_conduct(const Profile& profile, std::int64_t at_once, const Ask& ask,
                                   std::vector<std::string>& tested,
                                   std::vector<NotTested>& not_tested);

}  // namespace rlctl::lint
