// needs: server
#include "stored/families.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/limiters.h"

namespace stored_key_family_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test;

namespace {

using Names = std::vector<std::string>;

void ask(TestServer& server, const std::string& key, const std::string& name = "gcra") {
  const auto reply = server.eval(algorithm(name).script, {key}, {"5", "60000000"});
  REQUIRE_FALSE(reply.is_error());
}

Names find_family(rlctl::redis::Connection& connection, const std::string& key,
                  const OnScanned& on_scanned = {}) {
  return find_families(connection, std::span(&key, 1), FamilyKeys::kLimiters, on_scanned).front();
}

}  // namespace

TEST_CASE("the window is parsed from the key names of several limits") {
  const std::vector<Limit> limits{{1, 1us, {}}, {1, 1500us, {}}, {1, 20ms, {}},
                                  {1, 1s, {}},  {1, 60s, {}},    {1, 90min, {}},
                                  {1, 24h, {}}, {1, 1001ms, {}}, {1, 100000000s, {}}};
  for (const std::string key : {"login:alice", "a{tag}b", "{tag}", "a:b:c", "{", "x{}", "k:60s"}) {
    const auto names = redis_keys(key, limits);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      CAPTURE(names[i]);
      CHECK(window_in_name(names[i]) == limits[i].window);
    }
  }
}

TEST_CASE("no window is parsed from a name in any other form") {
  const Names times{"{a}:s",   "{a}:60",  "{a}:060s",   "{a}:0s",        "{a}:-1s",
                    "{a}:+1s", "{a}:1m",  "{a}:1000ms", "{a}:1000us",    "{a}:1000000us",
                    "{a}: 1s", "{a}:1s ", "{a}:1s:",    "{a}:100000001s"};
  const Names others{
      "login:alice:60s", "login:alice", "{login:alice}", "{login:alice}:", "{}:60s", "a:{60s}",
      "a:60s{b}",        "{a:60s",      "a}:60s",        ":60s",           "",       ":",
      "{a}:1.5s",        "{a}:60S",     "}x:1s"};
  for (const auto& names : {times, others}) {
    for (const auto& name : names) {
      CAPTURE(name);
      CHECK_FALSE(window_in_name(name));
    }
  }
  CHECK_FALSE(window_in_name("{a}:99999999999999999999s"));
}

TEST_CASE("usual names are those of redis_keys(), the shortest window first") {
  const auto names = usual_family_names("k");
  microseconds before{0};
  for (const auto& name : names) {
    CAPTURE(name);
    REQUIRE(window_in_name(name));
    CHECK(*window_in_name(name) >= before);
    before = *window_in_name(name);
  }
  CHECK(std::ranges::count(names, "{k}:year@UTC") == 1);
  CHECK(usual_family_names("}").empty());
}

TEST_CASE("a family with windows of the same length has each of them once") {
  TestServer server;
  const Names family{"{k}:86400s", "{k}:day@Europe/Zurich", "{k}:day@UTC"};
  for (const auto& name : family) ask(server, name);
  CHECK(find_family(server.connection(), "k") == family);
  CHECK(find_usual_family(server.connection(), "k", FamilyKeys::kLimiters).keys ==
        Names{"{k}:86400s", "{k}:day@UTC"});
}

TEST_CASE("the family of a key are the limiters named after it, shortest window first") {
  TestServer server;
  for (const auto* name : {"{login:alice}:60s", "{login:alice}:1s", "{login:alice}:1500us",
                           "login:alice", "{login:bob}:1s", "{login:alice}:1m", "x{login:alice}:1s",
                           "{login:alice}x:1s", "{login:alice}:a:1s", "login:alice:1s"}) {
    ask(server, name);
  }
  const Names family{"{login:alice}:1500us", "{login:alice}:1s", "{login:alice}:60s"};
  CHECK(find_family(server.connection(), "login:alice") == family);
  CHECK(find_family(server.connection(), "{login:alice}") == family);
  CHECK(find_family(server.connection(), "login:eve").empty());
}

TEST_CASE("the keys in the family of a key with a hash tag start with its own name") {
  TestServer server;
  for (const auto* name : {"a{tag}b:1s", "a{tag}b:2s", "{a{tag}b}:3s", "a{tag}c:1s"}) {
    ask(server, name);
  }
  CHECK(find_family(server.connection(), "a{tag}b") == Names{"a{tag}b:1s", "a{tag}b:2s"});
}

