// needs: server
// What a call writes besides what it counts: the TTL, to the millisecond, and the limit.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stored/forms.h"
#include "stored/libraries.h"
#include "support/contract.h"
#include "support/limiters.h"
#include "support/observed.h"

namespace limiter_writes_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test;

namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kHourUs = 3'600 * kSecondUs;
constexpr std::int64_t kMinuteUs = 60 * kSecondUs;
constexpr std::int64_t kMinute = 28'333'333 * kMinuteUs;  // 2023-11-14T22:13Z
/// Another key, so that the script also keeps what it found for `k`.
const std::vector<Strings> kKeys{{"k"}, {"k", "other"}};

/// So many requests of cost 1, all at `now`, of `limit` in `window`.
struct Requests {
  std::int64_t limit, window, now, count;
};

std::int64_t end_of_second(std::int64_t us) {
  return us - us % kSecondUs + kSecondUs;
}

/// How long a script keeps the state of such requests.
struct Life {
  std::int64_t (*us)(const Requests&);
  enum class Longer {
    kByCallersClock,   ///< a quarter longer if the caller gave the time, or if it is set again
    kAQuarter,         ///< a quarter longer
    kAQuarterStored,   ///< the same, and the state has until when
    kAQuarterOfWindow  ///< a quarter of the window longer
  } longer = Longer::kAQuarter;
};

std::int64_t end_of_window(const Requests& r) {
  return r.window - r.now % r.window;
}
std::int64_t interval(const Requests& r) {
  return r.window / r.limit;
}

const std::map<std::string_view, Life>& lives() {
  using Longer = Life::Longer;
  static const Life kLog{[](const Requests& r) { return r.window; }, Longer::kAQuarterOfWindow};
  static const std::map<std::string_view, Life> kLives{
      {"fixed-window", {end_of_window, Longer::kByCallersClock}},
      {"sliding-window-counter",
       {[](const Requests& r) { return end_of_window(r) + r.window; }, Longer::kByCallersClock}},
      {"sliding-window-log", kLog},
      {"sliding-window-zset", kLog},
      {"token-bucket", {[](const Requests& r) {
         return end_of_second(r.now + r.count * interval(r)) + 1'000 - r.now;
       }}},
      {"gcra",
       {[](const Requests& r) { return end_of_second(r.now + r.count * interval(r)) - r.now; }}},
      {"budget", {end_of_window, Longer::kAQuarterStored}},
      {"leaky-bucket", {[](const Requests& r) {
         return end_of_second(r.now + (r.count - 1) * interval(r)) + interval(r) + 1 - r.now;
       }}},
  };
  return kLives;
}

/// In ms, as the scripts compute it.
double needed_ms(const Algorithm& algorithm, const Requests& requests, bool by_caller) {
  const auto us = lives().at(algorithm.name).us(requests) + (by_caller ? kHourUs : 0);
  return static_cast<double>(us + 999) / 1000;
}

std::string ttl_set(const Algorithm& algorithm, const Requests& requests, bool by_caller) {
  using Longer = Life::Longer;
  auto ms = needed_ms(algorithm, requests, by_caller);
  const auto longer = lives().at(algorithm.name).longer;
  if (longer == Longer::kAQuarterOfWindow) {
    ms += static_cast<double>(requests.window) / 4000;
  } else if (by_caller || longer != Longer::kByCallersClock || requests.count > 1) {
    ms *= 1.25;
  }
  return std::to_string(static_cast<std::int64_t>(ms));
}

bool stores_ttl(const Algorithm& algorithm) {
  return lives().at(algorithm.name).longer == Life::Longer::kAQuarterStored;
}
/// By the server's clock, the TTL that a window got when it began lasts until its end.
bool sets_ttl_once(const Algorithm& algorithm) {
  return lives().at(algorithm.name).longer == Life::Longer::kByCallersClock ||
         stores_ttl(algorithm);
}
bool is_log(const Algorithm& algorithm) {
  return lives().at(algorithm.name).longer == Life::Longer::kAQuarterOfWindow;
}

/// One request about each of the keys, all with the same limit.
void ask(ObservedScript& script, const Strings& keys, const Requests& requests, bool by_caller,
         const std::string& cost = "1") {
  Strings arguments;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    arguments.insert(arguments.end(),
                     {std::to_string(requests.limit), std::to_string(requests.window), ""});
  }
  arguments.push_back(cost);
  if (by_caller) arguments.push_back(std::to_string(requests.now));
  script.servers_clock = microseconds{requests.now};
  const auto reply = script.eval(keys, arguments);
  REQUIRE_MESSAGE(!reply.is_error(), std::string(reply.text()));
  REQUIRE(Checker::parse(reply).allowed);
}

