// needs: server
#include "limiter/lease_model.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "limiter/check.h"
#include "support/lease_calls.h"
#include "support/limiters.h"
#include "support/observed.h"
#include "support/random.h"
#include "support/shrink.h"

namespace limiter_concurrency_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

struct Difference {
  std::size_t call = 0;
  std::string expected;
  std::string actual;
};

std::string existing(std::string answer, bool exists) {
  return exists ? answer : answer + " and no key";
}

std::optional<Difference> run(TestServer& server, const std::vector<LeaseCall>& calls) {
  const auto& script = algorithm("concurrency");
  auto& connection = server.connection();
  for (const LeaseCall& call : calls) {
    const auto arguments = call.arguments();
    std::vector<std::string_view> command{"EVALSHA", script.sha1, "1", "k"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    connection.append(command);
    connection.append({"EXISTS", "k"});
  }
  connection.append({"UNLINK", "k"});
  std::optional<Difference> difference;
  LeaseModel model;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto expected = to_text(ask(model, calls[i]));
    const auto reply = connection.read();
    auto actual = reply.is_error() ? std::string(reply.text()) : to_text(Checker::parse(reply));
    expected = existing(expected, !model.empty());
    actual = existing(actual, connection.read().integer() == 1);
    if (!difference && expected != actual) difference = Difference{i, expected, actual};
  }
  (void)connection.read();
  return difference;
}

std::string explain(TestServer& server, std::vector<LeaseCall> calls) {
  calls = shrink(std::move(calls), [&](const std::vector<LeaseCall>& fewer) {
    return run(server, fewer).has_value();
  });
  const auto difference = run(server, calls);
  if (!difference) return "(gone when run again)";
  std::string text;
  for (std::size_t i = 0; i <= difference->call; ++i) {
    text += "\n    redis-cli --eval lua/concurrency.lua k ,";
    for (const auto& argument : calls[i].arguments()) text += " " + argument;
  }
  return text + "\n  model:  " + difference->expected + "\n  script: " + difference->actual;
}

/// The state that a call leaves, and the script's reply.
struct Answer {
  std::string error;
  std::string dump_before;
  std::string dump_after;
};

Answer eval(TestServer& server, const std::vector<std::string>& keys,
            const std::vector<std::string>& arguments) {
  Answer answer;
  answer.dump_before = server.dump("k");
  const auto reply = server.eval(algorithm("concurrency").script, keys, arguments);
  answer.error = reply.is_error() ? std::string(reply.text()) : "";
  answer.dump_after = server.dump("k");
  return answer;
}

}  // namespace

TEST_CASE("concurrency: script and model agree on random holders") {
  TestServer server;
  const auto loaded = server.call({"SCRIPT", "LOAD", algorithm("concurrency").script});
  REQUIRE_FALSE(loaded.is_error());
  Random random;
  for (std::int64_t done = 0; done < operations(scaled(30'000, 300'000));) {
    const auto calls = plan_lease_calls(random).calls;
    done += std::ssize(calls);
    if (run(server, calls)) FAIL("script and model differ:", explain(server, calls));
  }
}

TEST_CASE("concurrency: a wrong argument is reported with its value, and nothing is written") {
  TestServer server;
  const std::vector<std::string> names{"limit", "lease", "action", "id", "now"};
  const std::vector<std::string> good{"2", "1e6", "acquire", "me", "1700000000000000"};
  const std::vector<std::vector<std::string>> bad{
      {"", "0", "-1", "1.5", "x", "nan", "inf", "1000000001"},
      {"", "0", "-1", "1.5", "x", "nan", "inf", "100000000000001"},
      {"", "Acquire", "take"},
      {""},
      {"-1", "1.5", "x", "nan", "inf", "4000000000000001"}};
  for (const bool used : {false, true}) {
    if (used) REQUIRE(eval(server, {"k"}, good).error.empty());
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (const auto& value : bad[i]) {
        auto arguments = good;
        arguments[i] = value;
        const auto answer = eval(server, {"k"}, arguments);
        CAPTURE(answer.error);
        CHECK(answer.error.starts_with("ERR concurrency: " + names[i] + " "));
        CHECK(answer.error.find("'" + value + "'") != std::string::npos);
        CHECK(answer.dump_after == answer.dump_before);
      }
      const auto missing = eval(server, {"k"}, {good.begin(), good.begin() + static_cast<long>(i)});
      if (i < 4) CHECK(missing.error.starts_with("ERR concurrency: " + names[i] + " "));
      if (i == 4) CHECK(missing.error.empty());
    }
    (void)server.call({"DEL", "k"});
  }
  auto many = good;
  many.emplace_back("");
  CHECK(eval(server, {"k"}, many).error ==
        "ERR concurrency: ARGV must be limit lease action id, then now, not '6 values'");
  CHECK(eval(server, {}, good).error == "ERR concurrency: KEYS must be one key, not '0 keys'");
  CHECK(eval(server, {"k", "l"}, good).error ==
        "ERR concurrency: KEYS must be one key, not '2 keys'");
}

