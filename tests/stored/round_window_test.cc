#include "stored/round_window.h"

#include <doctest/doctest.h>

#include <vector>

namespace stored_round_window_test {

using std::chrono::microseconds;
using namespace std::chrono_literals;
using namespace rlctl::stored;

TEST_CASE(
    "the roundest window is a multiple of the largest unit that has a multiple in the range") {
  struct Row {
    WindowRange range;
    microseconds window;
  };
  using std::chrono::days;
  // Each range also holds a multiple of the next smaller unit, which a wrong unit would choose.
  const std::vector<Row> rows{
      {{days{29}, days{37}}, days{30}},
      {{days{6}, days{8}}, days{7}},
      {{23h, 36h}, days{1}},
      {{11h, 18h}, 12h},
      {{5h, 8h}, 6h},
      {{1h + 30min, 3h}, 2h},
      {{59min, 1h + 30min}, 1h},
      {{29min, 45min}, 30min},
      {{14min, 25min}, 15min},
      {{9min, 14min}, 10min},
      {{4min, 7min}, 5min},
      {{90s, 3min}, 2min},
      {{50s, 90s}, 1min},
      {{29s, 50s}, 30s},
      {{18s, 29s}, 20s},
      {{14s, 19s}, 15s},
      {{9s, 14s}, 10s},
      {{4s, 7s}, 5s},
      {{1500ms, 3s}, 2s},
      {{900ms, 1500ms}, 1s},
      {{490ms, 750ms}, 500ms},
      {{240ms, 450ms}, 250ms},
      {{190ms, 230ms}, 200ms},
      {{90ms, 150ms}, 100ms},
      {{45ms, 70ms}, 50ms},
      {{19ms, 30ms}, 20ms},
      {{9ms, 15ms}, 10ms},
      {{4ms, 7ms}, 5ms},
      {{1ms, 1900us}, 1ms},
      {{90us, 110us}, 100us},
      {{9us, 11us}, 10us},
      {{2us, 3us}, 3us},
  };
  for (const auto& row : rows) {
    CAPTURE(row.range.least.count());
    CAPTURE(row.range.most.count());
    CHECK(roundest_window(row.range).count() == row.window.count());
  }
}

TEST_CASE("the roundest window may be below the range by the error of a TTL, but no more") {
  CHECK(roundest_window({.least = 10s + kTtlError, .most = 11s}) == 10s);
  CHECK(roundest_window({.least = 10s + kTtlError + 1us, .most = 11s}) == 11s);
  CHECK(roundest_window({.least = 9500ms + kTtlError, .most = 9999ms}) == 9500ms);
}

TEST_CASE("the roundest window is never 0, although that is a multiple of every unit") {
  CHECK(roundest_window({.least = 1us, .most = 1us}) == 1us);
  CHECK(roundest_window({.least = 0us, .most = 7us}) == 7us);
}

}  // namespace stored_round_window_test
