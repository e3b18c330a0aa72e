// needs: server
#include <doctest/doctest.h>

#include "support/properties.h"
#include "support/schedule.h"

namespace limiter_fixed_window_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

const Algorithm& fixed_window() {
  return algorithm("fixed-window");
}
constexpr microseconds kMinute{28'333'333 * 60s};  // 2023-11-14T22:13Z, the start of a minute

}  // namespace

TEST_CASE("fixed-window: a window starts at a multiple of its length since 1970") {
  ModelLimiter model(fixed_window());
  const Limit limit{2, 60s, {}};
  CHECK(model.ask("k", limit, 1, kMinute + 59s) == Decision{true, 1, 0us, 1s, 0us, 0});
  CHECK(model.ask("k", limit, 1, kMinute + 59s) == Decision{true, 0, 0us, 1s, 0us, 0});
  CHECK(model.ask("k", limit, 1, kMinute + 59s) == Decision{false, 0, 1s, 1s, 0us, 1});
  CHECK(model.ask("k", limit, 1, kMinute + 59'999'999us) == Decision{false, 0, 1us, 1us, 0us, 1});
  CHECK(model.ask("k", limit, 1, kMinute + 60s) == Decision{true, 1, 0us, 60s, 0us, 0});
}

TEST_CASE("fixed-window: twice the limit is allowed around the edge of a window") {
  ModelLimiter model(fixed_window());
  const Limit limit{1000, 60s, {}};
  std::int64_t allowed = 0;
  for (int i = 0; i < 1500; ++i) {
    if (model.ask("k", limit, 1, kMinute - 10ms + microseconds{i}).allowed) ++allowed;
    if (model.ask("k", limit, 1, kMinute - 10ms + microseconds{i}).allowed) ++allowed;
  }
  CHECK(allowed == 1000);
  for (int i = 0; i < 3000; ++i) {
    if (model.ask("k", limit, 1, kMinute + microseconds{i}).allowed) ++allowed;
  }
  CHECK(allowed == 2000);
}

TEST_CASE("fixed-window: a cost is counted completely or not at all") {
  ModelLimiter model(fixed_window());
  const Limit limit{5, 60s, {}};
  CHECK(model.ask("k", limit, 3, kMinute) == Decision{true, 2, 0us, 60s, 0us, 0});
  CHECK(model.ask("k", limit, 3, kMinute) == Decision{false, 2, 60s, 60s, 0us, 1});
  CHECK(model.ask("k", limit, 6, kMinute) == Decision{false, 2, kNever, 60s, 0us, 1});
  CHECK(model.ask("k", limit, 0, kMinute) == Decision{true, 2, 0us, 60s, 0us, 0});
}

TEST_CASE("fixed-window: a clock that steps back stays in the window that has begun") {
  ModelLimiter model(fixed_window());
  const Limit limit{1, 60s, {}};
  CHECK(model.ask("k", limit, 1, kMinute).allowed);
  CHECK(model.ask("k", limit, 1, kMinute - 30s) == Decision{false, 0, 90s, 90s, 0us, 1});
}

TEST_CASE(
    "fixed-window: a window that has begun keeps its end, whatever window is passed meanwhile") {
  ModelLimiter model(fixed_window());
  CHECK(model.ask("k", {5, 60s, {}}, 3, kMinute).allowed);
  CHECK(model.ask("k", {5, 1s, {}}, 1, kMinute + 2s) == Decision{true, 1, 0us, 58s, 0us, 0});
  CHECK(model.ask("k", {2, 1s, {}}, 1, kMinute + 2s) == Decision{false, 0, 58s, 58s, 0us, 1});
  CHECK(model.ask("k", {5, 1s, {}}, 1, kMinute + 60s) == Decision{true, 4, 0us, 1s, 0us, 0});
}

TEST_CASE("fixed-window: a refund counts down to zero at most, and not in a window that is over") {
  ModelLimiter model(fixed_window());
  const Limit limit{3, 60s, {}};
  CHECK(model.ask("k", limit, 3, kMinute).allowed);
  CHECK(model.ask("k", limit, -1, kMinute) == Decision{true, 1, 0us, 60s, 0us, 0});
  CHECK(model.ask("k", limit, -1, kMinute + 60s) == Decision{true, 3, 0us, 0us, 0us, 0});
  CHECK_FALSE(model.exists("k"));
}

TEST_CASE("fixed-window: script and model agree on random traffic") {
  check_script_against_model(fixed_window());
}

}  // namespace limiter_fixed_window_test