TEST_CASE("a key without a limiter's state is in the family only if it is asked for") {
  TestServer server;
  ask(server, "{k}:1s", "sliding-window-log");
  (void)server.call({"SET", "{k}:2s", "17"});
  (void)server.call({"HSET", "{k}:3s", "f", "v"});
  (void)server.call({"ZADD", "{k}:4s", "1700000000123", "a"});
  const auto before = server.dump("{k}:3s") + server.dump("{k}:2s") + server.dump("{k}:1s");
  CHECK(find_family(server.connection(), "k") == Names{"{k}:1s"});
  const Names names{"k"}, all{"{k}:1s", "{k}:2s", "{k}:3s", "{k}:4s"};
  CHECK(find_families(server.connection(), names, FamilyKeys::kAll).front() == all);
  CHECK(find_usual_family(server.connection(), "k", FamilyKeys::kLimiters).keys == Names{"{k}:1s"});
  CHECK(find_usual_family(server.connection(), "k", FamilyKeys::kAll).keys ==
        Names{"{k}:1s", "{k}:2s"});
  CHECK(server.dump("{k}:3s") + server.dump("{k}:2s") + server.dump("{k}:1s") == before);
}

TEST_CASE("special characters in a key are not treated as a pattern") {
  TestServer server;
  for (const auto& key : Names{"a*", "a?", "a[bc]", "a\\", "a\\*", std::string("a\0\n", 3)}) {
    CAPTURE(key);
    const auto name = redis_keys(key, std::vector<Limit>{{1, 1s, {}}, {1, 2s, {}}}).front();
    ask(server, name);
    ask(server, "{ab}:1s");
    ask(server, "{a*b}:1s");
    CHECK(find_family(server.connection(), key) == Names{name});
    CHECK(find_families(server.connection(), std::vector<std::string>{"b", key},
                        FamilyKeys::kLimiters)[1] == Names{name});
  }
}

TEST_CASE("keys that cannot have several limits have no family, and no scan is run") {
  TestServer server;
  ask(server, "{}:1s");
  ask(server, "{}}:1s");
  int calls = 0;
  CHECK(find_family(server.connection(), "", [&](double) { ++calls; }).empty());
  CHECK(find_family(server.connection(), "}", [&](double) { ++calls; }).empty());
  CHECK(calls == 0);
}

TEST_CASE("the families of several keys are found in one scan, in the order of the keys") {
  TestServer server;
  for (int i = 0; i < 3000; ++i) server.connection().append({"SET", std::to_string(i), "v"});
  for (int i = 0; i < 3000; ++i) (void)server.connection().read();
  for (const auto* name : {"{a}:1s", "{a}:2s", "{c}:1s", "{d}:1s"}) ask(server, name);
  double last = 0;
  int calls = 0;
  const auto families =
      find_families(server.connection(), std::vector<std::string>{"c", "b", "", "a", "{a}"},
                    FamilyKeys::kLimiters, [&](double share) {
                      CHECK(share >= last);
                      last = share;
                      ++calls;
                    });
  CHECK(families ==
        std::vector<Names>{{"{c}:1s"}, {}, {}, {"{a}:1s", "{a}:2s"}, {"{a}:1s", "{a}:2s"}});
  CHECK(last == 1);
  CHECK(calls <= 5);
}

TEST_CASE("the leases of a key that also has limits belong to its family, after the limits") {
  CHECK(leases_key("login:alice") == "{login:alice}:leases");
  CHECK(leases_key("a{tag}b") == "a{tag}b:leases");
  CHECK_THROWS_AS(static_cast<void>(leases_key("}")), rlctl::UsageError);
  TestServer server;
  auto& connection = server.connection();
  const auto lease = [&](const std::string& key) {
    const auto reply = server.eval(algorithm("concurrency").script, {key},
                                   {"1", "60000000", "acquire", "host:1:now"});
    REQUIRE_FALSE(reply.is_error());
  };
  ask(server, "{k}:86400s");
  for (const std::string key : {"{k}:leases", "{k}:less", "{k}:lease:leases", "{other}:leases"}) {
    lease(key);
  }
  const Names family{"{k}:86400s", "{k}:leases"};
  CHECK(find_family(connection, "k") == family);
  CHECK(find_usual_family(connection, "k", FamilyKeys::kLimiters).keys == family);
  const Names keys{"k", "other"};
  CHECK(find_families(connection, keys, FamilyKeys::kAll)[1] == Names{"{other}:leases"});
}

}  // namespace stored_key_family_test
