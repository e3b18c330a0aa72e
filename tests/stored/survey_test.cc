// needs: server
#include "stored/survey.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "support/limiters.h"
#include "support/scripted_server.h"

namespace stored_survey_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test;

namespace {

constexpr Limit kLimit{.limit = 10, .window = 86400s};
/// A reply to TIME.
const std::string kTime = "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n";

void take(TestServer& server, const std::string& key) {
  Request request;
  request.keys = {key};
  request.limits = {kLimit};
  REQUIRE(ScriptLimiter(server, algorithm("gcra")).ask(request).allowed);
}

}  // namespace

TEST_CASE("keys that are gone, of another type or empty take no figures from their neighbours") {
  TestServer server;
  take(server, "a");
  static_cast<void>(server.call({"SADD", "set", "x"}));
  static_cast<void>(server.call({"SET", "empty", ""}));
  take(server, "z");
  const std::vector<InspectedKey> asked{
      {.key = "a"}, {.key = "gone"}, {.key = "set"}, {.key = "empty"}, {.key = "z"}};
  const auto found = survey(server.connection(), asked, built_in_libraries());
  REQUIRE(found.size() == 5);
  CHECK(found[0].inspection.used == 1);
  CHECK_FALSE(found[1].inspection.exists());
  CHECK(found[2].inspection.content.type == "set");
  CHECK_FALSE(found[2].inspection.is_limiter());
  CHECK_FALSE(found[3].inspection.is_limiter());
  CHECK(found[4].inspection.used == 1);
}

TEST_CASE("a survey keeps only the beginning of a large entry") {
  TestServer server;
  static_cast<void>(server.call({"RPUSH", "list", std::string(std::size_t{1} << 20, 'x')}));
  const std::vector<InspectedKey> asked{{.key = "list"}};
  const auto found = survey(server.connection(), asked, built_in_libraries());
  CHECK(found.at(0).inspection.content.first.member.size() == KeySample::kMaxText);
}

TEST_CASE("reading writes nothing: neither a key nor its TTL changes") {
  TestServer server;
  std::vector<InspectedKey> asked;
  for (const auto& algorithm : algorithms()) {
    if (!counts_requests(algorithm)) continue;
    Request request;
    request.keys = {std::string(algorithm.name)};
    request.limits = {kLimit};
    REQUIRE(ScriptLimiter(server, algorithm).ask(request).allowed);
    asked.push_back({.key = request.keys[0], .request = {.limit = kLimit}});
  }
  const auto changes = [&] {
    const auto info = std::string(server.call({"INFO", "persistence"}).text());
    const std::string name = "rdb_changes_since_last_save:";
    return std::stoll(info.substr(info.find(name) + name.size()));
  };
  const auto before = changes();
  REQUIRE(before > 0);
  for (const auto& each : survey(server.connection(), asked, built_in_libraries()))
    CHECK(each.inspection.used == 1);
  CHECK(changes() == before);
}

