#include "stored/refilled_bucket.h"

#include <doctest/doctest.h>

namespace stored_refilled_bucket_test {

using std::chrono::microseconds;
using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::stored;

constexpr microseconds kStart{1'700'000'000'000'000};

TEST_CASE("a bucket gains tokens at the end of each step, up to its size, and none before") {
  const Limit limit{.limit = 10, .window = 10s};
  const RefilledBucket bucket{.tokens = 2.5, .at = kStart, .step = 2s};
  CHECK(bucket.left_at(limit, kStart - 5s) == 2.5);
  CHECK(bucket.left_at(limit, kStart) == 2.5);
  CHECK(bucket.left_at(limit, kStart + 1999999us) == 2.5);
  CHECK(bucket.left_at(limit, kStart + 2s) == 4.5);
  CHECK(bucket.left_at(limit, kStart + 6s) == 8.5);
  CHECK(bucket.left_at(limit, kStart + 8s) == 10);
  CHECK(bucket.left_at({.limit = 10, .window = 10s, .burst = 12}, kStart + 8s) == 10.5);
}

TEST_CASE("a bucket without a step is refilled once a window, and a step may be 1 µs") {
  const Limit limit{.limit = 1'000'000, .window = 1s, .burst = 2'000'000};
  const RefilledBucket by_windows{.tokens = 0, .at = kStart};
  CHECK(by_windows.left_at(limit, kStart + 999999us) == 0);
  CHECK(by_windows.left_at(limit, kStart + 1s) == 1'000'000);
  const RefilledBucket by_us{.tokens = 0, .at = kStart, .step = 1us};
  CHECK(by_us.left_at(limit, kStart + 7us) == 7);
  CHECK(by_us.first_with(limit, 7) == kStart + 7us);
}

TEST_CASE("a bucket may store the tokens in use instead of those left") {
  const RefilledBucket bucket{.tokens = 7, .at = kStart, .step = 1s, .counts_used = true};
  const Limit limit{.limit = 10, .window = 10s};
  CHECK(bucket.left_at(limit, kStart) == 3);
  CHECK(bucket.left_at(limit, kStart + 2s) == 5);
  CHECK(bucket.first_with(limit, 5) == kStart + 2s);
}

TEST_CASE("a queue has room for its burst and, once idle, for the unit in service") {
  const Limit limit{.limit = 1, .window = 1s, .burst = 2};
  const RefilledBucket queue{
      .tokens = 0.5, .at = kStart, .step = 1us, .counts_used = true, .is_queue = true};
  CHECK(queue.size(limit) == 3);
  CHECK(queue.left_at(limit, kStart) == 1.5);
  CHECK(queue.left_at(limit, kStart + 1s) == 2.5);
  CHECK(queue.left_at(limit, kStart + 1h) == 3);
  CHECK(queue.first_with(limit, 3) == kStart + 1500ms);
}

TEST_CASE("fractions of a token count at once, or only once they make a whole one") {
  const Limit limit{.limit = 1, .window = 10s, .burst = 5};  // 0.1 each second
  const RefilledBucket in_parts{.tokens = 0.5, .at = kStart, .step = 1s};
  CHECK(in_parts.left_at(limit, kStart + 4s) == doctest::Approx(0.9));
  CHECK(in_parts.first_with(limit, 1) == kStart + 5s);
  CHECK(in_parts.first_with(limit, 1.25) == kStart + 8s);
  const RefilledBucket whole{.tokens = 0.5, .at = kStart, .step = 1s, .whole = true};
  CHECK(whole.left_at(limit, kStart + 9s) == 0.5);
  CHECK(whole.left_at(limit, kStart + 10s) == 1.5);
  CHECK(whole.first_with(limit, 1) == kStart + 10s);
}

TEST_CASE("a bucket with enough tokens has them at its own time") {
  const Limit limit{.limit = 1, .window = 10s, .burst = 5};
  const RefilledBucket bucket{.tokens = 3, .at = kStart, .step = 1s};
  CHECK(bucket.first_with(limit, 3) == kStart);
  CHECK(bucket.first_with(limit, 2.5) == kStart);
  CHECK(bucket.first_with(limit, 1) == kStart);
}

TEST_CASE("the wait for an absurdly overdrawn bucket is capped at the longest refill") {
  const Limit limit{.limit = 1, .window = kLongestWindow};
  const RefilledBucket bucket{.tokens = -1e15, .at = kStart, .step = 1s};
  CHECK(bucket.first_with(limit, 1) == kStart + kLongestRefill);
}

}  // namespace stored_refilled_bucket_test
