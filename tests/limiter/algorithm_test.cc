// needs: server
#include "limiter/algorithm.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "base/text.h"
#include "support/limiters.h"
#include "support/refusal.h"

namespace limiter_algorithm_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using rlctl::test::algorithm;

namespace {

std::string refusal(std::string_view name, const Limit& limit, std::int64_t cost = 1) {
  return rlctl::test::refusal_of(
      [&] { return (require_usable(algorithm(name), limit, cost), true); });
}

}  // namespace

TEST_CASE("every algorithm has a row, and all names are different") {
  CHECK(rlctl::one_of(list_names(nullptr)) ==
        "fixed-window, sliding-window-log, sliding-window-zset, sliding-window-counter, "
        "token-bucket, gcra, leaky-bucket, budget or concurrency");
  std::set<std::string_view> hashes;
  for (const Algorithm& row : algorithms()) {
    CHECK(find_algorithm(row.name) == &row);
    CHECK(row.sha1.size() == 40);
    CHECK(hashes.insert(row.sha1).second);
    CHECK((row.make_model == nullptr) == !row.does_instead.empty());
  }
  CHECK(find_algorithm(kDefaultAlgorithm) != nullptr);
  CHECK(find_algorithm("sliding-window") == nullptr);
}

TEST_CASE("a limit that the scripts cannot count exactly is refused") {
  CHECK(refusal("gcra", {94'906'265, 1s, {}}) == "accepted");
  CHECK(
      refusal("gcra", {94'906'266, 1s, {}}) ==
      "limit 94906266 x burst 94906266 is more than 2^53; use a smaller limit or a smaller burst");
  CHECK(refusal("gcra", {1'000'000'000, 1s, 9'007'199}) == "accepted");
  CHECK(refusal("gcra", {1'000'000'000, 1s, 9'007'200}) != "accepted");
  CHECK(refusal("fixed-window", {1'000'000'000, 1s, {}}) == "accepted");
  CHECK(refusal("leaky-bucket", {1, 100'000'000s, 40}) == "accepted");
  CHECK(refusal("leaky-bucket", {1, 100'000'000s, 41}) ==
        "burst 41 takes more than 4e15 us to refill at 1/100000000s; use a smaller burst");
  CHECK(refusal("token-bucket", {1, 1us, 1'000'000'001}) ==
        "burst must be from 1 to 1000000000, not 1000000001");
}

TEST_CASE("a cost out of range is refused") {
  CHECK(refusal("fixed-window", {5, 60s, {}}, 1'000'000'000) == "accepted");
  CHECK(refusal("fixed-window", {5, 60s, {}}, 1'000'000'001) ==
        "cost 1000000001 is too large for fixed-window, which takes up to 1000000000");
  CHECK(refusal("sliding-window-log", {5, 60s, {}}, -10'000) == "accepted");
}

}  // namespace limiter_algorithm_test
