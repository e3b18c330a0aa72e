#include "support/log_tests.h"

#include <doctest/doctest.h>

#include "support/properties.h"

namespace rlctl::test {
namespace {

using namespace std::chrono_literals;
using limiter::kNever;

constexpr microseconds kNow{1'700'000'000'000'000};

void check_window_slides(Limiter& log) {
  const Limit limit{2, 60s, {}};
  CHECK(log.ask("slides", limit, 1, kNow) == Decision{true, 1, 0us, 60s, 0us, 0});
  CHECK(log.ask("slides", limit, 1, kNow + 10s) == Decision{true, 0, 0us, 60s, 0us, 0});
  CHECK(log.ask("slides", limit, 1, kNow + 20s) == Decision{false, 0, 40s, 50s, 0us, 1});
  CHECK(log.ask("slides", limit, 2, kNow + 20s) == Decision{false, 0, 50s, 50s, 0us, 1});
  CHECK(log.ask("slides", limit, 3, kNow + 20s) == Decision{false, 0, kNever, 50s, 0us, 1});
  CHECK(log.ask("slides", limit, 1, kNow + 60s - 1us) ==
        Decision{false, 0, 1us, 10'000'001us, 0us, 1});
  CHECK(log.ask("slides", limit, 1, kNow + 60s) == Decision{true, 0, 0us, 60s, 0us, 0});
}

void check_same_instant_counts(Limiter& log) {
  const Limit limit{5, 60s, {}};
  for (int i = 0; i < 5; ++i) CHECK(log.ask("same", limit, 1, kNow).remaining == 4 - i);
  CHECK(log.ask("same", limit, 1, kNow) == Decision{false, 0, 60s, 60s, 0us, 1});
}

void check_clock_steps_back(Limiter& log) {
  const Limit limit{2, 60s, {}};
  CHECK(log.ask("back", limit, 1, kNow).allowed);
  CHECK(log.ask("back", limit, 1, kNow - 30s) == Decision{true, 0, 0us, 90s, 0us, 0});
  CHECK(log.ask("back", limit, 1, kNow - 30s) == Decision{false, 0, 90s, 90s, 0us, 1});
}

void check_refund_drops_the_oldest(Limiter& log) {
  const Limit limit{3, 60s, {}};
  CHECK(log.ask("refund", limit, 1, kNow).allowed);
  CHECK(log.ask("refund", limit, 2, kNow + 10s).allowed);
  CHECK(log.ask("refund", limit, -1, kNow + 20s) == Decision{true, 1, 0us, 50s, 0us, 0});
  CHECK(log.ask("refund", limit, 2, kNow + 20s) == Decision{false, 1, 50s, 50s, 0us, 1});
  CHECK(log.ask("refund", limit, -9, kNow + 20s) == Decision{true, 3, 0us, 0us, 0us, 0});
}

void check_changed_window(Limiter& log) {
  CHECK(log.ask("changed", {5, 60s, {}}, 3, kNow).allowed);
  CHECK(log.ask("changed", {5, 60s, {}}, 1, kNow + 30s).allowed);
  CHECK(log.ask("changed", {5, 10s, {}}, 0, kNow + 35s) == Decision{true, 4, 0us, 5s, 0us, 0});
  CHECK(log.ask("changed", {3, 60s, {}}, 1, kNow + 35s) == Decision{false, 0, 25s, 55s, 0us, 1});
}

}  // namespace

void check_log_by_hand(const Algorithm& log) {
  ModelLimiter model(log);
  TestServer server;
  ScriptLimiter script(server, log);
  for (Limiter* limiter : {static_cast<Limiter*>(&model), static_cast<Limiter*>(&script)}) {
    check_window_slides(*limiter);
    check_same_instant_counts(*limiter);
    check_clock_steps_back(*limiter);
    check_refund_drops_the_oldest(*limiter);
    check_changed_window(*limiter);
  }
}

void check_log_is_exact(const Algorithm& log) {
  Random random;
  ModelLimiter model(log);
  check_is_exact(model, log, random, 200);
  TestServer server;
  ScriptLimiter script(server, log);
  check_is_exact(script, log, random, 40);
}

}  // namespace rlctl::test
