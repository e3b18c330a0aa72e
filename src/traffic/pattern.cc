#include "traffic/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "limiter/limit.h"
#include "traffic/random.h"

namespace rlctl::traffic {
namespace {

__extension__ typedef __int128 Wide;

constexpr microseconds kBoundary{10'000};  // before and after a window's end
constexpr double kMicro = 1e6;
constexpr double kForever = HUGE_VAL;

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}
double as_double(microseconds value) {
  return static_cast<double>(value.count());
}

std::int64_t as_count(double number) {
  return number < 9e18 ? static_cast<std::int64_t>(number) : INT64_MAX;
}

/// `count` requests in `per_us` µs: two numbers, so that requests a whole number of µs apart have
/// whole times.
struct Rate {
  double count = 1, per_us = 1;

  /// The time of request number `index`, from 0, if requests are evenly spaced.
  [[nodiscard]] double us_until(std::int64_t index) const {
    return as_double(index) * per_us / count;
  }
  [[nodiscard]] double count_in(double us) const { return us * count / per_us; }
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
  return request.starts_at_once ? request.start : window_from(request.start, request.limit.window);
}

/// Picks the key of each request.
class KeyPicker {
 public:
  KeyPicker(std::uint32_t keys, double skew, std::uint64_t seed) : random_(seed), keys_(keys) {
    if (keys == 1 || skew == 0) return;
    cumulative_.reserve(keys);
    double sum = 0;
    for (std::uint32_t key = 1; key <= keys; ++key) {
      cumulative_.push_back(sum += std::pow(static_cast<double>(key), -skew));
    }
  }

  std::uint32_t pick() {
    if (keys_ == 1) return 0;
    if (cumulative_.empty()) {
      return static_cast<std::uint32_t>(random_.uniform() * static_cast<double>(keys_));
    }
    const auto at = random_.uniform() * cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
    return static_cast<std::uint32_t>(
        std::min<std::ptrdiff_t>(found - cumulative_.begin(), keys_ - 1));
  }

 private:
  Random random_;
  std::uint32_t keys_;
  std::vector<double> cumulative_;  ///< the keys' shares; empty: all equal
};

/// The common part of the patterns: keys, costs, the end. Each pattern supplies the request times.
class PatternTraffic : public Traffic {
 public:
  /// Throws UsageError if the traffic would last beyond the latest time of the contract.
  PatternTraffic(const PatternRequest& request, double length_us)
      : request_(request),
        begin_(begin_of(request)),
        most_us_(as_double(limiter::kLatestNow - begin_)),
        picker_(request.keys, request.key_skew, ~request.seed) {
    if (length_us <= most_us_) return;
    throw UsageError(
        "the traffic would last beyond the year 2096, when the scripts' times end; use "
        "fewer requests, a higher rate, a shorter duration or a shorter window");
  }

  bool next(Arrival& arrival) final {
    if (request_.requests && made_ >= *request_.requests) return false;
    const double after = us_until(made_);
    if (after < 0 || after > most_us_) return false;
    arrival = {.at = begin_ + microseconds{static_cast<std::int64_t>(after)},
               .key = pick_key(made_),
               .cost = request_.cost};
    ++made_;
    return true;
  }

  /// A deque does not move its strings, so views of them stay valid.
  std::string_view key_name(std::uint32_t key) const final {
    while (names_.size() <= key) names_.push_back(std::to_string(names_.size() + 1));
    return names_[key];
  }

  std::int64_t size() const final {
    const auto expected = as_count(expected_size());
    return request_.requests ? std::min(*request_.requests, expected) : expected;
  }

 protected:
  static constexpr double kNoMore = -1;
  /// µs from the beginning until request number `index`, from 0; kNoMore at the end.
  virtual double us_until(std::int64_t index) = 0;
  /// The number of requests, regardless of PatternRequest::requests.
  [[nodiscard]] virtual double expected_size() const = 0;
  virtual std::uint32_t pick_key(std::int64_t) { return picker_.pick(); }

  [[nodiscard]] const PatternRequest& request() const { return request_; }
  KeyPicker& picker() { return picker_; }

 private:
  PatternRequest request_;
  microseconds begin_;
  double most_us_;
  KeyPicker picker_;
  std::int64_t made_ = 0;
  mutable std::deque<std::string> names_;
};

/// All that a limit allows just before the end of a window, and again just after it.
class Boundary final : public PatternTraffic {
 public:
  explicit Boundary(const PatternRequest& request)
      : PatternTraffic(request, 2 * as_double(request.limit.window)),
        edge_(request.limit.window),
        length_(length_of(request)) {
    const auto all = request.requests.value_or(2 * filling(request) * request.keys);
    before_ = all - all / 2;
    after_ = all / 2;
  }

