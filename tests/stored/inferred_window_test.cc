#include "stored/inferred_window.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "support/random.h"

namespace stored_inferred_window_test {

using std::chrono::microseconds;
using namespace std::chrono_literals;
using namespace rlctl::stored;
using rlctl::test::Random;

namespace {

constexpr microseconds kStart{1'700'000'000'000'000};

const Form& form_of(std::string_view name) {
  return *std::find_if(forms().begin(), forms().end(),
                       [&](const Form& form) { return form.name == name; });
}

/// A log as the scripts write it: its entries, and when its TTL ends.
struct Log {
  microseconds window, margin;
  std::vector<microseconds> times = {};
  microseconds expires_at{0};

  void allow(microseconds now) {
    std::erase_if(times, [&](microseconds time) { return now - time >= window; });
    times.push_back(now);
    if (expires_at - now >= window + margin) return;
    const auto ms =
        std::chrono::floor<std::chrono::milliseconds>(window + margin + 999us + window / 4);
    expires_at = now + ms;
  }
  std::optional<microseconds> inferred(microseconds now) const {
    const auto ttl = std::chrono::floor<std::chrono::milliseconds>(expires_at - now);
    return infer_window(form_of("sliding-window-log"), {times.front(), times.back()}, now, ttl);
  }
};

/// At most `entries` of them, at most `longest_gap` apart.
Log random_log(Random& random, Log log, int entries, microseconds longest_gap) {
  auto now = kStart + microseconds{random.uniform(0, 1'000'000)};
  for (auto n = random.uniform(1, entries); n > 0; --n) {
    log.allow(now);
    now += microseconds{random.log_uniform(1, longest_gap.count())};
  }
  return log;
}

}  // namespace

TEST_CASE("a window is inferred, or unknown in some cases, and rarely wrong") {
  struct Case {
    const char* what;
    std::vector<microseconds> windows;
    microseconds margin;  ///< of a caller's clock
    int entries;
    int gaps;             ///< that the window is long at least
    bool may_be_unknown;  ///< and is looked at soon
    int one_in;           ///< may be wrong
  };
  const Case cases[] = {
      {"a common window", {1s, 5s, 10s, 15s, 30s, 60s, 300s, 600s, 1800s}, 0us, 30, 1, false, 100},
      {"a longer window", {3600s, 7200s, 86400s}, 0us, 30, 4, true, 50},
      {"a caller's clock", {1s, 5s, 60s, 300s, 1800s, 3600s, 86400s}, 1h, 10, 1, true, 8}};
  Random random;
  for (const auto& each : cases) {
    CAPTURE(each.what);
    int wrong = 0, tried = 0;
    for (const auto window : each.windows) {
      for (int i = 0; i < 250; ++i) {
        const auto log = random_log(random, {.window = window, .margin = each.margin}, each.entries,
                                    window / each.gaps);
        const auto age = random.uniform(0, each.may_be_unknown ? 1000 : window.count() - 1);
        const auto inferred = log.inferred(log.times.back() + microseconds{age});
        if (each.may_be_unknown && !inferred) continue;
        if (inferred != window) ++wrong;
        ++tried;
      }
    }
    // A random value may look like a chosen one, to within a few ms.
    CHECK(tried > 50);
    CHECK_MESSAGE(wrong * each.one_in <= tried, wrong, " of ", tried);
  }
}

TEST_CASE("a window whose TTL could be that of another by a caller's clock is right or unknown") {
  const auto inferred = [](microseconds window, microseconds margin) {
    Log log{.window = window, .margin = margin};
    log.allow(kStart);
    return log.inferred(kStart + 124s);
  };
  for (const auto window : {50min, 55min, 65min, 70min, 75min, 80min, 100min}) {
    CHECK(inferred(window, 0us).value_or(window) == window);
  }
  CHECK_FALSE(inferred(50min, 0us));
  CHECK_FALSE(inferred(2min, 1h));
  for (const microseconds window : {60min, 75min, 90min, 120min, 24 * 60min}) {
    CHECK(inferred(window, 0us) == window);
  }
  for (const microseconds window : {1min, 5min, 10min, 15min, 30min, 60min, 24 * 60min}) {
    CHECK(inferred(window, 1h) == window);
  }
}

TEST_CASE("leases and a TTL that is over yield no window, but a foreign sorted set does") {
  const EntryTimes entries{kStart, kStart};
  CHECK_FALSE(infer_window(form_of("concurrency"), entries, kStart, 60s));
  CHECK_FALSE(infer_window(form_of("sliding-window-log"), entries, kStart - 60s, 60s));
  CHECK(infer_window(form_of("foreign-zset"), entries, kStart, 61s) == 60s);
  CHECK(infer_window(form_of("foreign-zset"), entries, kStart, 60s) == 60s);
}

TEST_CASE("inferred window: one that is too short for the TTL is told from one that is not") {
  const auto& form = form_of("sliding-window-log");
  const auto longer = [&](microseconds ttl, microseconds window) {
    return longer_window(form, {kStart, kStart}, kStart, ttl, window);
  };
  // The TTL is a quarter longer than the window, and an hour more by a caller's clock.
  CHECK(longer(75s, 60s) == std::nullopt);
  CHECK(longer(75s, 10s) == microseconds{60s});
  CHECK(longer(1h + 75s, 60s) == std::nullopt);
  CHECK(longer(75min, 1h) == std::nullopt);
  CHECK(longer(75min, 10s) == microseconds{1h});
  // A shorter window than that of the limit is no contradiction: it may have been written since.
  CHECK(longer(75s, 1h) == std::nullopt);
  // The TTL does not tell.
  CHECK(longer(20s, 16s) == std::nullopt);
}

TEST_CASE("inferred window: a log's own window never contradicts its TTL") {
  Random random;
  for (int i = 0; i < 500; ++i) {
    const bool has_callers_clock = random.uniform(0, 1) == 1;
    const microseconds window{random.log_uniform(1'000, 3'600'000'000)};
    const auto log =
        random_log(random, {.window = window, .margin = has_callers_clock ? microseconds{1h} : 0us},
                   20, window / 3 + 1us);
    const auto now = log.times.back() + microseconds{random.uniform(0, window.count())};
    const auto ttl = std::chrono::floor<std::chrono::milliseconds>(log.expires_at - now);
    CHECK(longer_window(form_of("sliding-window-log"), {log.times.front(), log.times.back()}, now,
                        ttl, window) == std::nullopt);
  }
}

}  // namespace stored_inferred_window_test
