// needs: server
#include "limiter/check.h"

#include <doctest/doctest.h>

#include "support/limiters.h"

namespace limiter_lease_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::test;

TEST_CASE("a lease is taken, renewed and released, also on a server without the script") {
  TestServer server;
  auto& connection = server.connection();
  const Lease first{.key = "job", .limit = 1, .duration = 1h, .holder = "a"};
  const Lease second{.key = "job", .limit = 1, .duration = 1h, .holder = "b"};
  CHECK(acquire(connection, first).allowed);
  const auto denied = acquire(connection, second);
  CHECK_FALSE(denied.allowed);
  CHECK(denied.retry_after > 0us);
  CHECK(denied.retry_after <= 1h);
  server.call({"SCRIPT", "FLUSH"});
  CHECK(renew(connection, first).allowed);
  CHECK_FALSE(renew(connection, second).allowed);
  CHECK_FALSE(release(connection, second).allowed);
  CHECK(release(connection, first).allowed);
  CHECK(server.call({"EXISTS", "job"}).integer() == 0);
  CHECK(acquire(connection, second).allowed);
}

}  // namespace limiter_lease_test