/// Checks that each of the keys got this TTL; none if it is empty.
void check_set(ObservedScript& script, const Strings& keys, const std::string& ms) {
  Strings expected;
  for (auto key = keys.rbegin(); !ms.empty() && key != keys.rend(); ++key) {
    expected.push_back(*key + " " + ms);
  }
  CHECK(script.ttls_set() == expected);
}

/// Calls check(algorithm, script, keys, by_caller) with one and with two keys and with both clocks.
template <typename Check>
void with_each(Check check) {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    for (const auto& keys : kKeys) {
      CAPTURE(keys.size());
      for (const bool by_caller : {false, true}) {
        CAPTURE(by_caller);
        (void)server.call({"FLUSHALL"});
        ObservedScript script(server, algorithm);
        check(server, algorithm, script, keys, by_caller);
      }
    }
  }
}

}  // namespace

TEST_CASE("a TTL is as long as the contract says, to the millisecond") {
  with_each([](TestServer& server, const Algorithm& algorithm, ObservedScript& script,
               const Strings& keys, bool by_caller) {
    // At these times, and with these windows, a microsecond more or less makes another millisecond.
    std::vector<Requests> all{{1, 1'000, kMinute, 1}};
    for (const std::int64_t offset : {195, 995, 1'195, 1'995}) {
      for (std::int64_t us = offset; us < offset + 9; ++us) {
        all.push_back({5, kMinuteUs, kMinute + 10 * kSecondUs + us, 1});
        if (is_log(algorithm)) all.back().window += us - offset;
      }
    }
    for (const auto& requests : all) {
      CAPTURE(requests.now);
      CAPTURE(requests.window);
      ask(script, keys, requests, by_caller);
      check_set(script, keys, ttl_set(algorithm, requests, by_caller));
      (void)server.call({"FLUSHALL"});
    }
  });
}

TEST_CASE("a TTL is set again if it is a millisecond too short, and not if it is long enough") {
  with_each([](TestServer&, const Algorithm& algorithm, ObservedScript& script, const Strings& keys,
               bool by_caller) {
    // What is needed is a whole number of milliseconds.
    const std::int64_t offset = algorithm.name == "leaky-bucket" ? 1'000 : 999;
    Requests requests{5, kMinuteUs, kMinute + 10 * kSecondUs + offset, 0};
    if (is_log(algorithm)) requests.window += 1;
    for (const std::int64_t short_of : {0, 0, 1}) {
      ++requests.count;
      CAPTURE(requests.count);
      const auto needed = needed_ms(algorithm, requests, by_caller);
      REQUIRE(needed == std::floor(needed));
      script.left_ms = static_cast<std::int64_t>(needed) - short_of;
      ask(script, keys, requests, by_caller);
      const bool sets =
          requests.count == 1 || (short_of > 0 && (by_caller || !sets_ttl_once(algorithm)));
      check_set(script, keys, sets ? ttl_set(algorithm, requests, by_caller) : "");
    }
  });
}

TEST_CASE("by the server's clock alone, a TTL is not checked again within a second or a window") {
  with_each([](TestServer& server, const Algorithm& algorithm, ObservedScript& script,
               const Strings& keys, bool first_by_caller) {
    for (const bool by_caller : {false, true}) {
      CAPTURE(by_caller);
      (void)server.call({"FLUSHALL"});
      // What is stored is of another second than the call: of the next one, but in a queue.
      const std::int64_t offset = algorithm.name == "leaky-bucket" ? 123'457 : 999'500;
      Requests requests{60'000, kMinuteUs, kMinute + 10 * kSecondUs + offset, 1};
      ask(script, keys, requests, first_by_caller);
      (void)script.ttls_set();
      script.left_ms = 1;
      requests.count = 2;
      ask(script, keys, requests, by_caller);
      const bool sets = is_log(algorithm) || first_by_caller || by_caller;
      check_set(script, keys, sets ? ttl_set(algorithm, requests, by_caller) : "");
      // That a caller has given the time is remembered, if need be until the TTL is known again.
      requests.count = 3;
      ask(script, keys, requests, false);
      const bool remembered = stores_ttl(algorithm)
                                  ? by_caller
                                  : first_by_caller || (by_caller && !sets_ttl_once(algorithm));
      check_set(script, keys,
                is_log(algorithm) || remembered ? ttl_set(algorithm, requests, false) : "");
    }
  });
}

TEST_CASE("no call shortens a TTL, whatever it changes") {
  with_each([](TestServer& server, const Algorithm& algorithm, ObservedScript& script,
               const Strings& keys, bool by_caller) {
    const Requests first{60, kMinuteUs, kMinute, 1};
    auto other_limit = first, other_window = first, next_window = first, much_later = first;
    other_limit.limit = 59;
    other_window.window = kMinuteUs / 2;
    next_window.now += kMinuteUs;
    much_later.now += kHourUs;
    for (const auto& next : {first, other_limit, other_window, next_window, much_later}) {
      for (const auto& [used, cost] : {std::pair{"1", "1"}, {"3", "1"}, {"3", "-1"}}) {
        if (std::string_view(cost) == "-1" && !algorithm.has_refund) continue;
        (void)server.call({"FLUSHALL"});
        ask(script, keys, first, by_caller, used);
        for (const auto& key : keys) (void)server.call({"PEXPIRE", key, "9000000000"});
        ask(script, keys, next, by_caller, cost);
        for (const auto& key : keys) {
          const auto left = server.pttl(key);
          CHECK((left == -2 || left > 8'000'000'000));
        }
      }
    }
  });
}

TEST_CASE("a log's TTL lasts until its newest unit has left the window") {
  with_each([](TestServer& server, const Algorithm& algorithm, ObservedScript& script,
               const Strings& keys, bool by_caller) {
    if (!is_log(algorithm)) return;
    const Requests first{5, kMinuteUs + 1, kMinute, 1};
    for (const auto* cost : {"1", "-1"}) {
      for (const std::int64_t later : {30 * kSecondUs, -10 * kSecondUs}) {
        for (const std::int64_t short_of : {0, 1}) {
          CAPTURE(later);
          CAPTURE(short_of);
          (void)server.call({"FLUSHALL"});
          script.left_ms.reset();
          ask(script, keys, first, by_caller, "3");
          (void)script.ttls_set();
          auto next = first;
          next.now += later;
          const bool is_newest = std::string_view(cost) == "1" && later > 0;
          const auto us = first.window - (is_newest ? 0 : later) + (by_caller ? kHourUs : 0);
          const auto needed = static_cast<double>(us + 999) / 1000;
          REQUIRE(needed == std::floor(needed));
          script.left_ms = static_cast<std::int64_t>(needed) - short_of;
          ask(script, keys, next, by_caller, cost);
          const auto ttl = needed + static_cast<double>(first.window) / 4000;
          check_set(script, keys,
                    short_of > 0 ? std::to_string(static_cast<std::int64_t>(ttl)) : "");
        }
      }
    }
  });
}

namespace {

std::int64_t units_stored(TestServer& server, const Algorithm& algorithm, const std::string& key) {
  const auto* count = type_of_state(algorithm) == "list" ? "LLEN" : "ZCARD";
  return server.call({count, key}).integer();
}

}  // namespace

TEST_CASE("a log drops what has left the window, unless its TTL shows a longer one") {
  with_each([](TestServer& server, const Algorithm& algorithm, ObservedScript& script,
               const Strings& keys, bool by_caller) {
    if (!is_log(algorithm)) return;
    const Requests first{5, kMinuteUs, kMinute, 1};
    auto half = first, next = first, before = first;
    half.now += kMinuteUs / 2;
    next.now += kMinuteUs;
    before.now = next.now - 1;
    const auto stored = [&] { return units_stored(server, algorithm, keys.front()); };
    for (const bool has_live : {false, true}) {
      (void)server.call({"FLUSHALL"});
      ask(script, keys, first, by_caller);
      if (has_live) ask(script, keys, half, by_caller);
      ask(script, keys, next, by_caller);
      CHECK(stored() == (has_live ? 2 : 1));
    }
    // When the clock is 1 us behind the newest unit, the TTL is a whole number of ms.
    const auto ttl_ms = (kMinuteUs * 5 / 4 + 1'000 + (by_caller ? kHourUs : 0)) / 1'000;
    for (const std::int64_t longer : {0, 1}) {
      (void)server.call({"FLUSHALL"});
      ask(script, keys, first, by_caller, "3");
      script.left_ms = ttl_ms + 1;
      ask(script, keys, next, by_caller);
      CHECK(stored() == 3);
      script.left_ms = ttl_ms + longer;
      ask(script, keys, before, by_caller);
      CHECK(stored() == (longer > 0 ? 3 : 2));
      script.left_ms.reset();
    }
  });
}

TEST_CASE("a log stores every unit of a large cost") {
  with_each([](TestServer& server, const Algorithm& algorithm, ObservedScript& script,
               const Strings& keys, bool by_caller) {
    if (!is_log(algorithm)) return;
    for (const std::int64_t cost : {999, 1'000, 1'001, 2'000, 10'000}) {
      (void)server.call({"FLUSHALL"});
      ask(script, keys, {1'000'000, kMinuteUs, kMinute, 1}, by_caller, std::to_string(cost));
      for (const auto& key : keys) CHECK(units_stored(server, algorithm, key) == cost);
    }
  });
}

namespace {

/// "LIMIT/WINDOW burst BURST", as stored.
std::string stored_limit(TestServer& server, const std::string& key) {
  const auto content = read_contents(server.connection(), {&key, 1}, built_in_libraries()).front();
  const auto limit = decode_ours(content).limit.value();
  auto text = std::to_string(limit.limit) + "/" + std::to_string(limit.window.count());
  if (limit.burst) text += " burst " + std::to_string(*limit.burst);
  return text;
}

}  // namespace

TEST_CASE("a state names the limit of the last allowed request, even after a refund") {
  with_each([](TestServer& server, const Algorithm& algorithm, ObservedScript& script,
               const Strings& keys, bool by_caller) {
    if (type_of_state(algorithm) != "string") return;
    const auto first = kMinute + kSecondUs;
    // fixed-window and sliding-window-counter keep the window until it is over.
    const bool keeps_window = sets_ttl_once(algorithm);
    for (const Strings& limit : {Strings{"9", "60000000", "7"}, Strings{"8", "60000000", "7"},
                                 Strings{"8", "30000000", "7"}, Strings{"8", "30000000", "6"},
                                 Strings{"8", "30000000", "6"}}) {
      Strings arguments;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        arguments.insert(arguments.end(), limit.begin(), limit.end());
        if (!algorithm.has_burst) arguments.back() = "";
      }
      arguments.emplace_back(algorithm.has_refund ? "2" : "1");
      if (by_caller) arguments.push_back(std::to_string(first));
      script.servers_clock = microseconds{first};
      const auto reply = script.eval(keys, arguments);
      REQUIRE_MESSAGE(!reply.is_error(), std::string(reply.text()));
      auto expected = limit[0] + "/" + (keeps_window ? "60000000" : limit[1]);
      if (algorithm.has_burst) expected += " burst " + limit[2];
      for (const auto& key : keys) CHECK(stored_limit(server, key) == expected);
      if (!algorithm.has_refund) continue;
      for (std::size_t i = 0; i < keys.size(); ++i) arguments[3 * i] = "1000";
      arguments[3 * keys.size()] = "-1";
      REQUIRE_FALSE(script.eval(keys, arguments).is_error());
      for (const auto& key : keys) CHECK(stored_limit(server, key) == expected);
    }
  });
}

TEST_CASE("a state names the clock of the call that began or extended it, a caller's once it did") {
  with_each([](TestServer& server, const Algorithm& algorithm, ObservedScript& script,
               const Strings& keys, bool first_by_caller) {
    if (type_of_state(algorithm) != "string") return;
    for (const bool by_caller : {false, true}) {
      for (const auto& [limit, window] :
           {std::pair{60, kMinuteUs}, std::pair{59, kMinuteUs}, std::pair{60, 60 * kMinuteUs}}) {
        (void)server.call({"FLUSHALL"});
        const auto mark = [&](const std::string& key) {
          const std::string text(server.call({"GET", key}).text());
          return text.at(text.find_first_of(" ~"));
        };
        Requests requests{60, kMinuteUs, kMinute, 1};
        ask(script, keys, requests, first_by_caller);
        for (const auto& key : keys) CHECK(mark(key) == (first_by_caller ? '~' : ' '));
        requests.limit = limit;
        requests.window = window;
        ask(script, keys, requests, by_caller);
        const bool extends = window != kMinuteUs;
        const bool marked =
            first_by_caller || (by_caller && (extends || !sets_ttl_once(algorithm)));
        for (const auto& key : keys) CHECK(mark(key) == (marked ? '~' : ' '));
      }
    }
  });
}

}  // namespace limiter_writes_test