TEST_CASE("of a budget, only the header is read while it tells all") {
  TestServer server;
  const auto reserve = [&](const std::string& key, const std::string& cost, const std::string& id) {
    REQUIRE_FALSE(
        server
            .eval(algorithm("budget").script, {key},
                  {"10", "86400000000", "", cost, "1700000000000000", "reserve", id, "1000000"})
            .is_error());
  };
  for (const auto* key : {"roomy", "full", "lapsed", "asked"}) reserve(key, "4", "one");
  reserve("full", "6", "two");
  const auto at = [](std::int64_t us) { return microseconds{1'700'000'000'000'000 + us}; };
  std::vector<InspectedKey> asked;
  for (const auto* key : {"roomy", "full", "lapsed", "asked"}) {
    asked.push_back({.key = key, .request = {.now = at(999'999)}});
  }
  asked[2].request.now = at(1'000'000);
  asked[3].request.reservations = true;
  const auto found = survey(server.connection(), asked, built_in_libraries());
  const auto listed = [&](std::size_t i) { return found.at(i).inspection.reservations.size(); };
  CHECK(listed(0) == 0);
  CHECK(listed(1) == 2);
  CHECK(listed(2) == 1);
  CHECK(listed(3) == 1);
  CHECK(found[0].inspection.held == 4);
  CHECK(found[0].inspection.next_free == 0us);
  CHECK(found[1].inspection.next_free == 1us);
  CHECK(found[2].inspection.held == 0);
  CHECK(found[2].inspection.stored == 1);

  // Beside the header of a budget, something that is no reservation.
  (void)server.call({"HSET", "asked", "other", "xxxxxxxxxxxxxxxxxxx"});
  const auto other =
      survey(server.connection(), {&asked[3], 1}, built_in_libraries()).at(0).inspection;
  CHECK(other.content.type == "hash");
  CHECK_FALSE(other.is_limiter());
  CHECK(other.ttl);
  CHECK_FALSE(other.limit);
  CHECK_FALSE(other.spent);
  CHECK_FALSE(other.held);
  CHECK(other.stored == 0);
}

TEST_CASE("a log of unknown window has no use; the window may be in its name") {
  TestServer server;
  Request request;
  request.keys = {"k"};
  request.limits = {kLimit};
  REQUIRE(ScriptLimiter(server, algorithm("sliding-window-log")).ask(request).allowed);
  InspectedKey asked{.key = "k"};
  auto seen = survey(server.connection(), {&asked, 1}, built_in_libraries()).at(0).inspection;
  CHECK_FALSE(seen.window);
  CHECK_FALSE(seen.used);
  CHECK(seen.stored == 1);
  asked.request.window_in_name = 86400s;
  seen = survey(server.connection(), {&asked, 1}, built_in_libraries()).at(0).inspection;
  CHECK(seen.used == 1);
  CHECK(seen.window_is_inferred);
  CHECK_FALSE(seen.limit);
  CHECK_FALSE(seen.capacity());
}

TEST_CASE("when a full key that shrinks meanwhile has room again is not known") {
  const std::string edge = "*2\r\n$1\r\nm\r\n$13\r\n1700000000000\r\n";
  for (const std::string entry : {"*0\r\n", "*2\r\n$1\r\nm\r\n$13\r\n1699999999000\r\n"}) {
    support::ScriptedServer server([&](support::Peer& peer) {
      (void)peer.read_until("TYPE\r\n$1\r\nk\r\n");
      peer.write(kTime + ":60000\r\n:99\r\n+zset\r\n");
      (void)peer.read_until("PTTL\r\n$1\r\nk\r\n");
      peer.write(kTime + edge + edge + ":60000\r\n");
      (void)peer.read_until("ZCARD\r\n$1\r\nk\r\n");
      peer.write(":3\r\n");
      (void)peer.read_until("WITHSCORES\r\n");
      peer.write(entry);
    });
    auto connection = redis::Connection::open(server.url(), 120s);
    const InspectedKey asked{.key = "k", .request = {.limit = Limit{.limit = 3, .window = 60s}}};
    const Libraries libraries({}, "times");
    const auto found = survey(connection, {&asked, 1}, libraries).at(0).inspection;
    REQUIRE(found.is_limiter());
    CHECK(found.used == 3);
    CHECK(found.remaining == 0);
    const auto known = entry == "*0\r\n" ? std::nullopt : std::optional<microseconds>(59s);
    CHECK(found.next_free == known);
  }
}

TEST_CASE("a scan surveys each key once, although the keyspace grows and shrinks under it") {
  TestServer server;
  std::set<std::string> there;
  for (int i = 0; i < 3000; ++i) {
    const auto key = "stays:" + std::to_string(i);
    take(server, key);
    there.insert(key);
  }
  std::set<std::string> seen;
  int page_number = 0;
  survey_all(server.connection(),
             {.ask = [](const std::string&) { return InspectionRequest{}; },
              .on_page =
                  [&](std::span<const Surveyed> page, double) {
                    for (const auto& each : page) {
                      if (!each.inspection.exists()) continue;
                      CHECK(seen.insert(each.inspection.key).second);
                    }
                    // The table grows at first and shrinks later, so that SCAN
                    // returns keys twice.
                    const bool grows = page_number < 2;
                    for (int i = 0; i < 4000; ++i) {
                      const auto key = "goes:" + std::to_string(i) + ":" +
                                       std::to_string(grows ? page_number : i % 2);
                      if (grows) {
                        static_cast<void>(server.call({"SET", key, "x"}));
                      } else if (page_number == 4) {
                        static_cast<void>(server.call({"DEL", key}));
                      }
                    }
                    ++page_number;
                  }},
             built_in_libraries());
  for (const auto& key : there) CHECK_MESSAGE(seen.contains(key), key);
}

}  // namespace stored_survey_test
