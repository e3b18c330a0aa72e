// needs: server
#include "limiter/budget_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "limiter/check.h"
#include "stored/forms.h"
#include "support/contract.h"
#include "support/observed.h"
#include "support/schedule.h"

namespace limiter_budget_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

const Algorithm& budget() {
  return algorithm("budget");
}
constexpr microseconds kMinute{28'333'333 * 60s};  // 2023-11-14T22:13Z, the start of a minute
constexpr Limit kHundred{100, 60s, {}};

using State = ReservationState;

/// Asks script and model the same; the model's answer is that of both.
class Both {
 public:
  Both() : model_(budget()), script_(server_, budget()) {}

  Decision ask(const Request& request) {
    const auto command = to_command(budget(), request);
    CAPTURE(command);
    const auto decision = model_.ask(request);
    CHECK(script_.ask(request) == decision);
    for (const auto& key : request.keys) CHECK(model_.exists(key) == !server_.dump(key).empty());
    return decision;
  }
  Decision take(std::int64_t cost, microseconds now, const Limit& limit = kHundred) {
    return ask({{"k"}, {limit}, cost, now});
  }
  Decision reserve(const std::string& id, std::int64_t units, microseconds hold, microseconds now,
                   const Limit& limit = kHundred) {
    return ask({{"k"}, {limit}, units, now, ReservationCall{false, id, hold}});
  }
  Decision settle(const std::string& id, std::int64_t actual, microseconds now,
                  const Limit& limit = kHundred) {
    return ask({{"k"}, {limit}, actual, now, ReservationCall{true, id}});
  }
  TestServer& server() { return server_; }

 private:
  TestServer server_;
  ModelLimiter model_;
  ScriptLimiter script_;
};

Decision denied(std::int64_t remaining, microseconds retry_after, microseconds reset_after) {
  return {false, remaining, retry_after, reset_after, 0us, 1};
}
Decision allowed(std::int64_t remaining, microseconds reset_after) {
  return {true, remaining, 0us, reset_after, 0us, 0};
}
Decision with(State state, std::int64_t units, microseconds hold, Decision decision) {
  decision.reservation = state;
  decision.units = units;
  decision.hold = hold;
  return decision;
}
/// The reservation is unknown, and is not made.
Decision without(Decision decision) {
  return with(State::kUnknown, 0, 0us, decision);
}
/// No key denies this, and waiting does not help.
Decision refused(std::int64_t remaining, microseconds reset_after) {
  return {false, remaining, kNever, reset_after, 0us, 0};
}
Decision unknown(std::int64_t remaining, microseconds reset_after) {
  return without(refused(remaining, reset_after));
}

}  // namespace

TEST_CASE("budget: units are held until they are settled with the actual cost") {
  Both both;
  CHECK(both.reserve("a", 60, 30s, kMinute) == with(State::kHeld, 60, 30s, allowed(40, 60s)));
  CHECK(both.take(41, kMinute + 1s) == denied(40, 29s, 59s));
  CHECK(both.settle("a", 10, kMinute + 2s) == with(State::kHeld, 10, 30s, allowed(90, 58s)));
  CHECK(both.take(41, kMinute + 2s) == allowed(49, 58s));
  CHECK(both.settle("a", 10, kMinute + 3s) == with(State::kSettled, 10, 30s, allowed(49, 57s)));
  CHECK(both.reserve("a", 60, 30s, kMinute + 3s) ==
        with(State::kSettled, 10, 30s, allowed(49, 57s)));
  CHECK(both.settle("b", 10, kMinute + 3s) == unknown(49, 57s));
}

TEST_CASE("budget: a release frees all units, and the reservation is remembered") {
  Both both;
  CHECK(both.reserve("a", 60, 1s, kMinute).allowed);
  CHECK(both.settle("a", 0, kMinute) == with(State::kHeld, 0, 1s, allowed(100, 2s)));
  CHECK(both.settle("a", 0, kMinute + 1'999'999us) ==
        with(State::kSettled, 0, 1s, allowed(100, 1us)));
  CHECK(both.settle("a", 0, kMinute + 2s) == unknown(100, 0us));
}

TEST_CASE("budget: a hold that lapses frees its units to the microsecond") {
  Both both;
  CHECK(both.reserve("a", 60, 10s, kMinute).allowed);
  CHECK(both.reserve("b", 40, 20s, kMinute).allowed);
  CHECK(both.take(1, kMinute + 10s - 1us) == denied(0, 1us, 30'000'001us));
  CHECK(both.take(61, kMinute + 10s - 1us) == denied(0, 10'000'001us, 30'000'001us));
  CHECK(both.take(101, kMinute + 10s - 1us) == denied(0, kNever, 30'000'001us));
  CHECK(both.take(0, kMinute + 10s) == allowed(60, 30s));
  CHECK(both.take(60, kMinute + 10s) == allowed(0, 50s));
  CHECK(both.reserve("c", 40, 1s, kMinute + 20s) == with(State::kHeld, 40, 1s, allowed(0, 40s)));
}

