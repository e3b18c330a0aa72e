#include "support/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "limiter/limit.h"
#include "support/shrink.h"

namespace rlctl::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kLatestUs = limiter::kLatestNow.count();
constexpr std::int64_t kMonthUs = 2'592'000'000'000;
constexpr std::int64_t kHourUs = 3'600'000'000;
constexpr std::int64_t kMinWindowUs = limiter::kShortestWindow.count();
constexpr std::int64_t kMaxWindowUs = limiter::kLongestWindow.count();
/// A log's TTL, which tells whether a longer window shares a key, loses some real time: windows
/// that change are long compared to that, and a difference by chance does not last.
constexpr auto kLongForTtl = 100s;
constexpr auto kMostIds = static_cast<std::int64_t>(limiter::kMostReservations);
constexpr std::int64_t kMaxHoldUs = limiter::kLongestHold.count();
/// Virtual time passes for TTLs with an error of some ms; see KeyAging.
constexpr microseconds kShortestIfAging = 1s;
constexpr std::int64_t kMaxNumber = limiter::kLargestLimit;
constexpr std::int64_t kMaxProduct = limiter::kLargestProduct;

std::int64_t make_count(Random& random) {
  constexpr std::array<std::int64_t, 6> kHardToDivideBy{3, 6, 7, 60, 600, 900'000};
  const auto kind = random.uniform(1, 100);
  if (kind <= 65) return random.uniform(1, 10);
  if (kind <= 75) return random.one_of(kHardToDivideBy);
  if (kind <= 95) return random.log_uniform(1, 1000);
  return kind <= 98 ? random.log_uniform(1, kMaxNumber) : kMaxNumber;
}

std::int64_t make_window_us(Random& random) {
  constexpr std::array<std::int64_t, 4> kTypical{1'000'000, 60'000'000, 3'600'000'000, kMonthUs};
  const auto kind = random.uniform(1, 100);
  if (kind <= 15) return random.uniform(kMinWindowUs, kMinWindowUs + 20);
  if (kind <= 40) return random.one_of(kTypical);
  if (kind <= 95) return random.log_uniform(kMinWindowUs, kMonthUs);
  return kind <= 98 ? random.log_uniform(kMinWindowUs, kMaxWindowUs) : kMaxWindowUs;
}

/// The largest burst that the contract allows: limit x burst and burst x window / limit are
/// bounded.
std::int64_t largest_burst(const Limit& limit) {
  const auto by_span = static_cast<double>(kLatestUs) * static_cast<double>(limit.limit) /
                       static_cast<double>(limit.window.count());
  const auto most = std::min(
      {kMaxNumber, kMaxProduct / limit.limit, static_cast<std::int64_t>(std::min(by_span, 1e9))});
  return std::max<std::int64_t>(1, most);
}

void add_burst(Limit& limit, Random& random) {
  const auto most = largest_burst(limit);
  if (limit.limit <= most && random.percent(40)) return;
  const auto kind = random.uniform(1, 100);
  const auto wished = kind <= 80   ? random.log_uniform(1, 3 * limit.limit)
                      : kind <= 95 ? random.uniform(1, 10)
                                   : random.log_uniform(1, kMaxNumber);
  limit.burst = std::min(wished, most);
}

/// Periods of UTC, which needs no file of zones, that have different lengths.
Limit make_calendar_limit(Random& random) {
  constexpr std::array<std::string_view, 4> kWindows{"week", "month", "month+31", "year"};
  const auto text = random.one_of(kWindows);
  const auto* calendar = limiter::find_calendar_window(text, text);
  return {.limit = make_count(random), .window = calendar->longest(), .calendar = calendar};
}

bool is_log(const Algorithm& algorithm) {
  return algorithm.max_cost < kMaxNumber;
}

std::int64_t capacity(const Limit& limit) {
  return limit.burst_or_limit();
}

/// Makes one schedule and queries a model meanwhile, to aim at edges.
class Maker {
 public:
  Maker(const Algorithm& algorithm, Random& random, Freedom freedom)
      : algorithm_(algorithm), random_(random), freedom_(freedom), model_(algorithm) {
    const auto keys = random.percent(70) ? 1 : random.uniform(2, 3);
    for (std::int64_t i = 0; i < keys; ++i) {
      keys_.emplace_back(1, static_cast<char>('a' + i));
      limits_.push_back(make_limit(algorithm, random));
      auto& window = limits_.back().window;
      if (is_aging(freedom)) window = std::max(window, kShortestIfAging);
      const bool is_usual = freedom == Freedom::kCalendar || freedom == Freedom::kAlternating;
      if (is_usual && algorithm.has_periods && random.percent(10)) {
        limits_.back() = make_calendar_limit(random);
      }
    }
    changing_ = !is_aging(freedom) && random.percent(30);
    alternating_ = freedom == Freedom::kAlternating || (changing_ && random.percent(50));
    refunding_ = algorithm.has_refund && random.percent(50);
    if (algorithm.has_reservations && random.percent(70)) {
      most_ids_ = random.log_uniform(1, 100);
      longest_hold_us_ = make_window_us(random);
      if (random.percent(1)) fill_tables();
    }
    const auto kind = random.uniform(1, 100);
    now_us_ = kind <= 80   ? 1'700'000'000'000'000 + random.uniform(0, 100'000'000'000)
              : kind <= 85 ? 0
              : kind <= 90 ? kLatestUs - random.log_uniform(1, kMonthUs)
                           : random.log_uniform(1, kLatestUs);
    latest_us_ = now_us_;
  }

  PlannedSchedule make() {
    PlannedSchedule plan;
    auto steps = random_.log_uniform(2, 200);
    if (fills_) steps += kMostIds;
    for (; steps > 0; --steps) {
      if (alternating_) {
        alternate();
      } else if (changing_ && random_.percent(15)) {
        change_arguments();
      }
      advance();
      Request request = choose_keys();
      request.cost = make_cost(request.limits.front());
      request.now = microseconds{now_us_};
      if (is_filling() || (most_ids_ > 0 && random_.percent(70))) add_reservation(request);
      note_writes(request);
      last_ = model_.ask(request);
      plan.schedule.push_back(std::move(request));
      plan.decisions.push_back(last_);
    }
    add_keys(plan);
    return plan;
  }

 private:
  void add_keys(PlannedSchedule& plan) {
    const Request& request = plan.schedule.back();
    for (const auto& name : keys_) {
      auto& key = plan.keys.emplace_back(PlannedSchedule::Key{name, model_.exists(name)});
      const auto at = std::find(request.keys.begin(), request.keys.end(), name);
      if (!last_.allowed || !key.exists || at == request.keys.end()) continue;
      const auto index = at - request.keys.begin();
      if (!writes_[static_cast<std::size_t>(index)]) continue;
      const auto& limit = request.limits[static_cast<std::size_t>(index)];
      key.reset_after = model_.ask(name, limit, 0, *request.now).reset_after;
    }
  }

  /// Sets for each key of the request whether it would be written if the request were allowed.
  void note_writes(const Request& request) {
    using limiter::ReservationState;
    writes_.clear();
    for (const auto& key : request.keys) {
      const auto* budget = request.reservation ? model_.budget(key) : nullptr;
      const auto state = budget == nullptr
                             ? ReservationState::kUnknown
                             : budget->state_of(request.reservation->id, *request.now);
      writes_.push_back(!request.reservation           ? request.cost != 0
                        : request.reservation->settles ? state != ReservationState::kSettled
                                                       : state == ReservationState::kUnknown);
    }
  }

  /// The schedule begins with as many reservations as a key remembers, of a unit each, of which
  /// some, or none, are settled at once.
  void fill_tables() {
    fills_ = true;
    most_ids_ = 1;
    changing_ = alternating_ = false;
    settled_percent_ = random_.one_of(std::array{0, 0, 5, 30});
    for (auto& limit : limits_) limit.limit = random_.uniform(490, 1'000);
  }
  bool is_filling() const { return fills_ && most_ids_ <= kMostIds; }

  /// Makes the request reserve or settle.
  void add_reservation(Request& request) {
    auto& reservation = request.reservation.emplace();
    const bool fills = is_filling();
    reservation.settles = random_.percent(fills ? settled_percent_ : 40);
    const bool is_new = fills_ && !reservation.settles && (fills || random_.percent(80));
    reservation.id = "r" + std::to_string(is_new ? ++most_ids_ : random_.uniform(1, most_ids_));
    request.cost = std::abs(request.cost);
    if (fills) request.cost = 1;
    if (reservation.settles) {
      if (random_.percent(25)) request.cost = 0;
      return;
    }
    request.cost = std::max<std::int64_t>(1, fills_ && random_.percent(90) ? 1 : request.cost);
    const auto shortest =
        is_aging(freedom_) ? kShortestIfAging.count() : limiter::kShortestHold.count();
    const auto most = std::max(longest_hold_us_, shortest);
    const auto kind = random_.uniform(1, 100);
    auto hold = kind <= 40   ? most
                : kind <= 50 ? shortest + random_.uniform(0, 2)
                : kind <= 99 ? random_.log_uniform(shortest, most)
                             : kMaxHoldUs;
    if (fills_ && random_.percent(90)) hold = random_.percent(50) ? kHourUs : kMonthUs;
    reservation.hold = microseconds{hold};
  }

  /// When a hold ends or an ID is forgotten; the present if there are none.
  std::int64_t time_of_reservation() {
    const auto* budget = model_.budget(random_.one_of(keys_));
    if (budget == nullptr || !budget->stored()) return now_us_;
    const auto& all = budget->stored()->reservations;
    if (all.empty()) return now_us_;
    const auto& its = std::next(all.begin(), random_.uniform(0, std::ssize(all) - 1))->second;
    return (random_.percent(60) ? its.held_until : its.forgotten_at).count();
  }

  /// Takes one of the same few limits at each call; changes at first, which makes them.
  void alternate() {
    if (alternatives_.empty()) {
      for (auto left = random_.uniform(2, 3); left > 0; --left) {
        alternatives_.push_back(limits_);
        change_arguments();
      }
    }
    for (std::size_t i = 0; i < limits_.size(); ++i) limits_[i] = random_.one_of(alternatives_)[i];
  }

  void change_arguments() {
    auto& limit = limits_[static_cast<std::size_t>(random_.uniform(0, std::ssize(limits_) - 1))];
    const Limit other = make_limit(algorithm_, random_);
    const auto window = limit.window;
    const auto kind = random_.uniform(1, 4);
    if (kind == 1 || limit.calendar != nullptr) {
      limit = other;
    } else if (kind == 2) {
      limit.limit = std::max<std::int64_t>(1, limit.limit + random_.uniform(-3, 3));
    } else if (kind == 3) {
      limit.window = microseconds{random_.log_uniform(kMinWindowUs, 2 * limit.window.count())};
    } else {
      limit.burst = other.burst;
    }
    if (window != limit.window && is_log(algorithm_) &&
        std::min(window, limit.window) < kLongForTtl) {
      limit.window = window;
    }
    limit.limit = std::min(limit.limit, kMaxNumber);
    limit.window = std::min(limit.window, microseconds{kMaxWindowUs});
    if (algorithm_.has_burst && capacity(limit) > largest_burst(limit)) {
      limit.burst = largest_burst(limit);
    }
  }

  /// Usually only the first key, or all of them, in any order.
  Request choose_keys() {
    Request request;
    std::vector<std::size_t> order(keys_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (order.size() > 1 && random_.percent(20)) std::swap(order.front(), order.back());
    if (order.size() > 1 && random_.percent(30)) order.pop_back();
    for (const auto i : order) {
      request.keys.push_back(keys_[i]);
      request.limits.push_back(limits_[i]);
    }
    return request;
  }

  std::int64_t make_cost(const Limit& limit) {
    const auto most = capacity(limit);
    const auto kind = random_.uniform(1, 100);
    std::int64_t cost = 1;
    if (kind <= 8) cost = 0;
    if (kind > 60 && kind <= 75) cost = random_.uniform(1, std::min<std::int64_t>(most, 5) + 2);
    if (kind > 75 && kind <= 82) cost = random_.uniform(1, std::min<std::int64_t>(most, 300) + 2);
    if (kind > 82 && kind <= 87) cost = last_.remaining + random_.uniform(0, 1);
    if (kind > 87 && kind <= 90) cost = most + random_.uniform(-1, 2);
    if (kind > 90 && kind <= 92) cost = random_.log_uniform(1, kMaxNumber);
    if (refunding_ && kind > 92 && kind <= 98) cost = -random_.uniform(1, 3);
    if (refunding_ && kind > 98) cost = -random_.log_uniform(1, kMaxNumber);
    // A log of thousands of units is slow and reveals nothing that hundreds do not.
    const auto bound =
        is_log(algorithm_) && !random_.percent(1) ? std::int64_t{1000} : algorithm_.max_cost;
    return std::clamp<std::int64_t>(cost, algorithm_.has_refund ? -bound : 0, bound);
  }

  void advance() {
    const auto& limit = random_.one_of(limits_);
    const auto window = limit.window.count();
    const auto around = random_.uniform(-1, 1);
    const auto kind = random_.uniform(1, 100);
    std::int64_t step = 0;
    if (is_filling()) {  // so that some are forgotten at one time
      step = random_.percent(15) ? 1 : 0;
    } else if (fills_ && random_.percent(50)) {
      step = 0;
    } else if (most_ids_ > 0 && random_.percent(20)) {
      const auto time = time_of_reservation();
      if (time > now_us_ || random_.percent(5)) step = time - now_us_ + around;
    } else if (kind <= 30) {
      step = 0;
    } else if (kind <= 50) {
      step = random_.uniform(0, 2 * std::max<std::int64_t>(1, window / limit.limit));
    } else if (kind <= 60) {
      step = random_.uniform(0, window);
    } else if (kind <= 68) {
      step = std::max<std::int64_t>(0, last_.retry_after.count()) + around;
    } else if (kind <= 76) {
      step = last_.reset_after.count() + around;
    } else if (kind <= 80) {
      step = window + around;
    } else if (kind <= 86) {  // the edge of a window that starts at a multiple of its length
      step = window - now_us_ % window + around;
    } else if (kind <= 90) {
      step = random_.uniform(1, 5) * window + random_.uniform(0, window);
    } else if (kind <= 93) {
      step = random_.uniform(1, 3);
    } else if (kind <= 96) {
      step = -random_.log_uniform(1, window);
    } else if (kind <= 98) {
      step = -random_.uniform(1, 3) * window;
    } else {
      step = random_.percent(50) ? random_.log_uniform(1, kMonthUs)
                                 : -random_.log_uniform(1, kMonthUs);
    }
    const auto earliest = !is_aging(freedom_)              ? 0
                          : freedom_ == Freedom::kHourBack ? latest_us_ - kHourUs
                                                           : latest_us_;
    now_us_ =
        std::clamp<std::int64_t>(now_us_ + step, std::max<std::int64_t>(0, earliest), kLatestUs);
    latest_us_ = std::max(latest_us_, now_us_);
  }

  const Algorithm& algorithm_;
  Random& random_;
  Freedom freedom_;
  ModelLimiter model_;
  std::vector<std::string> keys_;
  std::vector<Limit> limits_;
  std::int64_t now_us_ = 0, latest_us_ = 0;
  Decision last_;
  std::vector<bool> writes_;  ///< of the last request's keys
  bool changing_ = false;
  bool alternating_ = false;
  std::vector<std::vector<Limit>> alternatives_;  ///< of the keys
  bool refunding_ = false;
  std::int64_t most_ids_ = 0;  ///< of reservations; 0: there are none
  std::int64_t longest_hold_us_ = 0;
  bool fills_ = false;  ///< the tables of reservations
  int settled_percent_ = 0;
};

std::string existence(const std::vector<std::string>& keys, const std::vector<bool>& there) {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!there[i]) text += " and no key " + keys[i];
  }
  return text;
}

/// Simpler variants of a request.
std::vector<Request> simpler(const Request& request) {
  std::vector<Request> variants;
  for (std::size_t i = 0; request.keys.size() > 1 && i < request.keys.size(); ++i) {
    variants.push_back(request);
    variants.back().keys.erase(variants.back().keys.begin() + static_cast<long>(i));
    variants.back().limits.erase(variants.back().limits.begin() + static_cast<long>(i));
  }
  if (request.cost != 1) {
    variants.push_back(request);
    variants.back().cost = 1;
  }
  for (std::size_t i = 0; i < request.limits.size(); ++i) {
    if (!request.limits[i].burst) continue;
    variants.push_back(request);
    variants.back().limits[i].burst.reset();
    if (request.limits[i].limit > largest_burst(request.limits[i])) variants.pop_back();
  }
  return variants;
}

}  // namespace

