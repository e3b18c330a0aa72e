#include "traffic/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/table.h"

namespace rlctl::traffic {
namespace {

constexpr microseconds kBoundary{10'000};  // before and after a window's end
constexpr double kMicro = 1e6;
constexpr double kForever = HUGE_VAL;

std::int64_t as_count(double number) {
  return number < 9e18 ? static_cast<std::int64_t>(number) : INT64_MAX;
}

/// `count` requests in `per_us` µs: two numbers, so that requests a whole number of µs apart have
/// whole times.
struct Rate {
  double count = 1, per_us = 1;

  /// The time of request number `index`, from 0, if requests are evenly spaced.
  double us_until(std::int64_t index) const { return as_double(index) * per_us / count; }
  double count_in(double us) const { return us * count / per_us; }
};

/// How many requests of one key fill its limit.
std::int64_t filling(const PatternRequest& request) {
  return std::max<std::int64_t>(1, request.limit.limit / request.cost);
}

/// The rate of all requests: as requested, or a multiple of what the limit allows all keys.
Rate rate_or(double multiple_of_limit, const PatternRequest& request) {
  if (request.rate) return {.count = *request.rate, .per_us = kMicro};
  return {.count = multiple_of_limit * as_double(request.limit.limit) * request.keys,
          .per_us = as_double(request.limit.window) * as_double(request.cost)};
}

/// How many µs a pattern lasts: as requested, or kPatternWindows windows.
double shape_us(const PatternRequest& request) {
  return as_double(request.duration.value_or(kPatternWindows * request.limit.window));
}
/// The same for a pattern that can last until all requests have been made.
double duration_us(const PatternRequest& request) {
  return request.requests && !request.duration ? kForever : shape_us(request);
}

/// The length of a pattern with this rate, in µs; on average if it is random.
double length_us(const Rate& rate, const PatternRequest& request) {
  const auto requests_us = request.requests ? rate.us_until(*request.requests) : kForever;
  return std::min(duration_us(request), requests_us);
}

microseconds begin_of(const PatternRequest& request) {
  return request.starts_at_once ? request.start : window_from(request.start, request.limit);
}

constexpr double kNoMore = -1;

/// The requests of a pattern. Times are in µs from its beginning.
struct Shape {
  double length_us = 0;  ///< on average if it is random
  double size = 0;       ///< the number of requests, regardless of PatternRequest::requests
  /// The time of each request, whose `index` counts from 0; kNoMore at the end.
  std::function<double(std::int64_t index)> us_until = {};
  /// Takes the keys in turn, and begins again after this many requests. 0: takes them at random.
  std::int64_t keys_in_turn = 0;
};

/// The requests of a shape, with keys and costs.
class PatternTraffic final : public Traffic {
 public:
  /// Throws UsageError if the traffic would last beyond the latest time of the contract.
  PatternTraffic(const PatternRequest& request, Shape shape)
      : request_(request),
        shape_(std::move(shape)),
        begin_(begin_of(request)),
        most_us_(as_double(limiter::kLatestNow - begin_)),
        random_key_(~request.seed) {
    if (shape_.length_us <= most_us_) return;
    throw UsageError(
        "the traffic would last beyond the year 2096, when the scripts' times end; use "
        "fewer requests, a higher rate, a shorter duration or a shorter window");
  }

  bool next(Arrival& arrival) override {
    if (request_.requests && made_ >= *request_.requests) return false;
    const double after = shape_.us_until(made_);
    if (after < 0 || after > most_us_) return false;
    arrival = {.at = begin_ + microseconds{static_cast<std::int64_t>(after)},
               .key = pick_key(),
               .cost = request_.cost};
    ++made_;
    return true;
  }

  /// A deque does not move its strings, so views of them stay valid.
  std::string_view key_name(std::uint32_t key) const override {
    while (names_.size() <= key) names_.push_back(std::to_string(names_.size() + 1));
    return names_[key];
  }

  std::int64_t size() const override {
    const auto expected = as_count(shape_.size);
    return request_.requests ? std::min(*request_.requests, expected) : expected;
  }

 private:
  std::uint32_t pick_key() {
    if (shape_.keys_in_turn > 0) {
      return static_cast<std::uint32_t>(made_ % shape_.keys_in_turn % request_.keys);
    }
    if (request_.keys == 1) return 0;
    return static_cast<std::uint32_t>(random_key_.uniform() * static_cast<double>(request_.keys));
  }

  PatternRequest request_;
  Shape shape_;
  microseconds begin_;
  double most_us_;
  Random random_key_;
  std::int64_t made_ = 0;
  mutable std::deque<std::string> names_;
};

/// How long the first window is.
microseconds first_window(const PatternRequest& request) {
  return period_of(request.limit, begin_of(request)).length();
}

/// The time on each side of the edge.
microseconds boundary_length(const PatternRequest& request) {
  return std::clamp(first_window(request) / 2, microseconds{1}, kBoundary);
}

microseconds first_of_boundary(const PatternRequest& request) {
  return first_window(request) - boundary_length(request);
}

/// All that a limit allows just before the end of a window, and again just after it. Each key fills
/// its limit.
Shape boundary(const PatternRequest& request) {
  const auto edge = first_window(request), length = boundary_length(request);
  const auto all = request.requests.value_or(2 * filling(request) * request.keys);
  const auto before = all - all / 2, after = all / 2;
  // The offset of request `index` of `of` within the length, rounded down.
  const auto share = [length](std::int64_t index, std::int64_t of) {
    return microseconds{static_cast<std::int64_t>(Wide{length.count()} * index / of)};
  };
  return {.length_us = 2 * as_double(edge),
          .size = as_double(all),
          .us_until =
              [=](std::int64_t index) {
                if (index < before) return as_double(edge - length + share(index, before));
                index -= before;
                return index < after ? as_double(edge + share(index, after)) : kNoMore;
              },
          .keys_in_turn = before};
}

Shape steady(const PatternRequest& request) {
  const auto rate = rate_or(2, request);
  const auto duration = duration_us(request);
  return {.length_us = length_us(rate, request),
          .size = std::ceil(rate.count_in(duration)),
          .us_until = [=](std::int64_t index) {
            const auto us = rate.us_until(index);
            return us < duration ? us : kNoMore;
          }};
}

/// Half of what the limit allows, and in the middle twice the limit within a twentieth of a window.
/// Both run side by side.
Shape spike(const PatternRequest& request) {
  const auto calm = rate_or(0.5, request);
  const Rate peak{.count = 2.0 * as_double(filling(request)) * request.keys,
                  .per_us = as_double(request.limit.window) / 20};
  const auto duration = shape_us(request);
  const auto peak_begins = std::max(0.0, (duration - peak.per_us) / 2);
  const auto next = [=, calm_made = std::int64_t{0},
                     peak_made = std::int64_t{0}](std::int64_t) mutable {
    const auto calm_us = calm.us_until(calm_made);
    const auto peak_us = peak_begins + peak.us_until(peak_made);
    const bool calm_left = calm_us < duration;
    const bool peak_left = as_double(peak_made) < peak.count && peak_us < duration;
    if (!calm_left && !peak_left) return kNoMore;
    if (peak_left && (!calm_left || peak_us < calm_us)) {
      ++peak_made;
      return peak_us;
    }
    ++calm_made;
    return calm_us;
  };
  return {.length_us = duration,
          .size = std::ceil(calm.count_in(duration)) +
                  std::min(peak.count, std::ceil(peak.count_in(duration))),
          .us_until = next};
}

/// From nothing to the rate: the number of requests grows with the square of the time. Each request
/// is in the middle of its share, so that all are before the end.
Shape ramp(const PatternRequest& request) {
  const auto duration = shape_us(request);
  const auto total = std::round(rate_or(2, request).count_in(duration) / 2);
  return {.length_us = duration, .size = total, .us_until = [=](std::int64_t index) {
            if (as_double(index) >= total) return kNoMore;
            return duration * std::sqrt((as_double(index) + 0.5) / total);
          }};
}

/// Requests that are independent of each other, like those of many users.
Shape poisson(const PatternRequest& request) {
  const auto rate = rate_or(1, request);
  const auto mean = rate.per_us / rate.count, duration = duration_us(request);
  const auto next = [=, random = Random(request.seed), last = 0.0](std::int64_t) mutable {
    last += random.exponential() * mean;
    return last < duration ? last : kNoMore;
  };
  return {.length_us = length_us(rate, request),
          .size = std::round(rate.count_in(duration)),
          .us_until = next};
}

/// Half a window of requests, half a window of silence.
Shape on_off(const PatternRequest& request) {
  const auto rate = rate_or(4, request);
  const auto half = as_double(request.limit.window) / 2, duration = duration_us(request);
  const auto with_silences = [=](double busy) { return busy + std::floor(busy / half) * half; };
  const auto busy_until_end = std::floor(duration / (2 * half)) * half;
  const auto rest = std::min(duration - 2 * busy_until_end, half);
  return {.length_us = request.requests
                           ? std::min(duration, with_silences(rate.us_until(*request.requests)))
                           : duration,
          .size = duration == kForever ? kForever : std::ceil(rate.count_in(busy_until_end + rest)),
          .us_until = [=](std::int64_t index) {
            const auto us = with_silences(rate.us_until(index));
            return us < duration ? us : kNoMore;
          }};
}

template <Shape (*shape)(const PatternRequest&)>
std::unique_ptr<Traffic> make(const PatternRequest& request) {
  return std::make_unique<PatternTraffic>(request, shape(request));
}

constexpr std::array kPatterns{
    Pattern{.name = "boundary",
            .summary = "the limit in the last 10 ms of a window, and again in the next 10 ms",
            .rate = "",
            .make = make<boundary>,
            .first_in_window = first_of_boundary},
    Pattern{.name = "steady",
            .summary = "a constant rate, twice what the limit allows",
            .rate = "of all requests",
            .make = make<steady>},
    Pattern{.name = "spike",
            .summary = "half the limit, and suddenly twice the limit",
            .rate = "outside the spike",
            .make = make<spike>},
    Pattern{.name = "ramp",
            .summary = "a rising rate, up to twice what the limit allows",
            .rate = "at the end",
            .make = make<ramp>},
    Pattern{.name = "poisson",
            .summary = "at random, as many as the limit allows",
            .rate = "on average",
            .make = make<poisson>},
    Pattern{.name = "on-off",
            .summary = "half a window on, half a window off",
            .rate = "while it is on",
            .make = make<on_off>},
};

void require_positive(std::string_view what, double value) {
  if (value > 0 && value < HUGE_VAL) return;
  throw UsageError(fmt::format("{} must be more than 0, not {}", what, value));
}

void require_meaning(const Pattern& pattern, const PatternRequest& request) {
  const auto refuse = [&pattern](std::string_view what) {
    throw UsageError(
        fmt::format("{} takes no {}; steady and poisson take one", pattern.name, what));
  };
  const bool is_fixed = pattern.rate.empty();
  if (request.rate && is_fixed) refuse("rate, which follows from the limit");
  if (request.duration && is_fixed) refuse("duration, which is part of the pattern");
  if (request.rate) require_positive("rate", *request.rate);
  if (request.duration) require_positive("duration", as_double(*request.duration));
  if (request.requests) require_positive("requests", as_double(*request.requests));
  require_positive("cost", as_double(request.cost));
  require_positive("keys", request.keys);
  if (request.keys > kMaxPatternKeys) {
    throw UsageError(fmt::format("keys must be at most {}, not {}", kMaxPatternKeys, request.keys));
  }
}

}  // namespace

double natural_log(double x) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  // x = m * 2^exponent, m from 1/sqrt(2) to sqrt(2).
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  auto m = std::bit_cast<double>((bits & kFraction) | kOne);
  if (m > 0x1.6a09e667f3bcdp+0) {
    m /= 2;
    exponent += 1;
  }
  // ln(m) = 2 (s + s^3/3 + s^5/5 ...), s = (m - 1) / (m + 1), at most 0.172.
  const double s = (m - 1) / (m + 1);
  // Two parallel sums, of every other power: each step of a sum waits for the one before.
  const double s2 = s * s;
  const double s4 = s2 * s2;
  double sum = 0, sum_s2 = 0;
  for (int power = 21; power > 0; power -= 4) {
    sum = sum * s4 + 1.0 / power;
    sum_s2 = sum_s2 * s4 + 1.0 / (power + 2);
  }
  return exponent * kLn2 + 2 * s * (sum + s2 * sum_s2);
}

double Random::exponential() {
  return -natural_log(1 - uniform());
}

std::span<const Pattern> patterns() {
  return kPatterns;
}

const Pattern* find_pattern(std::string_view name) {
  return find_by_name(kPatterns, name);
}

microseconds window_from(microseconds time, const limiter::Limit& limit) {
  const auto period = period_of(limit, time);
  return period.start == time ? time : period.end;
}

PatternRequest starting_at(const Pattern& pattern, const PatternRequest& request,
                           microseconds earliest) {
  PatternRequest result = request;
  result.starts_at_once = pattern.first_in_window == nullptr;
  result.start = earliest;
  if (!result.starts_at_once) {
    const auto period = period_of(request.limit, earliest);
    result.start = period.start;
    if (period.start + pattern.first_in_window(result) < earliest) result.start = period.end;
  }
  return result;
}

std::unique_ptr<Traffic> make_traffic(const Pattern& pattern, const PatternRequest& request) {
  require_meaning(pattern, request);
  return pattern.make(request);
}

}  // namespace rlctl::traffic