TEST_CASE("budget: a late settle is spent once, beyond the limit if need be") {
  Both both;
  CHECK(both.reserve("a", 60, 10s, kMinute).allowed);
  CHECK(both.take(100, kMinute + 10s).allowed);
  CHECK(both.settle("a", 60, kMinute + 15s) == with(State::kLapsed, 60, 10s, allowed(0, 45s)));
  CHECK(both.settle("a", 60, kMinute + 16s) == with(State::kSettled, 60, 10s, allowed(0, 44s)));
  CHECK(both.take(-60, kMinute + 16s) == allowed(0, 44s));
  CHECK(both.take(-1, kMinute + 16s) == allowed(1, 44s));
  CHECK(both.take(1, kMinute + 60s) == allowed(99, 60s));
}

TEST_CASE("budget: an ID is known until its hold has ended and as long again") {
  Both both;
  CHECK(both.reserve("a", 1, 10s, kMinute).allowed);
  CHECK(both.settle("a", 5, kMinute + 20s - 1us) ==
        with(State::kLapsed, 5, 10s, allowed(95, 40'000'001us)));
  CHECK(both.settle("a", 5, kMinute + 20s) == unknown(95, 40s));
  CHECK(both.reserve("a", 7, 10s, kMinute + 20s) == with(State::kHeld, 7, 10s, allowed(88, 40s)));
}

TEST_CASE("budget: holds carry over into the next window, and what was spent does not") {
  Both both;
  CHECK(both.take(50, kMinute + 50s).allowed);
  CHECK(both.reserve("a", 30, 20s, kMinute + 50s).allowed);
  CHECK(both.take(70, kMinute + 60s - 1us) == denied(20, 1us, 30'000'001us));
  CHECK(both.take(71, kMinute + 60s - 1us) == denied(20, 10'000'001us, 30'000'001us));
  CHECK(both.take(70, kMinute + 60s) == allowed(0, 60s));
  CHECK(both.settle("a", 10, kMinute + 61s) == with(State::kHeld, 10, 20s, allowed(20, 59s)));
}

TEST_CASE("budget: the same reservation again changes nothing, and tells the hold that stands") {
  Both both;
  CHECK(both.reserve("a", 60, 10s, kMinute).allowed);
  CHECK(both.reserve("a", 60, 50s, kMinute + 5s) == with(State::kHeld, 60, 10s, allowed(40, 15s)));
  CHECK(both.take(41, kMinute + 9s) == denied(40, 1s, 11s));
  CHECK(both.reserve("a", 60, 10s, kMinute + 10s) ==
        with(State::kLapsed, 60, 10s, allowed(100, 10s)));
}

TEST_CASE("budget: the same reservation with other units is refused, and tells those that stand") {
  Both both;
  CHECK(both.reserve("a", 60, 10s, kMinute).allowed);
  for (const std::int64_t units : {1, 59, 61, 90, 101}) {
    CHECK(both.reserve("a", units, 50s, kMinute + 5s) ==
          with(State::kHeld, 60, 10s, refused(40, 15s)));
    CHECK(both.reserve("a", units, 50s, kMinute + 10s) ==
          with(State::kLapsed, 60, 10s, refused(100, 10s)));
  }
  // Once it is settled, what was reserved is no longer known, and once it is forgotten, nothing is.
  CHECK(both.settle("a", 7, kMinute + 11s).allowed);
  CHECK(both.reserve("a", 90, 50s, kMinute + 12s) ==
        with(State::kSettled, 7, 10s, allowed(93, 48s)));
  CHECK(both.reserve("a", 90, 50s, kMinute + 20s).reservation == State::kHeld);
}

