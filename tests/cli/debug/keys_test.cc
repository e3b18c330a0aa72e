// needs: server
#include "cli/commands/debug/keys.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "limiter/check.h"
#include "redis/connection.h"
#include "redis/server.h"

namespace cli_debug_keys_test {

using namespace std::chrono_literals;
using namespace rlctl::cli::debug;
using rlctl::redis::Connection;
using rlctl::redis::PrivateServer;

namespace {

using Command = std::vector<std::string_view>;

void call(Connection& connection, const std::vector<Command>& commands) {
  for (const auto& command : commands) REQUIRE_FALSE(connection.call(command).is_error());
}

/// The report on these keys after the commands, one line each.
std::vector<std::string> report(Connection& connection, const std::vector<Command>& before,
                                const std::vector<std::string>& keys,
                                const std::vector<Command>& commands) {
  call(connection, {{"FLUSHALL"}});
  call(connection, before);
  Plan plan;
  plan.debuggee.keys = keys;
  const auto there = look(plan, connection);
  call(connection, commands);
  std::vector<std::string> lines;
  for (const auto& change : changes(keys, there, look(plan, connection))) {
    lines.push_back(text_of(change, true));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a stream, and a key that becomes another type, are reported before and after") {
  const PrivateServer server;
  auto connection = Connection::open(server.url(), 10s);
  CHECK(report(connection, {}, {"k"}, {{"XADD", "k", "1-1", "f", "v"}}) ==
        Lines{"'k': not there → stream, 1 entry, no ttl"});
  CHECK(report(connection, {{"SET", "k", "1"}}, {"k"}, {{"DEL", "k"}, {"RPUSH", "k", "1"}}) ==
        Lines{"'k': string, \"1\", no ttl → list, 1 element: \"1\", no ttl"});
}

TEST_CASE("a key that was only read, or is still missing, is reported as before") {
  const PrivateServer server;
  auto connection = Connection::open(server.url(), 10s);
  CHECK(report(connection, {{"SET", "k", "5"}, {"SET", "other", "1"}}, {"k", "none", "k"},
               {{"GET", "k"}, {"GET", "other"}, {"EXISTS", "none"}}) ==
        Lines{"'k': string, \"5\", no ttl, as before", "'none': not there, as before"});
}

TEST_CASE("a TTL that counts down is not a change, but one that is set to another time is") {
  const PrivateServer server;
  auto connection = Connection::open(server.url(), 10s);
  call(connection, {{"SET", "k", "5", "PX", "100000"}});
  Plan plan;
  plan.debuggee.keys = {"k"};
  const auto there = look(plan, connection);
  const auto has_changed = [&] {
    return changes(plan.debuggee.keys, there, look(plan, connection)).front().changed;
  };
  (void)connection.call({"BLPOP", "none", "0.05"});
  CHECK_FALSE(has_changed());
  call(connection, {{"PEXPIRE", "k", "100000"}});
  CHECK_FALSE(has_changed());
  call(connection, {{"PEXPIRE", "k", "102000"}});
  CHECK(has_changed());
  call(connection, {{"PERSIST", "k"}});
  CHECK(has_changed());
}

TEST_CASE("other keys are reported if they changed, appeared or disappeared") {
  const PrivateServer server;
  auto connection = Connection::open(server.url(), 10s);
  CHECK(report(connection, {{"SET", "a", "1"}, {"SET", "b", "1"}, {"SET", "c", "1"}}, {"k"},
               {{"INCR", "a"}, {"DEL", "b"}, {"SET", "d\n", "1"}}) ==
        Lines{"'k': not there, as before", "'a': string, \"1\" → \"2\", no ttl",
              "'b': string, \"1\", no ttl → removed", "'d\\n': not there → string, \"1\", no ttl"});
}

TEST_CASE("a limiter's state is reported with its meaning and the limits of each key") {
  const PrivateServer server;
  auto connection = Connection::open(server.url(), 10s);
  for (const auto& algorithm : rlctl::limiter::algorithms()) {
    if (!rlctl::limiter::counts_requests(algorithm)) continue;
    CAPTURE(algorithm.name);
    call(connection, {{"FLUSHALL"}});
    Plan plan{.algorithm = &algorithm,
              .limits = {{.limit = 5, .window = 60s}, {.limit = 9, .window = 3600s}}};
    const rlctl::limiter::Request request{
        .keys = {"{k}:60s", "{k}:3600s"}, .limits = plan.limits, .now = 1767225660s};
    rlctl::limiter::Checker checker(connection, algorithm);
    (void)checker.check(request);
    plan.now = request.now;
    plan.debuggee.keys = {request.keys.begin(), request.keys.end()};
    const auto there = look(plan, connection);
    (void)checker.check(request);
    const auto all = changes(plan.debuggee.keys, there, look(plan, connection));
    REQUIRE(all.size() == 2);
    CHECK(all[0].changed);
    CHECK(all[0].before->content == "1 of 5 used");
    CHECK(all[0].after->content == "2 of 5 used");
    CHECK(all[1].after->content == "2 of 9 used");
  }
}

TEST_CASE("keys in this process are shown as those of a server") {
  using rlctl::keyspace::Keyspace;
  const auto state_after = [](const Plan& plan, const std::vector<Command>& commands) {
    Keyspace keys(1767225660s);
    std::string reply;
    for (const auto& command : commands) keys.call(command, false, reply);
    REQUIRE(reply.find('-') != 0);
    const auto states = look(plan, keys);
    REQUIRE(states.size() == 1);
    return text_of(states.begin()->second.text);
  };
  const Plan plan;
  CHECK(state_after(plan, {{"SET", "k", std::string(100, 'x') + "\n"}, {"PEXPIRE", "k", "1500"}}) ==
        "string, \"" + std::string(40, 'x') + "...\" (101 bytes), ttl 1.5 s");
  CHECK(state_after(plan, {{"RPUSH", "k", "a", "b", "c", "d"}}) ==
        "list, 4 elements: \"a\", \"b\", \"c\", ..., no ttl");
  CHECK(state_after(plan, {{"HSET", "k", "f", "1"}}) == "hash, 1 field: \"f\" = \"1\", no ttl");
  CHECK(state_after(plan, {{"ZADD", "k", "1.5", "m"}}) == "zset, 1 member: \"m\" at 1.5, no ttl");
  CHECK(state_after(plan, {{"SADD", "k", "m"}}) == "set, 1 member: \"m\", no ttl");
  for (const auto& algorithm : rlctl::limiter::algorithms()) {
    if (!rlctl::limiter::counts_requests(algorithm)) continue;
    CAPTURE(algorithm.name);
    Plan call{.algorithm = &algorithm, .limits = {{.limit = 5, .window = 60s}}};
    rlctl::limiter::CheckCommand command(algorithm);
    const std::vector<std::string> names = {"k"};
    const auto words =
        command.of({.keys = names, .limits = call.limits, .now = 1767225660s}).arguments;
    call.debuggee = {.name = "limiter",
                     .source = std::string(algorithm.script),
                     .keys = names,
                     .arguments = {words.begin(), words.end()}};
    Keyspace keys(1767225660s);
    (void)rlctl::debugger::count_lines(call.debuggee, keys, nullptr, 1000);
    CHECK(look(call, keys).at("k").text.content == "1 of 5 used");
    (void)rlctl::debugger::count_lines(call.debuggee, keys, nullptr, 1000);
    CHECK(look(call, keys).at("k").text.content == "2 of 5 used");
  }
}

}  // namespace cli_debug_keys_test
