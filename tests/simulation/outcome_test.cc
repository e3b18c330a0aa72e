#include "simulation/measurement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "simulation/real_run.h"
#include "support/random.h"

namespace rlctl::simulation {
std::ostream& operator<<(std::ostream& out, const Timeline::Bin& bin) {
  return out << bin.allowed << " allowed, " << bin.denied << " denied";
}
}  // namespace rlctl::simulation

namespace rlctl::simulation::outcome_test {

using namespace std::chrono_literals;
using test::Random;

namespace {

constexpr microseconds kBegin{1'700'000'000'000'000};

Timeline::Bin sum(const std::vector<Timeline::Bin>& bins) {
  Timeline::Bin total;
  for (const auto& bin : bins) {
    total.allowed += bin.allowed;
    total.denied += bin.denied;
  }
  return total;
}

}  // namespace

TEST_CASE("a short timeline has a bin for each µs, including empty ones") {
  Timeline timeline;
  timeline.add(kBegin, true);
  timeline.add(kBegin, false);
  timeline.add(kBegin + 3us, false);
  CHECK(timeline.begin() == kBegin);
  CHECK(timeline.end() == kBegin + 3us);
  CHECK(timeline.width() == 1us);
  CHECK(timeline.bins() == std::vector<Timeline::Bin>{{1, 1}, {0, 0}, {0, 0}, {0, 1}});
}

TEST_CASE("bins begin at multiples of their width from zero, also before it") {
  for (const auto zero : {kBegin - 7us, kBegin, kBegin + 1'000'003us}) {
    Timeline timeline(zero);
    timeline.add(kBegin, true);
    CHECK(timeline.first() == kBegin);
    timeline.add(kBegin + 10s, true);
    CHECK(timeline.width() == 1ms);
    CHECK((timeline.first() - zero) % timeline.width() == 0us);
    CHECK(timeline.first() <= kBegin);
    CHECK(timeline.first() > kBegin - timeline.width());
    CHECK(timeline.begin() == kBegin);
    CHECK(sum(timeline.bins()) == Timeline::Bin{2, 0});
  }
}

TEST_CASE("every request is in the bin of its time, however long the traffic is") {
  Random random;
  for (int round = 0; round < 20; ++round) {
    Timeline timeline;
    struct Request {
      microseconds at;
      bool allowed;
      std::int64_t units;
    };
    std::vector<Request> all;
    auto latest = kBegin;
    const auto longest = random.log_uniform(1, 1'000'000'000'000);
    for (int i = 0; i < 2'000; ++i) {
      latest += microseconds{random.log_uniform(1, longest) - 1};
      // Some are earlier than the latest.
      const auto earlier = random.percent(10) ? microseconds{random.log_uniform(1, longest)} : 0us;
      const auto first = all.empty() ? latest : all.front().at;
      const auto at = i == 1'999 ? latest : std::max(first, latest - earlier);
      all.push_back({at, random.percent(40), random.uniform(1, 5)});
      timeline.add(at, all.back().allowed, all.back().units);
    }
    const auto width = timeline.width();
    CHECK(timeline.end() == latest);
    CHECK(timeline.bins().size() <= Timeline::kMax);
    if (width > 1us) CHECK(timeline.bins().size() >= Timeline::kMax / 6);
    std::vector<Timeline::Bin> expected(timeline.bins().size());
    for (const auto& [at, allowed, units] : all) {
      auto& bin = expected.at(static_cast<std::size_t>((at - timeline.first()) / width));
      (allowed ? bin.allowed : bin.denied) += units;
    }
    CHECK(timeline.bins() == expected);
  }
}

TEST_CASE("columns are half-open: a bin counts in the column in which it begins") {
  Timeline timeline;
  for (int us = 0; us < 10; ++us) timeline.add(kBegin + microseconds{us}, us < 4);
  using Bins = std::vector<Timeline::Bin>;
  CHECK(timeline.columns(kBegin, 2us, 5) == Bins{{2, 0}, {2, 0}, {0, 2}, {0, 2}, {0, 2}});
  CHECK(timeline.columns(kBegin + 3us, 1us, 2) == Bins{{1, 0}, {0, 1}});
  CHECK(timeline.columns(kBegin - 10us, 5us, 2) == Bins{{0, 0}, {0, 0}});
  CHECK(timeline.columns(kBegin - 10us, 10us, 2) == Bins{{0, 0}, {4, 6}});
  CHECK(timeline.columns(kBegin, 1us, 0).empty());
}

TEST_CASE("a timeline without requests is empty") {
  const Timeline timeline;
  CHECK(timeline.bins().empty());
  CHECK(timeline.columns(0us, 10us, 3) == std::vector<Timeline::Bin>(3));
}

TEST_CASE("a timeline may begin before its first request") {
  Timeline timeline;
  timeline.begin_at(100us);
  timeline.add(108us, true);
  timeline.add(103us, true);
  CHECK(timeline.begin() == 100us);
  REQUIRE(timeline.bins().size() == 9);
  CHECK(timeline.bins()[3].allowed == 1);
}

TEST_CASE("a sender has kept up if it was late by a hundredth of the span or by 1 ms") {
  CHECK(Pace{.lag = 50ms, .span = 5s}.sender_kept_up());
  CHECK_FALSE(Pace{.lag = 50'001us, .span = 5s}.sender_kept_up());
  CHECK(Pace{.lag = 1ms}.sender_kept_up());
  CHECK_FALSE(Pace{.lag = 1001us}.sender_kept_up());
}

TEST_CASE("a server has kept up if it answered 99 % of what was sent, within a second or more") {
  Pace pace{.sent_per_second = 1000, .seconds = 1, .answered_per_second = 990};
  CHECK(pace.server_kept_up());
  pace.answered_per_second = 989;
  CHECK_FALSE(pace.server_kept_up());
  pace.seconds = 0.9;
  CHECK(pace.server_kept_up());
}

TEST_CASE("the pace of requests is that of their sending and of the answers") {
  const Instant due{};
  PaceRecorder times;
  times.set_first_due(due);
  CHECK_FALSE(times.pace());
  times.add_sent(due + 1s, due);
  CHECK(times.pace()->lag == 1s);
  CHECK(times.pace()->span == 0s);
  CHECK_FALSE(times.pace()->sender_kept_up());
  times.add_sent(due + 2s, due + 2s);
  times.add_sent(due + 3s, due + 4s);
  times.add_answer(due + 2s);
  times.add_answer(due + 5s);
  CHECK(times.pace()->lag == 1s);
  CHECK(times.pace()->span == 4s);
  CHECK(times.pace()->sent_per_second == 1);
  CHECK(times.pace()->seconds == 4);
  CHECK(times.pace()->answered_per_second == 0.25);
}

}  // namespace rlctl::simulation::outcome_test