TEST_CASE("budget: a settle with another cost is refused, and tells the one that stands") {
  Both both;
  CHECK(both.reserve("a", 60, 10s, kMinute).allowed);
  CHECK(both.settle("a", 50, kMinute).allowed);
  for (const std::int64_t cost : {0, 49, 51, 60, 1'000}) {
    CHECK(both.settle("a", cost, kMinute + 1s) == with(State::kSettled, 50, 10s, refused(50, 59s)));
  }
  CHECK(both.settle("a", 50, kMinute + 1s) == with(State::kSettled, 50, 10s, allowed(50, 59s)));
}

TEST_CASE("budget: a conflict at one key changes none of them") {
  Both both;
  const auto all = [&](std::int64_t units, bool settles, microseconds now) {
    return both.ask({{"k", "l"},
                     {kHundred, {1'000, 1h, {}}},
                     units,
                     now,
                     ReservationCall{settles, "a", settles ? 0us : 30s}});
  };
  CHECK(both.reserve("a", 5, 10s, kMinute).allowed);
  CHECK(all(6, false, kMinute) == with(State::kHeld, 5, 10s, refused(95, 20s)));
  CHECK(both.server().dump("l").empty());
  CHECK(all(5, false, kMinute) == with(State::kHeld, 5, 30s, allowed(95, 60s)));
  CHECK(both.settle("a", 7, kMinute) == with(State::kHeld, 7, 10s, allowed(93, 60s)));
  const auto before = both.server().dump("l");
  CHECK(all(8, true, kMinute) == with(State::kSettled, 7, 10s, refused(93, 60s)));
  CHECK(both.server().dump("l") == before);
  CHECK(all(7, true, kMinute) == with(State::kHeld, 7, 30s, allowed(93, 47 * 60s)));
}

TEST_CASE("budget: a clock that steps back revives no hold and no window") {
  Both both;
  CHECK(both.reserve("a", 60, 10s, kMinute + 30s).allowed);
  CHECK(both.take(5, kMinute + 60s) == allowed(95, 60s));  // the hold lapses
  CHECK(both.reserve("b", 95, 10s, kMinute + 35s) == with(State::kHeld, 95, 10s, allowed(0, 85s)));
  CHECK(both.take(1, kMinute + 35s) == denied(0, 35s, 85s));
  CHECK(both.settle("b", 1, kMinute) == with(State::kHeld, 1, 10s, allowed(94, 2 * 60s)));
  CHECK(both.settle("a", 1, kMinute) == unknown(94, 2 * 60s));
}

TEST_CASE("budget: an ID is no longer remembered if the clock steps back") {
  Both both;
  CHECK(both.reserve("a", 1, 1s, kMinute).allowed);
  CHECK(both.settle("a", 0, kMinute).allowed);
  CHECK(both.take(1, kMinute + 2s) == allowed(99, 58s));
  CHECK(both.take(0, kMinute + 1s) == allowed(99, 59s));
  CHECK(both.settle("a", 0, kMinute + 1s) == unknown(99, 59s));
  CHECK(both.take(-1, kMinute + 1s) == allowed(100, 0s));
}

TEST_CASE("budget: several keys reserve and settle together or not at all") {
  Both both;
  const auto all = [&](std::int64_t units, bool settles, std::string id, microseconds now) {
    return both.ask({{"k", "l"},
                     {kHundred, {10, 1h, {}}},
                     units,
                     now,
                     ReservationCall{settles, std::move(id), settles ? 0us : 10s}});
  };
  CHECK(all(8, false, "a", kMinute) == with(State::kHeld, 8, 10s, allowed(2, 20s)));
  CHECK(all(8, false, "b", kMinute) == without({false, 2, 10s, 20s, 0us, 2}));
  CHECK(both.settle("b", 1, kMinute) == unknown(92, 20s));
  CHECK(both.settle("a", 3, kMinute) == with(State::kHeld, 3, 10s, allowed(97, 60s)));
  // Settled on one key, and held on the other.
  CHECK(all(3, true, "a", kMinute).reservation == State::kHeld);
  CHECK(both.take(0, kMinute) == allowed(97, 60s));
  CHECK(all(3, true, "a", kMinute).reservation == State::kSettled);
  // Known to one key only: nothing is settled, or the other key reserves.
  CHECK(both.reserve("c", 5, 10s, kMinute).allowed);
  CHECK(all(5, true, "c", kMinute).reservation == State::kUnknown);
  CHECK(both.take(0, kMinute) == allowed(92, 60s));
  CHECK(all(5, false, "c", kMinute) == with(State::kHeld, 5, 10s, allowed(2, 47 * 60s)));
}

TEST_CASE("budget: a lowered limit denies until enough is free") {
  Both both;
  CHECK(both.reserve("a", 60, 10s, kMinute).allowed);
  CHECK(both.reserve("b", 30, 20s, kMinute).allowed);
  CHECK(both.take(1, kMinute, {30, 60s, {}}) == denied(0, 20s, 40s));
  CHECK(both.take(1, kMinute, {31, 60s, {}}) == denied(0, 10s, 40s));
}

TEST_CASE("budget: of 500 reservations, those that have ended make room, and those held do not") {
  Both both;
  const Limit limit{1000, 60s, {}};
  // The first ten are settled; then come 50 that lapse at one time, and one that lapses after them.
  for (int i = 0; i < 500; ++i) {
    const auto hold = i < 10 ? 10s : i < 60 ? 11s : i < 61 ? 12s : 30s;
    CHECK(both.reserve("r" + std::to_string(i), 1, hold, kMinute, limit).allowed);
  }
  CHECK(both.reserve("more", 1, 10s, kMinute, limit) == without(denied(500, 10s, 60s)));
  CHECK(both.take(1, kMinute, limit).allowed);
  CHECK(both.reserve("r7", 1, 10s, kMinute, limit).reservation == State::kHeld);
  for (int i = 0; i < 10; ++i)
    CHECK(both.settle("r" + std::to_string(i), 1, kMinute, limit).allowed);
  // All that have ended are forgotten, since there are fewer than 50.
  CHECK(both.reserve("more", 1, 10s, kMinute + 1s, limit).reservation == State::kHeld);
  CHECK(both.settle("r0", 1, kMinute + 1s, limit).reservation == State::kUnknown);
  for (int i = 0; i < 9; ++i) {
    CHECK(both.reserve("s" + std::to_string(i), 1, 11s, kMinute + 1s, limit).allowed);
  }
  // Forgotten first are "more" and the 50 that have lapsed at one time.
  CHECK(both.reserve("last", 1, 11s, kMinute + 12s, limit).reservation == State::kHeld);
  CHECK(both.settle("r10", 1, kMinute + 12s, limit).reservation == State::kUnknown);
  CHECK(both.settle("r59", 1, kMinute + 12s, limit).reservation == State::kUnknown);
  CHECK(both.settle("r60", 1, kMinute + 12s, limit).reservation == State::kLapsed);
  CHECK(both.settle("s8", 1, kMinute + 12s, limit).reservation == State::kLapsed);
}

TEST_CASE("budget: those that would be forgotten at one time make room together") {
  Both both;
  const Limit limit{1000, 60s, {}};
  for (int i = 0; i < 500; ++i) {
    CHECK(both.reserve("r" + std::to_string(i), 1, i < 200 ? 10s : 20s, kMinute, limit).allowed);
  }
  CHECK(both.reserve("more", 1, 10s, kMinute + 10s, limit).allowed);
  CHECK(both.settle("r0", 1, kMinute + 10s, limit).reservation == State::kUnknown);
  CHECK(both.settle("r199", 1, kMinute + 10s, limit).reservation == State::kUnknown);
  CHECK(both.settle("r200", 1, kMinute + 10s, limit).reservation == State::kHeld);
}

TEST_CASE("budget: a full key denies until a hold ends, though the window ends before that") {
  Both both;
  const Limit limit{510, 60s, {}};
  CHECK(both.take(10, kMinute + 50s, limit).allowed);
  for (int i = 0; i < 500; ++i) {
    CHECK(both.reserve("r" + std::to_string(i), 1, 100s, kMinute + 50s, limit).allowed);
  }
  CHECK(both.reserve("more", 10, 1s, kMinute + 50s, limit) == without(denied(0, 100s, 200s)));
  CHECK(both.take(10, kMinute + 50s, limit) == denied(0, 10s, 200s));
}

TEST_CASE("budget: without units and reservations that are known, no window is in force") {
  Both both;
  CHECK(both.reserve("a", 60, 1s, kMinute, {100, 24h, {}}).reset_after == 2s);
  CHECK(both.take(10, kMinute + 1s, {100, 24h, {}}).reset_after > 1h);
  CHECK(both.take(-10, kMinute + 1s) == allowed(100, 1s));
  CHECK(both.take(0, kMinute + 2s) == allowed(100, 0us));
  CHECK(both.take(10, kMinute + 2s) == allowed(90, 58s));
}

TEST_CASE("budget: a settle that begins a window stores its own limit with it") {
  Both both;
  const auto stored = [&] {
    return rlctl::stored::decode_budget_header(both.server().call({"HGET", "k", ""}).text())->limit;
  };
  const Limit day{1000, 24h, {}};
  CHECK(both.reserve("a", 60, 48h, kMinute, day).allowed);
  CHECK(both.reserve("b", 60, 48h, kMinute, day).allowed);
  CHECK(both.settle("a", 50, kMinute).allowed);
  CHECK(stored() == day);
  CHECK(both.settle("b", 50, kMinute + 24h).allowed);
  CHECK(stored() == kHundred);
}

TEST_CASE("budget: if all make room, the key is kept for the new reservation alone") {
  Both both;
  const Limit limit{1000, 60s, {}};
  for (int i = 0; i < 500; ++i) {
    const auto id = "r" + std::to_string(i);
    CHECK(both.reserve(id, 1, 20s, kMinute, limit).allowed);
    CHECK(both.settle(id, 0, kMinute, limit).allowed);
  }
  CHECK(both.reserve("more", 1, 1s, kMinute, limit) == with(State::kHeld, 1, 1s, allowed(999, 2s)));
}

TEST_CASE("budget: a wrong action, ID, hold or cost is reported with its value") {
  TestServer server;
  const auto refusal = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"5", "60000000", ""});
    const auto reply = server.eval(budget().script, {"k"}, arguments);
    CHECK(server.dump("k").empty());
    return std::string(reply.text());
  };
  CHECK(refusal({"1", "", "release"}) ==
        "ERR budget: action must be reserve, settle or left out, not 'release'");
  CHECK(refusal({"0", "", "reserve", "a", "1000"}) ==
        "ERR budget: cost of reserve must be a whole number from 1 to 1e9, not '0'");
  CHECK(refusal({"-1", "", "settle", "a"}) ==
        "ERR budget: cost of settle must be a whole number from 0 to 1e9, not '-1'");
  CHECK(refusal({"", "", "settle", "a"}) ==
        "ERR budget: cost of settle must be a whole number from 0 to 1e9, not ''");
  const auto of_two =
      server.eval(budget().script, {"k", "l"},
                  {"5", "60000000", "", "5", "60000000", "", "", "", "settle", "a"});
  CHECK(of_two.text() == "ERR budget: cost of settle must be a whole number from 0 to 1e9, not ''");
  CHECK(refusal({"1", "", "reserve", "", "1000"}) ==
        "ERR budget: id must be of 1 to 20 bytes, not ''");
  CHECK(refusal({"1", "", "reserve", std::string(21, 'x'), "1000"}) ==
        "ERR budget: id must be of 1 to 20 bytes, not 'xxxxxxxxxxxxxxxxxxxxx'");
  CHECK(refusal({"1", "", "", "a"}) == "ERR budget: id must be left out, not 'a'");
  CHECK(refusal({"1", "", "", "", "1000"}) == "ERR budget: hold must be left out, not '1000'");
  CHECK(refusal({"1", "", "settle", "a", "1000"}) ==
        "ERR budget: hold must be left out, not '1000'");
  for (const std::string hold : {"", "999", "100000000000001", "1000.5", "nan", "x"}) {
    CHECK(refusal({"1", "", "reserve", "a", hold}) ==
          "ERR budget: hold must be a whole number of microseconds from 1000 to 1e14, not '" +
              hold + "'");
  }
}

