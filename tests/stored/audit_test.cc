// needs: server
#include "stored/audit.h"

#include <doctest/doctest.h>

#include "support/failure.h"
#include "support/fake_cluster.h"

// That the findings are right: see tests/cli/audit.

namespace stored_audit_test {

using namespace rlctl;
using support::FakeCluster;

TEST_CASE("a user who may not call INFO gets no findings about the server, and is told so") {
  FakeCluster cluster;
  const support::FakeNode::Answer refusal{
      "-NOPERM this user has no permissions to run the 'info' command\r\n"};
  cluster.serve(cluster.low, "low", support::always("INFO", refusal));
  auto connection = redis::Connection::open(cluster.url(), support::kLong);
  CHECK_FALSE(stored::audit_servers(connection).is_complete);
}

TEST_CASE("an error about a key's type is thrown, unless the user may not read the key") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", support::always("TYPE", {"-LOADING the data\r\n"}));
  auto connection = redis::Connection::open(cluster.url(), support::kLong);
  const std::vector<std::string> keys{"bar", "foo", "bar"};
  const auto error = support::error_of([&] { (void)stored::readable_keys(connection, keys); });
  CHECK(error.code() == "LOADING");
  CHECK(connection.outstanding() == 0);
}

TEST_CASE("a node of a Cluster that hangs up does not pass for one that must not be asked") {
  FakeCluster cluster;
  cluster.serve(cluster.low, "low", support::always("INFO", {.bytes = {}, .hangs_up = true}));
  auto connection = redis::Connection::open(cluster.url(), support::kLong);
  const auto servers = stored::audit_servers(connection);
  REQUIRE(servers.lost);
  CHECK(servers.lost->failure() == redis::Failure::kUnreachable);
}

}  // namespace stored_audit_test