Limit make_limit(const Algorithm& algorithm, Random& random) {
  Limit limit;
  limit.limit = make_count(random);
  limit.window = microseconds{make_window_us(random)};
  if (algorithm.has_burst) add_burst(limit, random);
  return limit;
}

Schedule make_schedule(const Algorithm& algorithm, Random& random) {
  return plan_schedule(algorithm, random).schedule;
}

PlannedSchedule plan_schedule(const Algorithm& algorithm, Random& random, Freedom freedom) {
  return Maker(algorithm, random, freedom).make();
}

std::optional<Differ::Difference> Differ::run(const Schedule& schedule) {
  const std::string prefix = std::to_string(++runs_) + ":";
  auto& connection = server_.connection();
  for (const Request& step : schedule) {
    Request request = step;
    for (auto& key : request.keys) key.insert(0, prefix);
    checker_.append(request);
    for (const auto& key : request.keys) connection.append({"EXISTS", key});
  }
  ModelLimiter model(algorithm_);
  std::optional<Difference> difference;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const Request& step = schedule[i];
    auto expected = to_text(model.ask(step));
    const auto reply = connection.read();
    std::string actual;
    try {
      actual = to_text(limiter::Checker::parse(reply));
    } catch (const redis::Error& error) {
      actual = error.what();
    }
    std::vector<bool> in_model;
    std::vector<bool> in_redis;
    for (const auto& key : step.keys) {
      in_model.push_back(model.exists(key));
      in_redis.push_back(connection.read().integer() == 1);
    }
    if (difference || (expected == actual && in_model == in_redis)) continue;
    expected += existence(step.keys, in_model);
    actual += existence(step.keys, in_redis);
    difference = Difference{i, std::move(expected), std::move(actual)};
  }
  for (const char* key : {"a", "b", "c"}) connection.append({"UNLINK", prefix + key});
  for (int i = 0; i < 3; ++i) (void)connection.read();
  return difference;
}