TEST_CASE("budget: costs, IDs and holds are accepted up to their bounds") {
  Both both;
  const Limit limit{1'000'000'000, 60s, {}};
  const std::string longest(20, 'x');
  CHECK(both.reserve(longest, 1, 1ms, kMinute, limit).allowed);
  CHECK(both.reserve("a", 999'999'999, kLongestHold, kMinute, limit).allowed);
  CHECK(both.settle(longest, 1'000'000'000, kMinute, limit).allowed);
  CHECK(both.settle("a", 1'000'000'000, kMinute, limit) ==
        with(State::kHeld, 1'000'000'000, kLongestHold, allowed(0, 2 * kLongestHold)));
  // What is spent beyond the limit is counted.
  CHECK(both.take(-1'000'000'000, kMinute, limit).remaining == 0);
  CHECK(both.take(-1'000'000'000, kMinute, limit).remaining == 1'000'000'000);
}

// ---- Hashes that the script did not write ----

namespace {

/// The bytes of the number, the lowest first.
std::string bytes(std::uint64_t number, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

struct Header {
  std::string tag = "budget";
  std::uint64_t end = 1'700'000'060'000'000, window = 60'000'000, limit = 5, spent = 1, held = 0,
                next = 0, time = 1'700'000'000'000'000, last = 0, expires = 0, ids = 0,
                sweep_at = 16;

  std::string text() const {
    return tag + bytes(end, 7) + bytes(window, 6) + bytes(limit, 4) + bytes(spent, 6) +
           bytes(held, 4) + bytes(next, 7) + bytes(time, 7) + bytes(last, 7) + bytes(expires, 7) +
           bytes(ids, 2) + bytes(sweep_at, 1);
  }
};

std::string entry(char state, std::uint64_t units, std::uint64_t until, std::uint64_t forgotten) {
  return state + bytes(units, 4) + bytes(until, 7) + bytes(forgotten, 7);
}

/// What a reserve, a settle and a take reply to a key with these fields; none may change a hash
/// that it refuses. Equal replies stand once.
std::string replies(TestServer& server, const std::vector<std::string>& fields) {
  const auto now = std::to_string(1'700'000'001'000'000);
  std::vector<std::vector<std::string>> calls{{"1", now},
                                              {"0", now},
                                              {"5", now},
                                              {"1", now, "reserve", "a", "1000"},
                                              {"1", now, "reserve", "b", "1000"},
                                              {"1", now, "settle", "a"}};
  std::string text;
  for (auto& arguments : calls) {
    (void)server.call({"DEL", "k"});
    std::vector<std::string> command{"HSET", "k"};
    command.insert(command.end(), fields.begin(), fields.end());
    REQUIRE_FALSE(server.call(command).is_error());
    const auto before = server.dump("k");
    arguments.insert(arguments.begin(), {"5", "60000000", ""});
    const auto reply = server.eval(budget().script, {"k"}, arguments);
    if (!reply.is_error()) continue;
    CHECK(server.dump("k") == before);
    if (text != reply.text()) text += reply.text();
  }
  return text;
}

}  // namespace

namespace {

std::uint64_t at(microseconds offset) {
  return static_cast<std::uint64_t>((kMinute + offset).count());
}

using Fields = std::map<std::string, std::string>;

/// The script, and what it stores at the key `k`.
class Stored {
 public:
  Fields fields() {
    Fields all;
    const auto reply = server_.call({"HGETALL", "k"});
    for (std::size_t i = 0; i < reply.size(); i += 2) {
      all[std::string(reply[i].text())] = reply[i + 1].text();
    }
    return all;
  }
  /// Those of the reservations, in order, one after the other.
  std::string ids() {
    std::string names;
    for (const auto& [name, bytes] : fields()) names += name;
    return names;
  }
  void ask(const Request& request) { REQUIRE(script_.ask(request).allowed); }
  void ask(std::int64_t cost, microseconds offset, std::int64_t limit,
           std::optional<ReservationCall> reservation = {}) {
    ask({{"k"}, {{limit, 60s, {}}}, cost, kMinute + offset, std::move(reservation)});
  }
  void reserve(const std::string& id, microseconds hold, microseconds offset) {
    ask(1, offset, 1000, ReservationCall{false, id, hold});
  }
  void release(const std::string& id, microseconds offset) {
    ask(0, offset, 1000, ReservationCall{true, id});
  }
  void clear() { (void)server_.call({"DEL", "k"}); }

 private:
  TestServer server_;
  ScriptLimiter script_{server_, budget()};
};

}  // namespace

TEST_CASE("budget: what is stored is as rlctl-stored(7) says, byte by byte") {
  Stored script;
  const auto stored = [&] { return script.fields(); };
  const auto ask = [&](auto... arguments) { script.ask(arguments...); };
  ask(7, 1s, 100);
  CHECK(stored() ==
        std::map<std::string, std::string>{
            {"", Header{.end = at(60s), .limit = 100, .spent = 7, .time = at(1s)}.text()}});
  ask(20, 2s, 101, ReservationCall{false, "a", 40s});
  ask(30, 3s, 102, ReservationCall{false, "b", 5s});
  CHECK(stored() == std::map<std::string, std::string>{{"", Header{.end = at(60s),
                                                                   .limit = 102,
                                                                   .spent = 7,
                                                                   .held = 50,
                                                                   .next = at(8s),
                                                                   .time = at(3s),
                                                                   .last = at(82s),
                                                                   .ids = 2}
                                                                .text()},
                                                       {"a", entry('h', 20, at(42s), at(82s))},
                                                       {"b", entry('h', 30, at(8s), at(13s))}});
  ask(11, 4s, 90, ReservationCall{true, "a"});
  CHECK(stored() == std::map<std::string, std::string>{{"", Header{.end = at(60s),
                                                                   .limit = 102,
                                                                   .spent = 18,
                                                                   .held = 30,
                                                                   .next = at(8s),
                                                                   .time = at(4s),
                                                                   .last = at(82s),
                                                                   .ids = 2}
                                                                .text()},
                                                       {"a", entry('s', 11, at(42s), at(82s))},
                                                       {"b", entry('h', 30, at(8s), at(13s))}});
  // The hold of b lapses, and in the next window b is forgotten, once the IDs are read.
  ask(1, 8s, 90);
  CHECK(stored()["b"] == entry('h', 30, at(8s), at(13s)));
  ask(1, 61s, 90, ReservationCall{false, "c", 1s});
  CHECK(script.ids() == "abc");
  ask(1, 62s, 90);
  CHECK(
      stored() ==
      std::map<std::string, std::string>{
          {"",
           Header{
               .end = at(120s), .limit = 90, .spent = 1, .time = at(62s), .last = at(82s), .ids = 2}
               .text()},
          {"a", entry('s', 11, at(42s), at(82s))},
          {"c", entry('h', 1, at(62s), at(63s))}});
}

TEST_CASE("budget: the header of a key that begins with a reservation, also beside another key") {
  for (const Strings& keys : {Strings{"k"}, Strings{"k", "other"}}) {
    CAPTURE(keys.size());
    Stored script;
    const std::vector<Limit> limits(keys.size(), Limit{1000, 60s, {}});
    script.ask({keys, limits, 7, kMinute + 1s, ReservationCall{false, "a", 10s}});
    const Fields held{{"", Header{.end = at(60s),
                                  .limit = 1000,
                                  .spent = 0,
                                  .held = 7,
                                  .next = at(11s),
                                  .time = at(1s),
                                  .last = at(21s),
                                  .ids = 1}
                               .text()},
                      {"a", entry('h', 7, at(11s), at(21s))}};
    CHECK(script.fields() == held);
    script.ask({keys, limits, 0, kMinute + 2s, ReservationCall{true, "a"}});
    const Fields released{
        {"",
         Header{
             .end = at(60s), .limit = 1000, .spent = 0, .time = at(2s), .last = at(21s), .ids = 1}
             .text()},
        {"a", entry('s', 0, at(11s), at(21s))}};
    CHECK(script.fields() == released);
  }
}

TEST_CASE("budget: the header has until when the server keeps the key, by its clock") {
  TestServer server;
  ObservedScript script(server, budget());
  script.servers_clock = kMinute;
  const auto expires = [&](const std::vector<std::string>& call) {
    std::vector<std::string> arguments{"100", "60000000", ""};
    arguments.insert(arguments.end(), call.begin(), call.end());
    REQUIRE_FALSE(script.eval({"k"}, arguments).is_error());
    return std::string(server.call({"HGET", "k", ""}).text()).substr(54, 7);
  };
  CHECK(expires({"1"}) == bytes(at(75s), 7));
  CHECK(script.ttls_set() == Strings{"k 75001"});
  // It is asked when the server ends it once that is not late enough.
  script.left_ms = 200'001;
  CHECK(expires({"1", "", "reserve", "a", "50000000"}) == bytes(at(200s), 7));
  script.left_ms = 200'000;
  CHECK(expires({"1", "", "reserve", "b", "100000000"}) == bytes(at(200s), 7));
  CHECK(script.ttls_set().empty());
  CHECK(expires({"1", "", "reserve", "c", "100000001"}) == bytes(at(250s), 7));
  CHECK(script.ttls_set() == Strings{"k 250001"});
  // A caller's clock tells nothing of that.
  CHECK(expires({"1", std::to_string(at(1s))}) == bytes(0, 7));
}

TEST_CASE(
    "budget: a TTL of just what is needed is not set again, and that of a microsecond is set") {
  TestServer server;
  ObservedScript script(server, budget());
  const auto take = [&](microseconds now, const std::string& stated) {
    script.servers_clock = now;
    REQUIRE_FALSE(script.eval({"k"}, {"100", "60000000", "", "1", stated}).is_error());
    return script.ttls_set();
  };
  CHECK(take(kMinute, std::to_string(at(0s))).size() == 1);
  script.left_ms = 60'000;
  CHECK(take(kMinute + 999us, "").empty());
  CHECK(std::string(server.call({"HGET", "k", ""}).text()).substr(54, 7) ==
        bytes(at(59'999'999us), 7));
  (void)server.call({"DEL", "k"});
  CHECK(take(kMinute + 60s - 1us, "") == Strings{"k 1"});
}

TEST_CASE("budget: no more than 2^48 - 1 units are counted as spent") {
  TestServer server;
  constexpr std::int64_t kMost = 281'474'976'710'655;
  for (const std::int64_t more : {4, 5, 6}) {
    const auto expected = std::min(kMost, kMost - 5 + more);
    (void)server.call({"DEL", "k"});
    const Header header{.end = at(60s),
                        .limit = 5,
                        .spent = kMost - 5,
                        .held = 1,
                        .next = at(30s),
                        .time = at(0s),
                        .last = at(60s),
                        .ids = 1};
    const std::vector<std::string> fields{"HSET",        "k", "",
                                          header.text(), "a", entry('h', 1, at(30s), at(60s))};
    REQUIRE_FALSE(server.call(fields).is_error());
    const auto reply = server.eval(
        budget().script, {"k"},
        {"5", "60000000", "", std::to_string(more), std::to_string(at(1s)), "settle", "a"});
    REQUIRE_FALSE(reply.is_error());
    CHECK(std::string(server.call({"HGET", "k", ""}).text()).substr(23, 6) ==
          bytes(static_cast<std::uint64_t>(expected), 6));
    BudgetModel model(Budget{
        .end = kMinute + 60s,
        .spent = kMost - 5,
        .written_at = kMinute,
        .reservations = {
            {"a", {.units = 1, .held_until = kMinute + 30s, .forgotten_at = kMinute + 60s}}}});
    model.record_settle({5, 60s, {}}, "a", more, kMinute + 1s);
    CHECK(model.stored()->spent == expected);
  }
}

TEST_CASE("budget: once no ID is remembered, the header is that of a key without any") {
  Stored script;
  script.reserve("a", 1s, 0s);
  script.ask(1, 2s, 1000);
  const Fields expected{{"", Header{.end = at(60s), .limit = 1000, .time = at(2s)}.text()}};
  CHECK(script.fields() == expected);
}

TEST_CASE("budget: all IDs are read again once there are twice as many, or 32, but 500 at most") {
  Stored script;
  const std::map<std::uint64_t, std::uint64_t> twice{{15, 32}, {17, 34}, {249, 498}, {251, 500}};
  for (const auto& row : twice) {
    const auto ids = row.first;
    CAPTURE(ids);
    script.clear();
    script.reserve("first", 1s, 0s);
    for (std::uint64_t i = 1; i < ids; ++i) script.reserve(std::to_string(i), 30s, 0s);
    script.ask(1, 1s, 1000);
    CHECK(script.fields()[""] == Header{.end = at(60s),
                                        .limit = 1000,
                                        .held = ids - 1,
                                        .next = at(30s),
                                        .time = at(1s),
                                        .last = at(60s),
                                        .ids = ids,
                                        .sweep_at = row.second / 2}
                                     .text());
  }
}

TEST_CASE("budget: the IDs are forgotten that are not remembered when all are read") {
  Stored script;
  for (const auto* id : {"a", "b", "c"}) script.reserve(id, 1s, 0s);
  script.reserve("d", 2s, 0s);
  script.reserve("e", 20s, 0s);
  script.ask(1, 2s - 1us, 1000);
  CHECK(script.ids() == "abcde");
  script.ask(1, 2s, 1000);
  CHECK(script.ids() == "de");
}

TEST_CASE("budget: the 50 that would be forgotten first make room") {
  Both both;
  const Limit limit{1000, 60s, {}};
  for (int i = 0; i < 500; ++i) {
    CHECK(both.reserve(std::to_string(i), 1, 10s + microseconds{i}, kMinute, limit).allowed);
  }
  CHECK(both.reserve("more", 1, 1s, kMinute + 11s, limit).allowed);
  CHECK(both.server().call({"HLEN", "k"}).integer() == 1 + 500 - 50 + 1);
  CHECK(both.settle("49", 1, kMinute + 11s, limit).reservation == State::kUnknown);
  CHECK(both.settle("50", 1, kMinute + 11s, limit).reservation == State::kLapsed);
}

TEST_CASE("budget: only a call that needs them reads all IDs, and forgets some") {
  Stored script;
  script.reserve("a", 1s, 0s);
  script.reserve("b", 20s, 0s);
  script.ask(1, 1s, 1000);  // reads all
  script.ask(1, 3s, 1000);
  script.ask(1, 3s, 4);  // up to the limit
  script.reserve("c", 20s, 3s);
  script.release("b", 3s);
  CHECK(script.ids() == "abc");
}

TEST_CASE("budget: the reservation after the first 32 reads all IDs, and not the one before it") {
  for (const bool is_last : {false, true}) {
    Stored script;
    for (int i = is_last ? 0 : 1; i < 32; ++i) {
      script.reserve(std::to_string(i), 1s, 0s);
      script.release(std::to_string(i), 0s);
    }
    script.ask(1, 0s, 1000);
    script.reserve("more", 1s, 2s);
    CHECK(script.fields().size() == (is_last ? 2 : 33));
  }
}

TEST_CASE("budget: a hash that the script cannot have written is refused and left unchanged") {
  TestServer server;
  const std::string refused =
      "WRONGTYPE budget: KEYS[1] must hold a hash of a header '' and at most 500 reservations";
  const auto good = Header{}.text();
  REQUIRE(good.size() == 64);
  CHECK(replies(server, {"", good}).empty());
  CHECK(replies(server, {"a", "x"}) == refused);
  CHECK(replies(server, {"", ""}) == refused);
  CHECK(replies(server, {"", good + "x"}) == refused);
  CHECK(replies(server, {"", good.substr(0, 63)}) == refused);
  for (const auto& header :
       {Header{.tag = "bucket"}, Header{.end = 5'000'000'000'000'001},
        Header{.window = 100'000'000'000'001}, Header{.time = 4'000'000'000'000'001},
        Header{.last = 5'000'000'000'000'001}}) {
    CHECK(replies(server, {"", header.text()}) == refused);
  }
  for (const auto& header : {Header{.end = 5'000'000'000'000'000, .window = 100'000'000'000'000},
                             Header{.end = 4'000'000'000'000'001,
                             .time = 4'000'000'000'000'000,
                             .last = 5'000'000'000'000'000}}) {
    CHECK(replies(server, {"", header.text()}).empty());
  }
  // All reservations are read once a hold has ended, and the one asked about in each call.
  const auto held = Header{.held = 1, .next = 1'700'000'000'000'001, .ids = 1}.text();
  const auto until = std::uint64_t{1'700'000'000'000'001};
  CHECK(replies(server, {"", held, "a", entry('h', 1, until, until)}).empty());
  for (const auto& wrong : {std::string(), std::string("x"), entry('x', 1, until, until),
                            entry('h', 1, until, until) + "x"}) {
    CHECK(replies(server, {"", held, "a", wrong}) == refused);
    CHECK(replies(server, {"", held, "b", wrong}) == refused);
    CHECK(replies(server, {"", held, "z", wrong}) == refused);  // no call names it
    CHECK(replies(server, {"", good, "a", wrong}) == refused);
  }
  std::vector<std::string> fields{"", held};
  for (int i = 0; i < 500; ++i) {
    fields.insert(fields.end(), {std::to_string(i), entry('h', 0, until, until)});
  }
  CHECK(replies(server, fields).empty());
  fields.insert(fields.end(), {"500", entry('h', 0, until, until)});
  CHECK(replies(server, fields) == refused);
}

TEST_CASE("budget: whatever bytes a hash has, the script replies or refuses it") {
  TestServer server;
  Random random;
  const auto some = [&](std::size_t size) {
    std::string text;
    while (text.size() < size) {
      text +=
          static_cast<char>(random.percent(60) ? random.uniform(0, 2) - 1 : random.uniform(0, 255));
    }
    return text;
  };
  for (int run = 0; run < scaled(200, 5'000); ++run) {
    std::vector<std::string> fields{"", "budget" + some(58)};
    for (auto ids = random.uniform(0, 4); ids > 0; --ids) {
      fields.insert(fields.end(), {std::string(1, static_cast<char>('a' + ids)),
                                   (random.percent(50) ? "h" : "s") + some(18)});
    }
    const auto refused = replies(server, fields);
    CHECK((refused.empty() || refused.starts_with("WRONGTYPE ")));
  }
}

TEST_CASE("budget: what changes nothing writes nothing, and runs under EVAL_RO") {
  TestServer server;
  const bool has_read_only =
      !contains(server.call({"EVAL_RO", "return 1", "0"}).text(), "unknown command");
  const auto ask = [&](const std::string& command, microseconds now,
                       std::vector<std::string> more) {
    std::vector<std::string> words{
        command,      std::string(budget().sha1), "1", "k", "100", "60000000", "",
        more.front(), std::to_string(now.count())};
    words.insert(words.end(), more.begin() + 1, more.end());
    return server.call(words);
  };
  (void)server.call({"SCRIPT", "LOAD", budget().script});
  for (const std::string id : {"a", "b"}) {
    (void)ask("EVALSHA", kMinute, {"5", "reserve", id, "10000000"});
  }
  (void)ask("EVALSHA", kMinute, {"5", "settle", "b"});
  const auto before = server.dump("k");
  const auto ttl = server.pttl("k");
  REQUIRE_FALSE(before.empty());
  const std::vector<std::pair<microseconds, std::vector<std::string>>> calls{
      {kMinute, {"0"}},
      {kMinute + 10s, {"0"}},  // a has lapsed
      {kMinute, {"91"}},
      {kMinute, {"5", "reserve", "a", "10000000"}},
      {kMinute, {"5", "reserve", "b", "10000000"}},
      {kMinute, {"91", "reserve", "c", "10000000"}},
      {kMinute, {"5", "settle", "b"}},
      {kMinute, {"5", "settle", "c"}},
      {kMinute + 20s, {"5", "settle", "a"}}};  // is forgotten
  for (const auto& call : calls) {
    const auto now = call.first;
    const auto& more = call.second;
    CAPTURE(more.front());
    CAPTURE(more.back());
    const auto decision = Checker::parse(ask("EVALSHA", now, more));
    CHECK(server.dump("k") == before);
    CHECK(server.pttl("k") <= ttl);
    if (has_read_only) CHECK(Checker::parse(ask("EVALSHA_RO", now, more)) == decision);
  }
  if (has_read_only) CHECK(ask("EVALSHA_RO", kMinute, {"5", "settle", "a"}).is_error());
  CHECK(server.dump("k") == before);
}

TEST_CASE("budget: script and model agree on random traffic and reservations") {
  check_script_against_model(budget());
}

}  // namespace limiter_budget_test
