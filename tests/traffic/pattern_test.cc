#include "traffic/pattern.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/refusal.h"

namespace rlctl::traffic::pattern_test {

using namespace std::chrono_literals;
using limiter::Limit;

namespace {

constexpr microseconds kDay{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}
                                .time_since_epoch()};  // a multiple of all windows below
constexpr microseconds kLatest{4'000'000'000'000'000}, kLongest{100'000'000'000'000};
const Limit kMinute{1000, 60s, {}};

std::unique_ptr<Traffic> traffic_of(std::string_view pattern, const PatternRequest& request) {
  const auto* row = find_pattern(pattern);
  REQUIRE(row != nullptr);
  return make_traffic(*row, request);
}

/// All arrivals, or the first `most`.
std::vector<Arrival> arrivals(std::string_view pattern, const PatternRequest& request,
                              std::size_t most = 2'000'000) {
  const auto traffic = traffic_of(pattern, request);
  std::vector<Arrival> all;
  Arrival arrival;
  while (all.size() < most && traffic->next(arrival)) all.push_back(arrival);
  return all;
}

/// The number of arrivals in each of `count` bins of this width, from the beginning.
std::vector<std::int64_t> per_bin(const std::vector<Arrival>& all, microseconds width,
                                  std::size_t count) {
  std::vector<std::int64_t> bins(count);
  for (const auto& arrival : all) {
    ++bins.at(static_cast<std::size_t>((arrival.at - kDay) / width));
  }
  return bins;
}

std::vector<double> shares_of_keys(const std::vector<Arrival>& all, std::uint32_t keys) {
  std::vector<double> shares(keys);
  for (const auto& arrival : all) shares.at(arrival.key) += 1.0 / static_cast<double>(all.size());
  return shares;
}

/// A counted share must be within five standard deviations of the expected one: chance alone
/// exceeds that less than once in two million cases. (The seeds are fixed: it is always the same
/// case.)
void check_share(double counted, double expected, std::size_t of) {
  const auto deviation = std::sqrt(expected * (1 - expected) / static_cast<double>(of));
  CAPTURE(counted);
  CAPTURE(expected);
  CHECK(std::abs(counted - expected) <= 5 * deviation);
}

std::string refusal(std::string_view pattern, const PatternRequest& request) {
  return test::refusal_of([&] { return traffic_of(pattern, request); });
}

}  // namespace

TEST_CASE("boundary: the limit arrives evenly before the edge of a window, and again after it") {
  const auto all = arrivals("boundary", {.limit = kMinute});
  REQUIRE(all.size() == 2000);
  for (int i = 0; i < 1000; ++i) {
    const auto step = i * 10us;
    CHECK(all[static_cast<std::size_t>(i)] == Arrival{.at = kDay + 60s - 10ms + step});
    CHECK(all[static_cast<std::size_t>(1000 + i)] == Arrival{.at = kDay + 60s + step});
  }
}

TEST_CASE("boundary: a short window is filled from its middle, and fractions of a µs are cut") {
  const auto times = [](const Limit& limit) {
    std::vector<std::int64_t> us;
    for (const auto& arrival : arrivals("boundary", {.limit = limit})) {
      us.push_back((arrival.at - kDay).count());
    }
    return us;
  };
  CHECK(times({2, 1ms, {}}) == std::vector<std::int64_t>{500, 750, 1000, 1250});
  CHECK(times({3, 1ms, {}}) == std::vector<std::int64_t>{500, 666, 833, 1000, 1166, 1333});
}

TEST_CASE("boundary: the costs just fill the limit") {
  const auto count = [](std::int64_t limit, std::int64_t cost) {
    return arrivals("boundary", {.limit = {limit, 60s, {}}, .cost = cost}).size();
  };
  CHECK(count(1000, 10) == 200);
  CHECK(count(1000, 300) == 6);
  CHECK(count(1000, 1000) == 2);
  CHECK(count(1000, 1001) == 2);
  CHECK(arrivals("boundary", {.limit = kMinute, .cost = 10}).back().cost == 10);
}

TEST_CASE("boundary: the keys take turns and each gets its limit on each side of the edge") {
  const auto all = arrivals("boundary", {.limit = {10, 60s, {}}, .keys = 3});
  REQUIRE(all.size() == 60);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].key == i % 3);
  CHECK(all[29].at < kDay + 60s);
  CHECK(all[30].at == kDay + 60s);
}

TEST_CASE("boundary: a number of requests is halved, and the first half gets the odd one") {
  const auto all = arrivals("boundary", {.limit = kMinute, .requests = 5});
  REQUIRE(all.size() == 5);
  CHECK(all[0].at == kDay + 60s - 10ms);
  CHECK(all[2].at < kDay + 60s);
  CHECK(all[3].at == kDay + 60s);
  CHECK(arrivals("boundary", {.limit = kMinute, .requests = 1}).size() == 1);
}

