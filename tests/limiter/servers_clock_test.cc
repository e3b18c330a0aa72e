// needs: server
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "redis/server.h"
#include "support/contract.h"
#include "support/limiters.h"
#include "support/random.h"
#include "support/schedule.h"

namespace limiter_servers_clock_test {

using namespace rlctl::test;
using namespace rlctl::limiter;
using namespace std::chrono_literals;

namespace {

/// The time of a decision by the server's clock is known to within this, and so are the times in
/// its reply. Windows are so long that nothing else depends on it.
constexpr microseconds kSlack = 60s;

microseconds time_of(TestServer& server) {
  return rlctl::redis::server_time(server.call({"TIME"}));
}

/// The same request with windows and holds of years, sometimes by the server's clock.
Request by_servers_clock(Request request, Random& random, microseconds today) {
  use_servers_clock(request);
  const auto window = request.limits.front().window.count();
  if (random.percent(30)) request.now = today + microseconds{random.uniform(-window, window)};
  return request;
}

void check_near(const Decision& script, const Decision& model) {
  CHECK(script.allowed == model.allowed);
  CHECK(script.remaining == model.remaining);
  // Of keys that are waited for equally long, it may be another: the clocks differ.
  CHECK((script.denied_by == 0) == (model.denied_by == 0));
  CHECK((script.retry_after == kNever) == (model.retry_after == kNever));
  CHECK(std::chrono::abs(script.retry_after - model.retry_after) < kSlack);
  CHECK(std::chrono::abs(script.reset_after - model.reset_after) < kSlack);
  CHECK(std::chrono::abs(script.delay - model.delay) < kSlack);
}

void check_traffic(const Algorithm& algorithm, Random& random, std::int64_t requests) {
  TestServer server;
  ScriptLimiter script(server, algorithm);
  for (std::int64_t asked = 0; asked < requests;) {
    ModelLimiter model(algorithm);
    (void)server.call({"FLUSHALL"});
    for (const Request& planned : make_schedule(algorithm, random)) {
      Request request = by_servers_clock(planned, random, time_of(server));
      const auto command = to_command(algorithm, request);
      CAPTURE(command);
      const Decision decision = script.ask(request);
      if (!request.now) request.now = time_of(server);
      check_near(decision, model.ask(request));
      ++asked;
    }
  }
}

}  // namespace

TEST_CASE("scripts and models agree by the server's clock, and with both clocks in turn") {
  Random random;
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    check_traffic(algorithm, random, scaled(1'500, 15'000));
  }
}

}  // namespace limiter_servers_clock_test
