#include "traffic/virtual_run.h"

#include <doctest/doctest.h>

#include "support/limiters.h"
#include "traffic/pattern.h"

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using namespace rlctl::test;

namespace {

Outcome run_model(std::string_view pattern, const PatternRequest& request,
                  const Contestant& contestant) {
  const auto traffic = make_traffic(*find_pattern(pattern), request);
  ModelDecider decider(contestant);
  return run_virtually(*traffic, decider, contestant.limits, rlctl::redis::Interrupt());
}

}  // namespace

TEST_CASE("a fixed window lets twice its limit pass around its edge, a log never more than it") {
  const Limit limit{1000, 60s, {}};
  const auto fixed =
      run_model("boundary", {.limit = limit}, {&algorithm("fixed-window"), {limit}}).measured;
  CHECK(fixed.sent == 2000);
  CHECK(fixed.allowed == 2000);
  CHECK(fixed.worst.allowed == 2000);
  CHECK(fixed.worst.ratio == 2.0);
  CHECK(fixed.worst.span == 19'990us);
  CHECK_FALSE(fixed.first_denial);

  const auto log =
      run_model("boundary", {.limit = limit}, {&algorithm("sliding-window-log"), {limit}}).measured;
  CHECK(log.allowed == 1000);
  CHECK(log.denied == 1000);
  CHECK(log.worst.ratio == 1.0);
  CHECK(log.keys_denied == 1);
}
