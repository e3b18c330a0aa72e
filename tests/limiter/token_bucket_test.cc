// needs: server
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "limiter/model.h"
#include "support/packed.h"
#include "support/properties.h"
#include "support/random.h"
#include "support/stored_state.h"

namespace limiter_token_bucket_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;
using rlctl::as_double;

namespace {

const Algorithm& token_bucket() {
  return algorithm("token-bucket");
}
constexpr microseconds kNow{1'700'000'000'000'000};

/// A look, a call and another look, with a stored bucket.
void check_bucket(TestServer& server, const TokenBucket& bucket, const Limit& limit,
                  std::int64_t cost) {
  CAPTURE(bucket.tokens);
  CAPTURE(bucket.at.count());
  TokenBucketModel model({.tokens = bucket.tokens, .at = bucket.at, .limit = limit});
  const auto text = packed("tokens~", bucket.tokens, as_double(bucket.at), limit.limit,
                           as_double(limit.window), *limit.burst);
  check_calls(server, token_bucket(), text, model, limit, {0, cost, 0}, kNow);
}

}  // namespace

TEST_CASE("token-bucket: never more than the burst plus what the rate adds") {
  Random random;
  ModelLimiter model(token_bucket());
  check_burst_and_rate(model, token_bucket(), random, 100, 1e-9);
  TestServer server;
  ScriptLimiter script(server, token_bucket());
  check_burst_and_rate(script, token_bucket(), random, 10, 1e-9);
}

TEST_CASE("token-bucket: script and model agree where a bucket fills at a whole microsecond") {
  TestServer server;
  Random random;
  for (auto left = operations(scaled(1'500, 15'000)); left > 0; --left) {
    Limit limit{random.log_uniform(1, 1'000'000), kShortestWindow, random.log_uniform(1, 1'000)};
    // A token takes a whole number of microseconds, or almost, or the whole bucket only some.
    limit.window = std::max(
        kShortestWindow,
        microseconds{random.percent(30)
                         ? random.uniform(1'000, 1'050)
                         : limit.limit * random.log_uniform(1, 1'000'000) + random.uniform(-1, 1)});
    const auto per_us = as_double(limit.limit) / as_double(limit.window);
    const auto refilled = as_double(random.uniform(0, 2 * limit.window.count())) * per_us;
    const TokenBucket bucket{.tokens = std::fmod(refilled, as_double(*limit.burst)),
                             .at = kNow - microseconds{random.uniform(0, 3)}};
    const auto cost = random.percent(30)   ? 1
                      : random.percent(70) ? random.uniform(1, *limit.burst)
                                           : -1;
    check_bucket(server, bucket, limit, cost);
  }
}

TEST_CASE("token-bucket: a wait ends where rounding adds what is missing") {
  TestServer server;
  // Two units in the last place are missing. A microsecond adds 1.6 of them, which the sum rounds
  // up.
  constexpr std::int64_t kBurst = 600'000'000;
  const TokenBucket bucket{.tokens = kBurst - std::ldexp(1, -22), .at = kNow};
  check_bucket(server, bucket, {1, 5'242'880us, kBurst}, kBurst);
  const Limit slow{1, 5'242'880us, kBurst};
  const TokenBucketModel model({.tokens = bucket.tokens, .at = bucket.at, .limit = slow});
  CHECK(model.peek(slow, kBurst, kNow).retry_after == 1us);
  // A microsecond adds 2^-26 less than the token that the call takes.
  const Limit limit{67'108'863, 67'108'864us, 134'217'729};
  check_bucket(server, {.tokens = as_double(*limit.burst), .at = kNow}, limit, 1);
  CHECK(ModelLimiter(token_bucket()).ask("k", limit, 1, kNow).reset_after == 1us);
}

TEST_CASE("token-bucket: a refund by a caller's clock keeps what the server's clock stored") {
  TestServer server;
  const Limit stored{10, 20s, 16};
  TokenBucketModel model({.tokens = 3, .at = kNow, .limit = stored});
  const auto text =
      packed("tokens ", 3.0, as_double(kNow), stored.limit, as_double(stored.window), 16);
  check_calls(server, token_bucket(), text, model, {1000, 20s, 20}, {-4, 0, 1}, kNow);
}

}  // namespace limiter_token_bucket_test