TEST_CASE("concurrency: a key of another type or content is refused and left unchanged") {
  TestServer server;
  const std::vector<std::vector<std::string>> foreign{
      {"SET", "k", "1"},
      {"RPUSH", "k", "1"},
      {"SADD", "k", "lease:a"},
      {"HSET", "k", "a", "b"},
      {"ZADD", "k", "1", "a"},
      {"ZADD", "k", "-3", "limit"},
      {"ZADD", "k", "3", "limit", "1700000000000000", "lease:a"},
      {"ZADD", "k", "0", "limit", "1700000000000000", "lease:a"},
      {"ZADD", "k", "-3", "limit", "1700000000000000.5", "lease:a"},
      {"ZADD", "k", "-3", "limit", "5000000000000001", "lease:a"},
      {"ZADD", "k", "1700000000000000", "1700000000000000:0000000000"},
      {"XADD", "k", "1-1", "a", "b"}};
  for (const auto& command : foreign) {
    CAPTURE(command[0]);
    REQUIRE_FALSE(server.call(command).is_error());
    for (const auto* action : {"acquire", "renew", "release"}) {
      const auto answer = eval(server, {"k"}, {"2", "1e6", action, "me", "1700000000000000"});
      CHECK(answer.error.starts_with("WRONGTYPE concurrency: KEYS[1] "));
      CHECK(answer.dump_after == answer.dump_before);
    }
    (void)server.call({"DEL", "k"});
  }
}

TEST_CASE("concurrency: leases without a stored limit, and the latest possible one, are read") {
  TestServer server;
  const std::vector<std::vector<std::string>> accepted{
      {"ZADD", "k", "1700000000000001", "lease:a"},
      {"ZADD", "k", "-3", "limit", "5000000000000000", "lease:a"}};
  for (const auto& command : accepted) {
    REQUIRE_FALSE(server.call(command).is_error());
    CHECK(eval(server, {"k"}, {"1", "1", "renew", "a", "1700000000000000"}).error.empty());
    (void)server.call({"DEL", "k"});
  }
}

TEST_CASE("concurrency: a user who may not read the key is told so") {
  TestServer server;
  (void)server.call({"ACL", "SETUSER", "default", "-zrange"});
  const auto refused =
      server.eval(algorithm("concurrency").script, {"k"}, {"1", "1e6", "acquire", "me"});
  CHECK(refused.is_error());
  CHECK(refused.text().find("WRONGTYPE") == std::string_view::npos);
}

TEST_CASE("concurrency: a TTL covers the last lease and is never shortened") {
  TestServer server;
  for (const bool servers_clock : {false, true}) {
    const auto ask_script = [&](const char* lease, const char* action, const char* id) {
      std::vector<std::string> arguments{"5", lease, action, id};
      if (!servers_clock) arguments.emplace_back("1700000000000000");
      return Checker::parse(server.eval(algorithm("concurrency").script, {"k"}, arguments));
    };
    const std::int64_t margin_ms = servers_clock ? 0 : 3'600'000;
    CHECK(ask_script("60e9", "acquire", "a").allowed);
    CHECK(server.pttl("k") > 59'000'000 + margin_ms);
    CHECK(ask_script("600e9", "acquire", "b").allowed);
    CHECK(server.pttl("k") > 599'000'000 + margin_ms);
    CHECK(ask_script("1e9", "acquire", "c").allowed);
    CHECK(ask_script("1e9", "release", "b").allowed);
    CHECK(server.pttl("k") > 598'000'000 + margin_ms);
    (void)server.call({"DEL", "k"});
  }
}

TEST_CASE("concurrency: a TTL is what is left of the lease, rounded up to milliseconds") {
  TestServer server;
  ObservedScript script(server, algorithm("concurrency"));
  script.servers_clock = 1'700'000'000s;
  for (const bool servers_clock : {false, true}) {
    for (const std::int64_t lease_us : {1, 999, 1000, 1001, 2000}) {
      CAPTURE(lease_us);
      std::vector<std::string> arguments{"5", std::to_string(lease_us), "acquire", "me"};
      if (!servers_clock) arguments.emplace_back("1700000000000000");
      (void)server.call({"DEL", "k"});
      REQUIRE_FALSE(script.eval({"k"}, arguments).is_error());
      const auto ttl_ms = (lease_us + 999) / 1000 + (servers_clock ? 0 : 3'600'000);
      CHECK(script.ttls_set() == std::vector{"k " + std::to_string(ttl_ms)});
    }
  }
}

}  // namespace limiter_concurrency_test