bool Differ::differs(const Schedule& schedule) {
  for (int run = 0; run < (is_log(algorithm_) ? kRunsToBeSure : 1); ++run) {
    if (!this->run(schedule)) return false;
  }
  return true;
}

std::string Differ::explain(Schedule schedule) {
  const auto fails = [&](const Schedule& shorter) { return differs(shorter); };
  schedule = shrink(std::move(schedule), fails);
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < schedule.size() && !again; ++i) {
      for (const Request& variant : simpler(schedule[i])) {
        Schedule changed = schedule;
        changed[i] = variant;
        if (!fails(changed)) continue;
        schedule = shrink(std::move(changed), fails);
        again = true;
        break;
      }
    }
  }
  const auto difference = run(schedule);
  if (!difference) return "(gone when run again)";
  std::string text;
  for (std::size_t i = 0; i <= difference->step; ++i) {
    text += "\n    " + to_command(algorithm_, schedule[i]);
  }
  return text + "\n  model:  " + difference->expected + "\n  script: " + difference->actual;
}

void check_script_against_model(const Algorithm& algorithm) {
  TestServer server;
  Differ differ(server, algorithm);
  Random random;
  std::int64_t done = 0;
  while (done < operations(scaled(10'000, 300'000))) {
    const auto schedule = plan_schedule(algorithm, random, Freedom::kCalendar).schedule;
    done += std::ssize(schedule);
    if (differ.differs(schedule)) FAIL("script and model differ:", differ.explain(schedule));
  }
}

}  // namespace rlctl::test