  static microseconds first_in_window(const PatternRequest& request) {
    return request.limit.window - length_of(request);
  }

 private:
  static microseconds length_of(const PatternRequest& request) {
    return std::clamp(request.limit.window / 2, microseconds{1}, kBoundary);
  }
  double us_until(std::int64_t index) override {
    if (index < before_) return as_double(edge_ - length_ + share(index, before_));
    index -= before_;
    return index < after_ ? as_double(edge_ + share(index, after_)) : kNoMore;
  }
  double expected_size() const override { return as_double(before_ + after_); }
  /// Picks keys in turn, so that each fills its limit; at random with a skew.
  std::uint32_t pick_key(std::int64_t index) override {
    if (request().key_skew != 0) return picker().pick();
    const auto in_half = index < before_ ? index : index - before_;
    return static_cast<std::uint32_t>(in_half % request().keys);
  }
  /// The offset of request `index` of `of` within the length, rounded down.
  [[nodiscard]] microseconds share(std::int64_t index, std::int64_t of) const {
    return microseconds{static_cast<std::int64_t>(Wide{length_.count()} * index / of)};
  }

  microseconds edge_;    ///< between the windows
  microseconds length_;  ///< on each side of it
  std::int64_t before_ = 0, after_ = 0;
};

class Steady final : public PatternTraffic {
 public:
  explicit Steady(const PatternRequest& request)
      : PatternTraffic(request, length_us(rate_or(2, request), request)),
        rate_(rate_or(2, request)),
        duration_us_(duration_us(request)) {}

 private:
  double us_until(std::int64_t index) override {
    const auto us = rate_.us_until(index);
    return us < duration_us_ ? us : kNoMore;
  }
  double expected_size() const override { return std::ceil(rate_.count_in(duration_us_)); }

  Rate rate_;
  double duration_us_;
};

/// Half of what the limit allows, and in the middle twice the limit within a twentieth of a window.
class Spike final : public PatternTraffic {
 public:
  explicit Spike(const PatternRequest& request)
      : PatternTraffic(request, shape_us(request)),
        calm_(rate_or(0.5, request)),
        spike_{.count = 2.0 * as_double(filling(request)) * request.keys,
               .per_us = as_double(request.limit.window) / 20},
        duration_us_(shape_us(request)),
        spike_begins_us_(std::max(0.0, (duration_us_ - spike_.per_us) / 2)) {}

 private:
  /// Both run side by side: returns whichever is next.
  double us_until(std::int64_t) override {
    const auto calm = calm_.us_until(calm_made_);
    const auto spike = spike_begins_us_ + spike_.us_until(spike_made_);
    const bool calm_left = calm < duration_us_;
    const bool spike_left = as_double(spike_made_) < spike_.count && spike < duration_us_;
    if (!calm_left && !spike_left) return kNoMore;
    if (spike_left && (!calm_left || spike < calm)) {
      ++spike_made_;
      return spike;
    }
    ++calm_made_;
    return calm;
  }
  double expected_size() const override {
    return std::ceil(calm_.count_in(duration_us_)) +
           std::min(spike_.count, std::ceil(spike_.count_in(duration_us_)));
  }

  Rate calm_, spike_;
  double duration_us_, spike_begins_us_;
  std::int64_t calm_made_ = 0, spike_made_ = 0;
};

/// From nothing to the rate: the number of requests grows with the square of the time.
class Ramp final : public PatternTraffic {
 public:
  explicit Ramp(const PatternRequest& request)
      : PatternTraffic(request, shape_us(request)),
        duration_us_(shape_us(request)),
        total_(std::round(rate_or(2, request).count_in(duration_us_) / 2)) {}

 private:
  /// Each request is in the middle of its share, so that all are before the end.
  double us_until(std::int64_t index) override {
    if (as_double(index) >= total_) return kNoMore;
    return duration_us_ * std::sqrt((as_double(index) + 0.5) / total_);
  }
  double expected_size() const override { return total_; }

  double duration_us_;
  double total_;
};

/// Requests that are independent of each other, like those of many users.
class Poisson final : public PatternTraffic {
 public:
  explicit Poisson(const PatternRequest& request)
      : PatternTraffic(request, length_us(rate_or(1, request), request)),
        random_(request.seed),
        rate_(rate_or(1, request)),
        mean_us_(rate_.per_us / rate_.count),
        duration_us_(duration_us(request)) {}

