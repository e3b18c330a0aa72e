#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "limiter/model.h"
#include "support/limiters.h"
#include "support/packed.h"
#include "support/stored_state.h"

namespace rlctl::test {

/// A part of a microsecond: `rest` of `limit` parts.
struct Remainder {
  std::int64_t limit, rest;
};

/// Under this limit: all of them, or some.
inline std::vector<Remainder> remainders(std::int64_t limit) {
  if (limit > 7) {
    return {{limit, 0},      {limit, 1},         {limit, 2},        {limit, limit / 3},
            {limit, 32'767}, {limit, limit - 2}, {limit, limit - 1}};
  }
  std::vector<Remainder> all;
  for (std::int64_t rest = 0; rest < limit; ++rest) all.push_back({limit, rest});
  return all;
}

/// Checks that the script and its model agree about a call, and a look after it, with a time that
/// another limit stored. `tag` begins the stored state.
template <typename Model>
void check_remainder(TestServer& server, const Algorithm& algorithm, std::string_view tag,
                     const Remainder& stored, const Limit& limit, std::int64_t cost) {
  using std::chrono_literals::operator""s;
  using std::chrono_literals::operator""us;
  constexpr microseconds kStart{1'700'000'000'000'000};
  for (const microseconds offset : {0us, 1us, 3'500'000us, -limit.window / limit.limit}) {
    CAPTURE(offset.count());
    const auto at = (kStart + offset).count();
    const limiter::RationalTime time{.parts = Wide{at} * stored.limit + stored.rest,
                                     .per_us = stored.limit};
    Model model = [&] {
      if constexpr (std::is_same_v<Model, limiter::GcraModel>) {
        const Limit of_that{stored.limit, 1s, 1};
        return Model(limiter::ArrivalTime{.time = time, .limit = of_that});
      } else {
        return Model(time);
      }
    }();
    const auto text = packed(tag, static_cast<double>(at), stored.rest, stored.limit, 1e6, 1);
    check_calls(server, algorithm, text, model, limit, {cost, 0}, kStart);
    const bool exists = server.pttl("k") != -2;
    CHECK(exists == !model.empty());
  }
}

/// Checks it for every remainder under every other limit, with calls of these costs.
template <typename Model>
void check_remainders(const Algorithm& algorithm, std::string_view tag,
                      const std::vector<std::int64_t>& costs) {
  using std::chrono_literals::operator""s;
  using std::chrono_literals::operator""ms;
  using std::chrono_literals::operator""us;
  TestServer server;
  const auto check = [&](const Remainder& stored, const Limit& limit, std::int64_t cost) {
    CAPTURE(stored.limit);
    CAPTURE(stored.rest);
    check_remainder<Model>(server, algorithm, tag, stored, limit, cost);
  };
  const std::vector<std::int64_t> limits{1, 2, 3, 4, 5, 6, 7, 32'768, 98'303, 999'999'937};
  for (const auto stored_limit : limits) {
    for (const auto& stored : remainders(stored_limit)) {
      for (const auto limit : limits) {
        for (const auto cost : costs) check(stored, {limit, 7s, 3}, cost);
      }
    }
  }
  // These are whole numbers of units, to the last part of a microsecond. In the third case, the
  // product of remainder and limit is a multiple of the stored limit; in the last two cases, it
  // exceeds a multiple by one.
  check({1'000'000'000, 998'000'000}, {500'000'000, 1s, 1'000}, 0);
  check({999'999'000, 666'666'000}, {333'333'000, 1ms, 1'000'000}, 0);
  check({509'770'613, 320'667'471}, {553'518'977, 589'149us, 1'000}, 0);
  check({999'999'937, 428'633'993}, {999'999'893, 572'275us, 1'000}, 0);
  check({999'999'937, 175'118'000}, {999'999'893, 1'042'369us, 1'000}, 0);
  check({999'999'937, 566'706'167}, {244'272'509, 138'430'746us, 1'000}, 0);
}

}  // namespace rlctl::test
