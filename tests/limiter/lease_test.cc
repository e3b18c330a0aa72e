// needs: server
#include "limiter/check.h"

#include <doctest/doctest.h>

#include "redis/error.h"
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

TEST_CASE("a lease on a key with other content is an error, and the key is unchanged") {
  TestServer server;
  server.call({"SET", "job", "5"});
  const Lease lease{.key = "job", .limit = 1, .duration = 1h, .holder = "a"};
  for (auto* action : {acquire, renew, release}) {
    CHECK_THROWS_AS(static_cast<void>(action(server.connection(), lease)), redis::Error);
  }
  CHECK(server.call({"GET", "job"}).text() == "5");
}

}  // namespace limiter_lease_test
