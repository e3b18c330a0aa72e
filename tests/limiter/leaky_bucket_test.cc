// needs: server
#include <doctest/doctest.h>

#include "limiter/model.h"
#include "support/observed.h"
#include "support/remainders.h"

namespace limiter_leaky_bucket_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

const Algorithm& leaky_bucket() {
  return algorithm("leaky-bucket");
}
constexpr microseconds kNow{1'700'000'000'000'000};

}  // namespace

TEST_CASE("leaky-bucket: script and model agree about every remainder under every other limit") {
  check_remainders<LeakyBucketModel>(leaky_bucket(), "leaky~", {0, 1, 2});
}

TEST_CASE("leaky-bucket: if the interval grows, the TTL is checked even within a second") {
  TestServer server;
  ObservedScript script(server, leaky_bucket());
  script.servers_clock = kNow;
  REQUIRE_FALSE(script.eval({"k"}, {"60000", "60000000"}).is_error());
  (void)script.ttls_set();
  script.left_ms = 1;
  REQUIRE_FALSE(script.eval({"k"}, {"60000", "60000000"}).is_error());
  CHECK(script.ttls_set().empty());
  REQUIRE_FALSE(script.eval({"k"}, {"30000", "60000000"}).is_error());
  CHECK(script.ttls_set().size() == 1);
}

}  // namespace limiter_leaky_bucket_test