 private:
  double us_until(std::int64_t) override {
    last_us_ += random_.exponential() * mean_us_;
    return last_us_ < duration_us_ ? last_us_ : kNoMore;
  }
  double expected_size() const override { return std::round(rate_.count_in(duration_us_)); }

  Random random_;
  Rate rate_;
  double mean_us_, duration_us_;
  double last_us_ = 0;
};

/// Half a window of requests, half a window of silence.
class OnOff final : public PatternTraffic {
 public:
  explicit OnOff(const PatternRequest& request)
      : PatternTraffic(request, length_us(request)),
        rate_(rate_or(4, request)),
        half_us_(half_us(request)),
        duration_us_(duration_us(request)) {}

 private:
  static double half_us(const PatternRequest& request) {
    return as_double(request.limit.window) / 2;
  }
  static double length_us(const PatternRequest& request) {
    if (!request.requests) return duration_us(request);
    const auto busy = rate_or(4, request).us_until(*request.requests);
    return std::min(duration_us(request), with_silences(busy, half_us(request)));
  }
  static double with_silences(double busy_us, double silence_us) {
    return busy_us + std::floor(busy_us / silence_us) * silence_us;
  }

  double us_until(std::int64_t index) override {
    const auto us = with_silences(rate_.us_until(index), half_us_);
    return us < duration_us_ ? us : kNoMore;
  }
  double expected_size() const override {
    if (duration_us_ == kForever) return kForever;
    const auto windows = std::floor(duration_us_ / (2 * half_us_));
    const auto rest = std::min(duration_us_ - windows * 2 * half_us_, half_us_);
    return std::ceil(rate_.count_in(windows * half_us_ + rest));
  }

  Rate rate_;
  double half_us_, duration_us_;
};

template <typename Kind>
std::unique_ptr<Traffic> make(const PatternRequest& request) {
  return std::make_unique<Kind>(request);
}

constexpr std::array kPatterns{
    Pattern{.name = "boundary",
            .summary = "the limit in the last 10 ms of a window, and again in the next 10 ms",
            .rate = "",
            .make = make<Boundary>,
            .first_in_window = Boundary::first_in_window},
    Pattern{.name = "steady",
            .summary = "a constant rate, twice what the limit allows",
            .rate = "of all requests",
            .make = make<Steady>},
    Pattern{.name = "spike",
            .summary = "half the limit, and suddenly twice the limit",
            .rate = "outside the spike",
            .make = make<Spike>},
    Pattern{.name = "ramp",
            .summary = "a rising rate, up to twice what the limit allows",
            .rate = "at the end",
            .make = make<Ramp>},
    Pattern{.name = "poisson",
            .summary = "at random, as many as the limit allows",
            .rate = "on average",
            .make = make<Poisson>},
    Pattern{.name = "on-off",
            .summary = "half a window on, half a window off",
            .rate = "while it is on",
            .make = make<OnOff>},
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
  if (!(request.key_skew >= 0 && request.key_skew < HUGE_VAL)) {
    throw UsageError(fmt::format("key skew must be 0 or more, not {}", request.key_skew));
  }
}

}  // namespace

std::span<const Pattern> patterns() {
  return kPatterns;
}

const Pattern* find_pattern(std::string_view name) {
  const auto* found = std::find_if(kPatterns.begin(), kPatterns.end(),
                                   [&](const Pattern& pattern) { return pattern.name == name; });
  return found == kPatterns.end() ? nullptr : found;
}

microseconds window_from(microseconds time, microseconds window) {
  const auto past = time % window;
  return past.count() == 0 ? time : time + (window - past);
}

PatternRequest starting_at(const Pattern& pattern, const PatternRequest& request,
                           microseconds earliest) {
  PatternRequest result = request;
  result.starts_at_once = pattern.first_in_window == nullptr;
  result.start = earliest;
  if (!result.starts_at_once) {
    const auto within = earliest - pattern.first_in_window(request);
    result.start = std::max(microseconds{0}, within);  // begin_of() rounds it up to a window
  }
  return result;
}

std::unique_ptr<Traffic> make_traffic(const Pattern& pattern, const PatternRequest& request) {
  require_meaning(pattern, request);
  return pattern.make(request);
}

}  // namespace rlctl::traffic
