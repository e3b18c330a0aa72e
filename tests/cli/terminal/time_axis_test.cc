#include "cli/terminal/bars.h"
#include "cli/trial/picture.h"
#include "simulation/measurement.h"

#include "base/text.h"
#include "base/time.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/random.h"

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

simulation::Timeline timeline_of(const std::vector<microseconds>& allowed) {
  simulation::Timeline timeline;
  for (const auto at : allowed) timeline.add(at, true);
  return timeline;
}

}  // namespace

TEST_CASE("time axis: traffic around one edge of a window is measured from that edge") {
  const auto axis =
      make_time_axis(kMinute - milliseconds{10}, kMinute + microseconds{9'990}, kWindow, 70);
  CHECK(axis == TimeAxis{.from = kMinute - milliseconds{10},
                         .to = kMinute + milliseconds{10},
                         .columns = 40,
                         .origin = kMinute,
                         .is_about_edge = true});
  CHECK(column_text(axis) == "500 µs");
  const auto ticks = ticks_of(axis, kWindow, 70);
  CHECK(texts(ticks) == std::vector<std::string>{"-10 ms", "edge of a window", "+10 ms"});
  CHECK(ticks[1].at == doctest::Approx(20));
}

TEST_CASE(
    "time axis: traffic that begins with a window or lasts longer is measured from its beginning") {
  const auto axis =
      make_time_axis(kMinute + microseconds{3}, kMinute + microseconds{179'970'000}, kWindow, 70);
  CHECK(axis == TimeAxis{.from = kMinute,
                         .to = kMinute + seconds{180},
                         .columns = 36,
                         .origin = kMinute,
                         .is_about_edge = false});
  CHECK(texts(ticks_of(axis, kWindow, 70)) ==
        std::vector<std::string>{"0", "+60 s", "+120 s", "+180 s"});
}

TEST_CASE("time axis: an edge at the very end does not count as inside") {
  const auto axis = make_time_axis(kMinute, kMinute + kWindow, kWindow, 70);
  CHECK(!axis.is_about_edge);
  CHECK(axis.to > kMinute + kWindow);
}

TEST_CASE("time axis: many windows have few ticks") {
  const auto axis = make_time_axis(kMinute, kMinute + seconds{7'199}, kWindow, 70);
  CHECK(texts(ticks_of(axis, kWindow, 70)).size() <= 8);
  CHECK(axis.to == kMinute + seconds{7'200});
}

TEST_CASE("time axis: the shortest traffic has an axis, and no column is shorter than 1 us") {
  const auto one = make_time_axis(kMinute, kMinute, microseconds{1}, 70);
  CHECK(one.columns == 1);
  CHECK(one.to == kMinute + microseconds{1});
  const auto few = make_time_axis(kMinute, kMinute + microseconds{4}, kWindow, 70);
  CHECK(few.columns == 5);
  CHECK(make_time_axis(kMinute, kMinute + kWindow, kWindow, 2).columns == 2);
}

/// The ticks of traffic that was recorded from one instant to another, on 70 columns.
std::string recorded(std::string_view begin, std::string_view end) {
  const auto from = parse_instant(begin);
  const auto axis = make_time_axis(microseconds{0}, parse_instant(end) - from, kWindow, 70, from);
  std::string text = column_text(axis) + ":";
  for (const auto& tick : ticks_of(axis, kWindow, 70)) text += " [" + tick.text + "]";
  return text;
}

TEST_CASE("time axis: recorded traffic has round columns, and ticks at round times") {
  CHECK(recorded("2026-01-01T00:00:03Z", "2026-01-01T00:59:57Z") ==
        "60 s: [2026-01-01 00:00] [] [00:20] [00:30] [00:40] [00:50] [01:00]");
  CHECK(recorded("2026-01-01T05:13:20Z", "2026-01-02T04:00:00Z") ==
        "20 min: [2026-01-01 05:00] [] [12:00] [18:00] [] [2026-01-02 04:20]");
  CHECK(recorded("2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z") ==
        "200 ms: [2026-01-01 00:00:00] [] [00:00:04] [00:00:06] [00:00:08] [] [00:00:10.2]");
  CHECK(recorded("2026-01-28T07:00:00Z", "2026-02-20T07:00:00Z") ==
        "12 h: [2026-01-28 00:00] [] [2026-02-09] [] [2026-02-20 12:00]");
  CHECK(recorded("2022-11-20T07:00:00Z", "2026-01-20T07:00:00Z") ==
        "20 d: [2022-11-04] [] [] [2024-01] [2024-07] [2025-01] [] [] [2026-01-27]");
  CHECK(recorded("2001-05-05T00:00:00Z", "2026-01-20T07:00:00Z") ==
        "200 d: [2001-03-19] [] [2010] [2015] [2020] [] [2026-05-27]");
}

TEST_CASE("time axis: the texts of ticks do not overlap, and stay within the axis") {
  using Start = std::optional<microseconds>;
  for (const auto start : {Start{}, Start{kMinute}}) {
    for (microseconds span{1}; span < std::chrono::years{50};
         span = span * 7 / 3 + microseconds{1}) {
      for (const std::size_t letters : {20U, 33U, 70U, 200U}) {
        CAPTURE(span.count());
        CAPTURE(letters);
        const auto axis = make_time_axis(kMinute, kMinute + span, kWindow, letters, start);
        const auto ticks = ticks_of(axis, kWindow, letters);
        CHECK(ticks.size() <= 9);
        std::size_t used = 0;
        for (const auto& tick : ticks) {
          if (tick.text.empty()) continue;
          const auto begin = text_begin(axis, tick, letters);
          CHECK(begin >= used + (used == 0 ? 0 : 2));
          used = begin + display_width(tick.text);
        }
        CHECK(used <= std::max(letters, display_width(ticks.front().text)));
      }
    }
  }
}

TEST_CASE("time axis: every request of a timeline is within it") {
  for (const auto span : {1, 99, 100, 101, 4'096, 12'345, 1'999'999, 98'765'432}) {
    CAPTURE(span);
    const auto end = kMinute + microseconds{17 + span};
    const auto axis = make_time_axis(kMinute + microseconds{17}, end, kWindow, 70);
    CHECK(axis.from <= kMinute + microseconds{17});
    CHECK(axis.to > end);
    CHECK(axis.columns <= 70);
    // Rounding adds less than a column on each side.
    const auto column = column_width(axis);
    CHECK(axis.to - axis.from < microseconds{span + 1} + 2 * column);
  }
}

TEST_CASE("time axis: columns begin at multiples of their width from a given zero") {
  for (microseconds span{1}; span < std::chrono::years{50}; span = span * 7 / 3 + microseconds{1}) {
    const auto zero = kMinute - microseconds{1'234'567};
    const auto axis = make_time_axis(kMinute, kMinute + span, kWindow, 70, std::nullopt, zero);
    CHECK((axis.from - zero) % column_width(axis) == microseconds{0});
    CHECK(axis.from <= kMinute);
    CHECK(axis.to > kMinute + span);
  }
}

TEST_CASE("time axis: each request is in the column of its time, however long the traffic is") {
  test::Random random;
  for (int round = 0; round < 100; ++round) {
    const auto zero = kMinute - microseconds{random.log_uniform(1, 60'000'000)};
    simulation::Timeline timeline(zero);
    std::vector<microseconds> all;
    microseconds at = kMinute;
    const auto longest = random.log_uniform(1, 1'000'000'000'000);
    for (int i = 0; i < 500; ++i) {
      at += microseconds{random.log_uniform(1, longest) - 1};
      all.push_back(at);
      timeline.add(at, true);
    }
    const std::size_t most = round % 2 == 0 ? 200 : 17;
    const auto axis = make_time_axis(kMinute, at, kWindow, most, std::nullopt, zero);
    const auto width = column_width(axis);
    CAPTURE(width.count());
    CHECK(width % timeline.width() == microseconds{0});
    std::vector<simulation::Timeline::Bin> expected(axis.columns);
    for (const auto one : all) {
      ++expected.at(static_cast<std::size_t>((one - axis.from) / width)).allowed;
    }
    CHECK(timeline.columns(axis.from, width, axis.columns) == expected);
  }
}

/// The highest number of units allowed within a window in each column.
std::vector<std::int64_t> within_columns(const simulation::Timeline& timeline,
                                         const TimeAxis& axis) {
  return trial::highest_in_columns(trial::steps_within_window(timeline, kWindow), axis);
}

TEST_CASE("allowed within a window: a step is where the number changes") {
  simulation::Timeline timeline;
  timeline.begin_at(kMinute);
  for (const auto at : {2, 2, 5, 9}) timeline.add(kMinute + microseconds{at}, true);
  timeline.add(kMinute + microseconds{7}, false);
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (const auto& [at, units] : trial::steps_within_window(timeline, kWindow)) {
    steps.emplace_back((at - kMinute).count(), units);
  }
  const auto left = microseconds{kWindow}.count();
  CHECK(steps == decltype(steps){
                     {0, 0}, {2, 2}, {5, 3}, {9, 4}, {left + 2, 2}, {left + 5, 1}, {left + 9, 0}});
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
  const auto within = within_columns(timeline, axis);
  REQUIRE(within.size() == 36);
  CHECK(within[0] == 10);
  CHECK(within[5] == 10);
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
  const auto within = within_columns(timeline, axis);
  CHECK(*std::max_element(within.begin(), within.end()) == 100);
}

TEST_CASE(
    "allowed within a window: requests that have left do not count, even if nothing follows") {
  simulation::Timeline timeline;
  timeline.begin_at(kMinute);
  for (int i = 0; i < 5; ++i) timeline.add(kMinute + milliseconds{i}, true);
  const auto axis = make_time_axis(kMinute, kMinute + 4 * kWindow, kWindow, 40);
  const auto within = within_columns(timeline, axis);
  CHECK(within.front() == 5);
  CHECK(within.back() == 0);
  CHECK(within[within.size() / 2] == 0);
}

TEST_CASE("allowed within a window: there is no curve if the window is too short for the bins") {
  const auto timeline = timeline_of({kMinute, kMinute + seconds{3'600}});
  CHECK(trial::steps_within_window(timeline, seconds{1}).empty());
  CHECK(!trial::steps_within_window(timeline, kWindow).empty());
}

}  // namespace rlctl::cli::time_axis_test