TEST_CASE("steady: even arrivals at twice the limit for three windows") {
  const auto all = arrivals("steady", {.limit = kMinute});
  REQUIRE(all.size() == 6000);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].at == kDay + i * 30ms);
}

TEST_CASE("steady: arrivals at the given rate, a whole number of microseconds apart") {
  const auto all = arrivals("steady", {.limit = kMinute, .rate = 400, .duration = 10s});
  REQUIRE(all.size() == 4000);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].at == kDay + i * 2500us);
  CHECK(arrivals("steady", {.limit = kMinute, .rate = 0.5, .duration = 10s}).size() == 5);
}

TEST_CASE("the default rate is for all keys and counts costs: twice what is allowed to all keys") {
  CHECK(arrivals("steady", {.limit = kMinute, .keys = 3}).size() == 18'000);
  CHECK(arrivals("steady", {.limit = kMinute, .cost = 4}).size() == 1500);
  CHECK(arrivals("steady", {.limit = kMinute, .rate = 10, .keys = 3}).size() == 1800);
}

TEST_CASE("poisson: counts have the expected mean and variance") {
  // 20,000 bins with a mean of 10 each.
  const auto all = arrivals("poisson", {.limit = {10, 1s, {}}, .duration = 20'000s, .seed = 7});
  const auto bins = per_bin(all, 1s, 20'000);
  const auto bin_count = static_cast<double>(bins.size());
  double sum = 0, squares = 0;
  for (const auto count : bins) {
    sum += static_cast<double>(count);
    squares += (static_cast<double>(count) - 10) * (static_cast<double>(count) - 10);
  }
  // For a Poisson distribution the variance is the mean m, and that of the squares is 2 m^2 + m.
  CHECK(std::abs(sum / bin_count - 10) <= 5 * std::sqrt(10 / bin_count));
  CHECK(std::abs(squares / bin_count - 10) <= 5 * std::sqrt(210 / bin_count));
  // Bins are independent: the variance of the covariance is m^2.
  double together = 0;
  for (std::size_t i = 1; i < bins.size(); ++i) {
    together += static_cast<double>((bins[i] - 10) * (bins[i - 1] - 10));
  }
  CHECK(std::abs(together / bin_count) <= 5 * std::sqrt(100 / bin_count));
}

TEST_CASE("poisson: the same seed makes the same traffic, and another seed other traffic") {
  const auto of_seed = [](std::uint64_t seed) {
    return arrivals("poisson", {.limit = kMinute, .keys = 50, .seed = seed});
  };
  CHECK(of_seed(1) == of_seed(1));
  const auto one = of_seed(1), other = of_seed(2);
  CHECK(std::abs(static_cast<double>(one.size()) - 3000 * 50) <= 5 * std::sqrt(3000 * 50));
  // The two share only arrivals that coincide by chance: at the same µs, 125 expected.
  std::vector<Arrival> both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                        std::back_inserter(both),
                        [](const auto& a, const auto& b) { return a.at < b.at; });
  CHECK(both.size() < 125 + 5 * 12);
}

TEST_CASE("ramp: the number of arrivals grows with the square of the time") {
  const auto all = arrivals("ramp", {.limit = kMinute});
  REQUIRE(all.size() == 3000);
  const auto bins = per_bin(all, 18s, 10);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    // (i+1)^2 - i^2 hundredths of the total; halves are rounded.
    CHECK(std::abs(bins[i] - static_cast<std::int64_t>(30 * (2 * i + 1))) <= 1);
  }
  // A given rate is the final one.
  const auto given = arrivals("ramp", {.limit = kMinute, .rate = 100, .duration = 100s});
  CHECK(given.size() == 5000);
  CHECK(std::abs(per_bin(given, 1s, 100).back() - 100) <= 1);
}

TEST_CASE("spike: half the limit, plus twice the limit in a twentieth of a window in the middle") {
  const auto all = arrivals("spike", {.limit = kMinute});
  CHECK(all.size() == 1500 + 2000);
  const auto bins = per_bin(all, 3s, 60);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const bool near = i == 29 || i == 30;  // the spike begins at 88.5 s and ends at 91.5 s
    CHECK(bins[i] == (near ? 25 + 1000 : 25));
  }
  const auto in_spike = std::count_if(all.begin(), all.end(), [](const Arrival& arrival) {
    return arrival.at >= kDay + 88'500ms && arrival.at < kDay + 91'500ms;
  });
  CHECK(in_spike == 2000 + 25);
}

TEST_CASE("spike: the spike is in the middle, whatever the duration") {
  const auto all = arrivals("spike", {.limit = kMinute, .rate = 1, .duration = 600s});
  const auto bins = per_bin(all, 60s, 10);
  CHECK(bins == std::vector<std::int64_t>{60, 60, 60, 60, 1060, 1060, 60, 60, 60, 60});
}

TEST_CASE("on-off: half a window at four times the rate, then half a window of silence") {
  const auto all = arrivals("on-off", {.limit = kMinute});
  const auto bins = per_bin(all, 30s, 6);
  CHECK(bins == std::vector<std::int64_t>{2000, 0, 2000, 0, 2000, 0});
  CHECK(all[1].at - all[0].at == 15ms);
  CHECK(all[2000].at == kDay + 60s);
}

TEST_CASE("keys are equally frequent by default") {
  const auto all = arrivals("poisson", {.limit = kMinute, .requests = 200'000, .keys = 20});
  for (const auto share : shares_of_keys(all, 20)) check_share(share, 1.0 / 20, all.size());
}

TEST_CASE("a key's name is its number, from 1, and stays at the same address") {
  const auto traffic = traffic_of("steady", {.limit = kMinute, .keys = 100'000});
  const auto first = traffic->key_name(0);
  CHECK(traffic->key_name(99'999) == "100000");
  CHECK(first == "1");
  CHECK(traffic->key_name(0).data() == first.data());
}

TEST_CASE("every pattern: times never decrease, and the same request makes the same traffic") {
  for (const Pattern& pattern : patterns()) {
    CAPTURE(pattern.name);
    for (const Limit& limit :
         {kMinute, Limit{3, 1s, {}}, Limit{7, 7us, {}}, Limit{1, 1us, {}}, Limit{5, 1us, {}},
          Limit{1'000'000'000, 1us, {}}, Limit{1'000'000, 720h, {}}, Limit{1, kLongest, {}},
          Limit{1'000'000'000, kLongest, {}}}) {
      CAPTURE(limit.limit);
      CAPTURE(limit.window.count());
      for (const std::int64_t cost : {std::int64_t{1}, limit.limit}) {
        const PatternRequest request{.limit = limit, .keys = 5, .cost = cost, .start = kDay + 1us};
        const auto all = arrivals(pattern.name, request, 100'000);
        REQUIRE_FALSE(all.empty());
        CHECK(all == arrivals(pattern.name, request, 100'000));
        CHECK(all.front().at > kDay);
        CHECK(all.back().at <= kLatest);
        CHECK(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.at < b.at; }));
        CHECK(traffic_of(pattern.name, request)->size() > 0);
      }
    }
  }
}

TEST_CASE("every pattern begins at the next multiple of the window") {
  const auto first = [](microseconds start) {
    return arrivals("steady", {.limit = kMinute, .start = start}, 1).front().at;
  };
  CHECK(first(kDay) == kDay);
  CHECK(first(kDay + 1us) == kDay + 60s);
  CHECK(first(kDay + 60s) == kDay + 60s);
}

TEST_CASE("starting_at: a pattern around an edge uses the first edge that it can still reach") {
  const auto first = [](const Limit& limit, microseconds earliest) {
    const auto& boundary = *find_pattern("boundary");
    const auto traffic = make_traffic(boundary, starting_at(boundary, {.limit = limit}, earliest));
    Arrival arrival;
    REQUIRE(traffic->next(arrival));
    return arrival.at;
  };
  const auto before_edge = kDay + 60s - 10ms;
  CHECK(first(kMinute, kDay) == before_edge);
  CHECK(first(kMinute, kDay + 59s) == before_edge);
  CHECK(first(kMinute, before_edge) == before_edge);
  CHECK(first(kMinute, before_edge + 1us) == before_edge + 60s);
  CHECK(first(kMinute, kDay + 60s) == before_edge + 60s);
  // Windows so short that the traffic spans a whole one, including the first.
  CHECK(first({5, 4ms, {}}, kDay + 3ms) == kDay + 6ms);
  CHECK(first({5, 1us, {}}, kDay + 3us) == kDay + 3us);
  CHECK(first(kMinute, 0us) == 60s - 10ms);
}

TEST_CASE("starting_at: a pattern without an edge begins at once, with the same traffic") {
  const auto earliest = kDay + 12'345'678us;
  for (const Pattern& pattern : patterns()) {
    CAPTURE(pattern.name);
    const PatternRequest request{.limit = kMinute, .requests = 500, .keys = 3, .seed = 9};
    const auto all = arrivals(pattern.name, starting_at(pattern, request, earliest));
    const auto same = arrivals(pattern.name, request);
    REQUIRE(all.size() == same.size());
    CHECK(all.front().at >= earliest);
    if (pattern.first_in_window != nullptr) continue;
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i].at - earliest == same[i].at - kDay);
      CHECK(all[i].key == same[i].key);
    }
  }
}

TEST_CASE(
    "every pattern with a duration ends with it, and its estimate of the size is about right") {
  for (const Pattern& pattern : patterns()) {
    CAPTURE(pattern.name);
    PatternRequest request{.limit = kMinute};
    if (!pattern.rate.empty()) request.duration = 100s;
    const auto all = arrivals(pattern.name, request);
    REQUIRE_FALSE(all.empty());
    CHECK(all.back().at < kDay + 100s);
    const auto size = static_cast<double>(traffic_of(pattern.name, request)->size());
    CHECK(std::abs(size - static_cast<double>(all.size())) <=
          (pattern.name == "poisson" ? 5 * std::sqrt(size) : 0));
  }
}

TEST_CASE("every pattern ends after the given number of requests") {
  for (const Pattern& pattern : patterns()) {
    CAPTURE(pattern.name);
    for (const std::int64_t requests : {1, 2, 77, 1000}) {
      const PatternRequest request{.limit = kMinute, .requests = requests};
      CHECK(arrivals(pattern.name, request).size() == static_cast<std::size_t>(requests));
      CHECK(traffic_of(pattern.name, request)->size() == requests);
    }
  }
}

TEST_CASE("a pattern without a shape continues until all requests have been made") {
  for (const auto* pattern : {"steady", "poisson", "on-off"}) {
    CAPTURE(std::string(pattern));
    CHECK(arrivals(pattern, {.limit = {5, 1s, {}}, .requests = 10'000}).size() == 10'000);
  }
  CHECK(arrivals("ramp", {.limit = {5, 1s, {}}, .requests = 10'000}).size() == 15);
}

TEST_CASE("the table lists the default first, and each pattern is found by its name") {
  CHECK(patterns().front().name == "boundary");
  for (const Pattern& pattern : patterns()) CHECK(find_pattern(pattern.name) == &pattern);
  CHECK(find_pattern("Boundary") == nullptr);
}

TEST_CASE("an option without a meaning is refused with the reason") {
  CHECK(refusal("boundary", {.limit = kMinute, .rate = 10}) ==
        "boundary takes no rate, which follows from the limit; steady and poisson take one");
  CHECK(refusal("boundary", {.limit = kMinute, .duration = 10s}) ==
        "boundary takes no duration, which is part of the pattern; steady and poisson take one");
  const auto wrong = [](PatternRequest request) {
    request.limit = kMinute;
    return refusal("steady", request);
  };
  CHECK(wrong({.rate = 0}) == "rate must be more than 0, not 0");
  CHECK(wrong({.rate = -1.5}) == "rate must be more than 0, not -1.5");
  CHECK(wrong({.rate = NAN}) == "rate must be more than 0, not nan");
  CHECK(wrong({.rate = HUGE_VAL}) == "rate must be more than 0, not inf");
  CHECK(wrong({.duration = 0s}) == "duration must be more than 0, not 0");
  CHECK(wrong({.requests = 0}) == "requests must be more than 0, not 0");
  CHECK(wrong({.keys = 0}) == "keys must be more than 0, not 0");
  CHECK(wrong({.keys = 10'000'001}) == "keys must be at most 10000000, not 10000001");
  CHECK(wrong({.cost = 0}) == "cost must be more than 0, not 0");
  CHECK(wrong({.rate = 1, .duration = 1s}) == "accepted");
}

TEST_CASE("traffic beyond the contract's time range is refused") {
  const std::string beyond = "the traffic would last beyond the year 2096";
  const auto starts_so = [&](std::string_view pattern, const PatternRequest& request) {
    return refusal(pattern, request).starts_with(beyond);
  };
  for (const Pattern& pattern : patterns()) {
    CAPTURE(pattern.name);
    CHECK(starts_so(pattern.name, {.limit = kMinute, .start = kLatest - 119s}));
    CHECK_FALSE(starts_so(pattern.name, {.limit = kMinute, .start = kLatest - 400s}));
  }
  CHECK(starts_so("steady", {.limit = kMinute, .rate = 1e-6, .requests = 1'000'000}));
  CHECK(starts_so("poisson", {.limit = kMinute, .rate = 1e-300, .requests = 2}));
  CHECK_FALSE(starts_so("steady", {.limit = kMinute, .rate = 1e-300, .duration = 1s}));
  // With its silences, on-off takes twice as long: here 110 years from 2026, and then 55.
  constexpr double kEvery10Days = 1.0 / (10 * 24 * 3600);
  CHECK(starts_so("on-off", {.limit = kMinute, .rate = kEvery10Days, .requests = 2'000}));
  CHECK_FALSE(starts_so("on-off", {.limit = kMinute, .rate = kEvery10Days, .requests = 1'000}));
}

}  // namespace rlctl::traffic::pattern_test
