#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/limiters.h"
#include "support/random.h"

namespace rlctl::test {

/// Requests for a few keys, in the order in which they are made.
using Schedule = std::vector<Request>;

/// What a schedule may do besides. All but the first two are for keys that expire by virtual time,
/// with windows of at least a second.
enum class Freedom {
  kAll,          ///< arguments change, and clocks step back however far
  kCalendar,     ///< the same, and some windows are those of the calendar
  kAlternating,  ///< as kCalendar, and each call takes one of a few limits
  kHourBack,     ///< arguments stay, and no clock is over an hour behind the latest
  kForward,      ///< arguments stay, and clocks never step back
};

/// Whether keys expire by virtual time.
constexpr bool is_aging(Freedom freedom) {
  return freedom == Freedom::kHourBack || freedom == Freedom::kForward;
}

/// Random traffic on one to three keys, designed to hit edges: repeated instants, clocks that step
/// back, jumps over windows and to within one µs of their ends and of the times promised by the
/// last reply, costs near the limit, refunds, changing arguments; and reservations, settled before
/// and after their holds end, at those microseconds, again, or never.
Schedule make_schedule(const Algorithm& algorithm, Random& random);

/// A schedule and what the model decides.
struct PlannedSchedule {
  /// A key that the schedule names.
  struct Key {
    std::string name;
    bool exists = false;  ///< in the end
    /// If the last request recorded something: the time until the key is as if unused.
    std::optional<microseconds> reset_after = {};
  };

  Schedule schedule;
  std::vector<Decision> decisions;
  std::vector<Key> keys;
};
PlannedSchedule plan_schedule(const Algorithm& algorithm, Random& random,
                              Freedom freedom = Freedom::kAll);
/// A limit within the contract's bounds, usually a small one.
Limit make_limit(const Algorithm& algorithm, Random& random);

/// A schedule is run this often before a difference counts: what real time causes comes and goes.
/// If two TTLs of a log are less than a millisecond apart, real time decides whether a longer
/// window shares the key; a case of that differed in four of five runs.
inline constexpr int kRunsToBeSure = 100;

/// Runs a schedule through script and model, on new keys, and reports where they first differ, in a
/// reply or in which keys exist.
class Differ {
 public:
  Differ(TestServer& server, const Algorithm& algorithm)
      : server_(server), algorithm_(algorithm), checker_(server.connection(), algorithm) {
    checker_.load();
  }

  struct Difference {
    std::size_t step = 0;
    std::string expected;
    std::string actual;
  };
  std::optional<Difference> run(const Schedule& schedule);
  /// Whether the schedule has a difference; for a log, each time that it runs, and so not by the
  /// chance of real time.
  bool differs(const Schedule& schedule);
  /// The smallest schedule with the difference, as lines for a shell.
  std::string explain(Schedule schedule);

 private:
  TestServer& server_;
  const Algorithm& algorithm_;
  limiter::Checker checker_;
  int runs_ = 0;
};

/// Runs some 30,000 requests through script and model, or $RLCTL_TEST_OPERATIONS if that is more; a
/// difference fails the test and is explained.
void check_script_against_model(const Algorithm& algorithm);

}  // namespace rlctl::test
