#include "stored/survey.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "stored/libraries.h"
#include "support/limiters.h"

// That the figures are those of inspect(): see inspection_test.cc.

namespace stored_usage_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test;

namespace {

/// Too long for anything to leave the window during a test.
constexpr Limit kLimit{.limit = 10, .window = 86400s};

/// The number of times that the server has read from a client.
std::int64_t reads(TestServer& server) {
  const auto info = std::string(server.call({"INFO", "stats"}).text());
  const std::string name = "total_reads_processed:";
  const auto at = info.find(name);
  REQUIRE(at != info.npos);
  return std::stoll(info.substr(at + name.size()));
}

/// The number of reads of the server for one call with this many keys.
std::int64_t reads_for(TestServer& server, int keys) {
  std::vector<UsageGroup> groups;
  for (int i = 0; i < keys; ++i) {
    groups.push_back({{.key = "k" + std::to_string(i), .request = {.limit = kLimit}}});
  }
  const auto before = reads(server);
  const auto usages = read_usage(server.connection(), groups);
  const auto after = reads(server);
  REQUIRE(usages.size() == groups.size());
  for (int i = 0; i < keys; ++i) {
    const auto& usage = usages[static_cast<std::size_t>(i)];
    REQUIRE_FALSE(usage.error);
    CHECK(usage.keys.at(0).used == (i < 50 ? 3 : 0));
  }
  return after - before;
}

void take(TestServer& server, const Algorithm& algorithm, const std::string& key,
          std::int64_t cost) {
  Request request;
  request.keys = {key};
  request.limits = {kLimit};
  request.cost = cost;
  REQUIRE(ScriptLimiter(server, algorithm).ask(request).allowed);
}

}  // namespace

TEST_CASE("a hundred keys of any algorithm take one round trip, as one key does") {
  TestServer server;
  int i = 0;
  while (i < 50) {
    for (const auto& algorithm : algorithms()) {
      if (!counts_requests(algorithm)) continue;
      take(server, algorithm, "k" + std::to_string(i++), 3);
      if (i == 50) break;
    }
  }
  const auto one = reads_for(server, 1);
  CHECK(reads_for(server, 100) <= one + 8);  // the server reads 16 KiB at a time
}

TEST_CASE("reading writes nothing: neither the key nor its TTL changes") {
  TestServer server;
  for (const auto& algorithm : algorithms()) {
    if (!counts_requests(algorithm)) continue;
    const std::string key(algorithm.name);
    take(server, algorithm, key, 3);
  }
  const auto changes = [&] {
    const auto info = std::string(server.call({"INFO", "persistence"}).text());
    const std::string name = "rdb_changes_since_last_save:";
    return std::stoll(info.substr(info.find(name) + name.size()));
  };
  const auto before = changes();
  REQUIRE(before > 0);
  for (const auto& algorithm : algorithms()) {
    const UsageGroup group{{.key = std::string(algorithm.name), .request = {.limit = kLimit}}};
    CHECK(read_usage(server.connection(), {&group, 1}).at(0).keys.size() == 1);
  }
  CHECK(changes() == before);
}

TEST_CASE("the keys of a group are read together, and those that do not exist are unused") {
  TestServer server;
  take(server, algorithm("gcra"), "{login:ann}:60s", 2);
  take(server, algorithm("fixed-window"), "{login:ann}:3600s", 2);
  UsageGroup group;
  for (const auto& name : usual_family_names("login:ann")) group.push_back({.key = name});
  const auto usage = read_usage(server.connection(), {&group, 1}).at(0);
  REQUIRE(usage.keys.size() == group.size());
  std::vector<std::string> found;
  for (const auto& key : usage.keys) {
    if (key.exists()) found.push_back(key.key);
    CHECK(key.used == (key.exists() ? 2 : 0));
  }
  CHECK(found == std::vector<std::string>{"{login:ann}:60s", "{login:ann}:3600s"});
}

TEST_CASE("a key that the user may not read is an error of its group alone") {
  TestServer server;
  if (server.call({"ACL", "SETUSER", "reader", "on", "nopass", "~good*", "+@all"}).is_error()) {
    MESSAGE("skipped: the server has no ACLs");
    return;
  }
  REQUIRE_FALSE(server.call({"AUTH", "reader", "x"}).is_error());
  const std::vector<UsageGroup> groups{{{.key = "bad"}}, {{.key = "good"}}};
  const auto usages = read_usage(server.connection(), groups);
  REQUIRE(usages[0].error);
  try {
    std::rethrow_exception(usages[0].error);
  } catch (const redis::Error& error) {
    CHECK(error.failure() == redis::Failure::kRefused);
  }
  CHECK(usages[0].keys.empty());
  CHECK_FALSE(usages[1].error);
  CHECK(usages[1].keys.at(0).used == 0);
}

TEST_CASE("a log of unknown window has no use; the window may be in its name") {
  TestServer server;
  take(server, algorithm("sliding-window-log"), "k", 3);
  UsageGroup group{{.key = "k"}};
  CHECK_FALSE(read_usage(server.connection(), {&group, 1}).at(0).keys.at(0).used);
  group[0].request.window_in_name = 86400s;
  const auto seen = read_usage(server.connection(), {&group, 1}).at(0).keys.at(0);
  CHECK(seen.used == 3);
  CHECK_FALSE(seen.limit);
  CHECK_FALSE(seen.capacity());
}

TEST_CASE("large members are cut before they are sent") {
  TestServer server;
  server.call({"RPUSH", "k", std::string(1 << 20, 'x')});
  const UsageGroup group{{.key = "k"}};
  const auto seen = read_usage(server.connection(), {&group, 1}).at(0).keys.at(0);
  CHECK(seen.content.first.member.size() == KeySample::kMaxText);
  CHECK_FALSE(seen.is_limiter());
}

}  // namespace stored_usage_test
