#include "cli/terminal/bars.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace rlctl::cli::bars_test {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

TEST_CASE("bars: on the same scale, zero and small values differ") {
  CHECK(bars_text(std::vector<std::int64_t>{0, 1, 50, 100}, true) == "·▁▄█");
  CHECK(bars_text(std::vector<std::int64_t>{0, 1, 50, 100}, false) == ".:+@");
  CHECK(bars_text(std::vector<std::int64_t>{0, 0}, true) == "··");
  CHECK(bars_text({}, true).empty());
  CHECK(bars_text(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8}, true) == "▁▂▃▄▅▆▇█");
}

TEST_CASE("bars: their number is the most that fits with a round width") {
  CHECK(bars_for(seconds{60}, 69) == 60);            // 1 s each
  CHECK(bars_for(seconds{10}, 69) == 50);            // 200 ms
  CHECK(bars_for(hours{1}, 69) == 60);               // 1 min
  CHECK(bars_for(seconds{60}, 29) == 12);            // 5 s
  CHECK(bars_for(seconds{60}, 189) == 120);          // 500 ms
  CHECK(bars_for(seconds{1'000}, 69) == 50);         // 20 s
  CHECK(bars_for(hours{24}, 69) == 48);              // 30 min
  CHECK(bars_for(std::chrono::days{30}, 69) == 60);  // 12 h
  CHECK(bars_for(microseconds{7}, 69) == 7);
  CHECK(bars_for(microseconds{1'000'003}, 69) == 69);
  CHECK(bars_for(seconds{60}, 1) == 1);
  CHECK(bars_for(seconds{60}, 0) == 0);
}

TEST_CASE("bars: a gauge is full or empty only if its share is") {
  CHECK(gauge_text(0, 4, true) == "░░░░");
  CHECK(gauge_text(0.001, 4, true) == "█░░░");
  CHECK(gauge_text(0.5, 4, false) == "##--");
  CHECK(gauge_text(0.999, 4, false) == "###-");
  CHECK(gauge_text(1, 4, false) == "####");
  CHECK(gauge_text(7, 4, false) == "####");
  CHECK(gauge_text(-1, 4, false) == "----");
  CHECK(gauge_text(0.5, 0, false).empty());
}

}  // namespace rlctl::cli::bars_test
