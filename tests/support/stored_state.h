#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "limiter/model.h"
#include "support/limiters.h"

namespace rlctl::test {

/// Checks that the script, from this stored state on, and its model agree about calls with these
/// costs, one after another.
inline void check_calls(TestServer& server, const Algorithm& algorithm, const std::string& stored,
                        limiter::KeyModel& model, const Limit& limit,
                        std::initializer_list<std::int64_t> costs, microseconds now) {
  REQUIRE_FALSE(server.call({"SET", "k", stored, "EX", "1000"}).is_error());
  ScriptLimiter script(server, algorithm);
  const limiter::KeyAndLimit key{&model, limit};
  for (const auto cost : costs) {
    const Request request{{"k"}, {limit}, cost, now};
    const auto command = to_command(algorithm, request);
    CAPTURE(command);
    REQUIRE(script.ask(request) == limiter::decide(std::span(&key, 1), cost, now));
  }
}

}  // namespace rlctl::test
