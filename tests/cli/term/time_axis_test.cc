#include "cli/burst/report.h"
#include "cli/term/bars.h"
#include "traffic/outcome.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rlctl::cli::time_axis_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The beginning of a minute.
constexpr seconds kMinute{1'767'225'660};
constexpr seconds kWindow{60};

std::vector<std::string> texts(const std::vector<Tick>& ticks) {
  std::vector<std::string> result;
  for (const auto& tick : ticks) result.push_back(tick.text);
  return result;
}

traffic::Timeline timeline_of(const std::vector<microseconds>& allowed) {
  traffic::Timeline timeline;
  for (const auto at : allowed) timeline.add(at, true);
  return timeline;
}

}  // namespace

TEST_CASE("time axis: traffic around one edge of a window is measured from that edge") {
  const auto axis =
      make_time_axis(kMinute - milliseconds{10}, kMinute + microseconds{9'990}, kWindow, 70);
  CHECK(axis == TimeAxis{.from = kMinute - milliseconds{10},
                         .to = kMinute + milliseconds{10},
                         .columns = 50,
                         .origin = kMinute,
                         .is_about_edge = true});
  CHECK(column_text(axis) == "400 us");
  const auto ticks = ticks_of(axis, kWindow);
  CHECK(texts(ticks) == std::vector<std::string>{"-10 ms", "edge of a window", "+10 ms"});
  CHECK(ticks[1].at == doctest::Approx(25));
}

TEST_CASE(
    "time axis: traffic that begins with a window or lasts longer is measured from its beginning") {
  const auto axis =
      make_time_axis(kMinute + microseconds{3}, kMinute + microseconds{179'970'000}, kWindow, 70);
  CHECK(axis == TimeAxis{.from = kMinute,
                         .to = kMinute + seconds{180},
                         .columns = 60,
                         .origin = kMinute,
                         .is_about_edge = false});
  CHECK(texts(ticks_of(axis, kWindow)) ==
        std::vector<std::string>{"0", "+60 s", "+120 s", "+180 s"});
}

TEST_CASE("time axis: an edge at the very end does not count as inside") {
  const auto axis = make_time_axis(kMinute, kMinute + kWindow, kWindow, 70);
  CHECK(!axis.is_about_edge);
  CHECK(axis.to > kMinute + kWindow);
}

TEST_CASE("time axis: many windows have few ticks") {
  const auto axis = make_time_axis(kMinute, kMinute + seconds{7'199}, kWindow, 70);
  CHECK(texts(ticks_of(axis, kWindow)).size() <= 8);
  CHECK(axis.to == kMinute + seconds{7'200});
}

TEST_CASE("time axis: the shortest traffic has an axis, and no column is shorter than 1 us") {
  const auto one = make_time_axis(kMinute, kMinute, microseconds{1}, 70);
  CHECK(one.columns == 1);
  CHECK(one.to == kMinute + microseconds{1});
  const auto few = make_time_axis(kMinute, kMinute + microseconds{4}, kWindow, 70);
  CHECK(few.columns == 5);
  CHECK(make_time_axis(kMinute, kMinute + kWindow, kWindow, 1).columns == 1);
}

TEST_CASE("time axis: every request of a timeline is within it") {
  for (const auto span : {1, 99, 100, 101, 4'096, 12'345, 1'999'999, 98'765'432}) {
    CAPTURE(span);
    const auto end = kMinute + microseconds{17 + span};
    const auto axis = make_time_axis(kMinute + microseconds{17}, end, kWindow, 70);
    CHECK(axis.from <= kMinute + microseconds{17});
    CHECK(axis.to > end);
    CHECK(axis.columns <= 70);
    // Rounding adds at most a tenth on each side.
    CHECK(axis.to - axis.from <= microseconds{span + 1 + span / 5 + 2});
  }
}

TEST_CASE("allowed within a window: the curve rises with requests and falls when they leave") {
  // Ten at once, ten after half a window, and one long after.
  std::vector<microseconds> allowed;
  for (int i = 0; i < 10; ++i) allowed.push_back(kMinute);
  for (int i = 0; i < 10; ++i) allowed.push_back(kMinute + seconds{30});
  allowed.push_back(kMinute + seconds{179});
  const auto timeline = timeline_of(allowed);
  const auto axis = make_time_axis(timeline.begin(), timeline.end(), kWindow, 36);
  REQUIRE(axis.columns == 36);  // 5 s each
  const auto within = allowed_within_window(timeline, axis, kWindow);
  REQUIRE(within.size() == 36);
  CHECK(within[0] == 10);
  // A bin across the edge of a column belongs to one of the two.
  CHECK(within[4] == 10);
  CHECK(within[6] == 20);
  CHECK(within[10] == 20);
  CHECK(within[13] == 10);
  CHECK(within[20] == 0);
  CHECK(within[35] == 1);
}

TEST_CASE("allowed within a window: the curve never exceeds the true values") {
  // A full limit at the beginning, and another exactly one window later.
  std::vector<microseconds> allowed;
  for (int i = 0; i < 100; ++i) allowed.push_back(kMinute + milliseconds{i * 13});
  for (int i = 0; i < 100; ++i) allowed.push_back(kMinute + kWindow + milliseconds{i * 13});
  const auto timeline = timeline_of(allowed);
  const auto axis = make_time_axis(timeline.begin(), timeline.end(), kWindow, 70);
  const auto within = allowed_within_window(timeline, axis, kWindow);
  CHECK(*std::max_element(within.begin(), within.end()) == 100);
}

TEST_CASE(
    "allowed within a window: requests that have left do not count, even if nothing follows") {
  traffic::Timeline timeline;
  timeline.begin_at(kMinute);
  for (int i = 0; i < 5; ++i) timeline.add(kMinute + milliseconds{i}, true);
  const auto axis = make_time_axis(kMinute, kMinute + 4 * kWindow, kWindow, 40);
  const auto within = allowed_within_window(timeline, axis, kWindow);
  CHECK(within.front() == 5);
  CHECK(within.back() == 0);
  CHECK(within[within.size() / 2] == 0);
}

TEST_CASE("allowed within a window: there is no curve if the window is too short for the bins") {
  const auto timeline = timeline_of({kMinute, kMinute + seconds{3'600}});
  const auto axis = make_time_axis(timeline.begin(), timeline.end(), seconds{1}, 70);
  CHECK(allowed_within_window(timeline, axis, seconds{1}).empty());
  CHECK(!allowed_within_window(timeline, axis, kWindow).empty());
}

}  // namespace rlctl::cli::time_axis_test
