#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/limiters.h"
#include "support/random.h"

namespace rlctl::test {

/// Requests about a few keys, in the order in which they are made.
using Schedule = std::vector<Request>;

/// Random traffic on one to three keys, made to hit edges: the same instant again, clocks that step
/// back, jumps over windows and to one µs around their ends and around what the last reply
/// promised, costs about the limit, refunds, arguments that change.
[[nodiscard]] Schedule make_schedule(const Algorithm& algorithm, Random& random);
/// A limit within the contract's bounds, mostly a small one.
[[nodiscard]] Limit make_limit(const Algorithm& algorithm, Random& random);

/// Runs a schedule through script and model; the keys are new ones. Says where they first differ,
/// in a reply or in which keys exist.
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
  [[nodiscard]] std::optional<Difference> run(const Schedule& schedule);
  /// The difference in its smallest form, as lines for a shell.
  [[nodiscard]] std::string explain(Schedule schedule);

 private:
  [[nodiscard]] std::string script_says(const Request& request);

  TestServer& server_;
  const Algorithm& algorithm_;
  limiter::Checker checker_;
  int runs_ = 0;
};

/// At least so many requests through script and model; a difference fails the test and is
/// explained.
void check_script_against_model(const Algorithm& algorithm, std::int64_t requests);

}  // namespace rlctl::test
