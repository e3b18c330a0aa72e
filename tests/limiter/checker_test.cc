// needs: server
#include "limiter/check.h"

#include <doctest/doctest.h>

#include <array>
#include <climits>
#include <cstdint>
#include <string>

#include "redis/connection.h"
#include "support/failure.h"
#include "support/fake_transport.h"
#include "support/limiters.h"

namespace limiter_checker_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using test::algorithm;
using test::TestServer;

namespace {

using Numbers = std::array<std::int64_t, 6>;

constexpr microseconds kNow{1'700'000'000'000'000};

const std::string kYes = "*6\r\n:1\r\n:4\r\n:0\r\n:60000000\r\n:0\r\n:0\r\n";
const std::string kNoScript = "-NOSCRIPT No matching script. Please use EVAL.\r\n";
const std::string kLoaded = "$40\r\n" + std::string(40, 'a') + "\r\n";

/// The words of a command, without RESP around them; an empty one as ''.
std::string words(const std::string& resp) {
  std::string text;
  for (std::size_t at = 0; at < resp.size();) {
    const auto line = resp.find("\r\n", at);
    if (resp[at] == '$') {
      const auto size = std::stoul(resp.substr(at + 1, line - at - 1));
      text += size == 0 ? " ''" : " " + resp.substr(line + 2, size);
      at = line + 2 + size + 2;
    } else {
      at = line + 2;
    }
  }
  return text;
}

std::string sent_for(const Request& request) {
  support::Wire wire{.to_read = {kYes}};
  auto connection = support::over(wire);
  (void)Checker(connection, algorithm("gcra")).check(request);
  return words(wire.sent);
}

redis::Error error_of_check(redis::Connection& connection) {
  return support::error_of([&] {
    (void)Checker(connection, algorithm("gcra")).check({{"k"}, {{5, 60s, {}}}, 1, {}});
  });
}

std::string error_of(TestServer& server, const std::string& script) {
  try {
    (void)Checker::parse(server.eval(script, {}, {}));
  } catch (const redis::Error& error) {
    return error.code() + "|" + error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a request omits arguments that have their default") {
  const std::string evalsha = " EVALSHA " + std::string(algorithm("gcra").sha1);
  CHECK(sent_for({{"k"}, {{5, 60s, {}}}, 1, {}}) == evalsha + " 1 k 5 60000000");
  CHECK(sent_for({{"k"}, {{5, 60s, 9}}, 1, {}}) == evalsha + " 1 k 5 60000000 9");
  CHECK(sent_for({{"k"}, {{5, 60s, {}}}, -2, {}}) == evalsha + " 1 k 5 60000000 '' -2");
  CHECK(sent_for({{"k"}, {{5, 60s, {}}}, 0, kNow}) ==
        evalsha + " 1 k 5 60000000 '' 0 1700000000000000");
  CHECK(sent_for({{"k"}, {{5, 60s, {}}}, 1, kNow}) ==
        evalsha + " 1 k 5 60000000 '' '' 1700000000000000");
  CHECK(sent_for({{"a", "b"}, {{5, 60s, {}}, {1, 1s, {}}}, 1, {}}) ==
        evalsha + " 2 a b 5 60000000 '' 1 1000000");
  CHECK(sent_for({{""}, {{1'000'000'000, 100'000'000s, 1'000'000'000}}, 1'000'000'000, 0us}) ==
        evalsha + " 1 '' 1000000000 100000000000000 1000000000 1000000000 0");
}

TEST_CASE("six integers are parsed as a decision") {
  support::Wire wire{.to_read = {"*6\r\n:0\r\n:2\r\n:-1\r\n:7\r\n:0\r\n:3\r\n"}};
  auto connection = support::over(wire);
  CHECK(Checker(connection, algorithm("gcra")).check({{"k"}, {{5, 60s, {}}}, 1, {}}) ==
        Decision{false, 2, kNever, 7us, 0us, 3});
}

TEST_CASE("any other reply is not accepted as a limiter's answer") {
  TestServer server;
  CHECK(error_of(server, "return {0, 2, 3, 4, 0, 6}") == "accepted");
  for (const std::string script :
       {"return {1, 2, 3, 4, 5}", "return {1, 2, 3, 4, 5, 6, 7}", "return {1, 2, 3, 4, 5, '6'}",
        "return {1, 2, 3, 4, 5, {6}}", "return 1", "return 'OK'", "return nil"}) {
    CAPTURE(script);
    CHECK(error_of(server, script) == "|the reply is not that of a limiter script: six integers");
  }
  CHECK(
      error_of(server, "return redis.error_reply('WRONGTYPE gcra: no')").starts_with("WRONGTYPE|"));
}

TEST_CASE("six integers that no limiter can have computed are not a decision") {
  const auto is_accepted = [](const Numbers& numbers, const char* name = "leaky-bucket") {
    std::string reply = "*6\r\n";
    for (const auto number : numbers) reply += ":" + std::to_string(number) + "\r\n";
    support::Wire wire{.to_read = {reply}};
    auto connection = support::over(wire);
    try {
      (void)Checker(connection, algorithm(name)).check({{"k"}, {{5, 60s, {}}}, 1, {}});
      return true;
    } catch (const redis::Error& error) {
      CHECK(error.failure() == redis::Failure::kRejected);
      return false;
    }
  };
  constexpr auto kLatest = kLatestComputed.count();
  // A limit that was lowered may leave one more than the largest limit.
  const Numbers least_denied{0, 0, -1, 0, 0, 1}, least_allowed{1, 0, 0, 0, 0, 0},
      most_denied{0, kLargestLimit + 1, kLatest, kLatest, 0, INT_MAX},
      most_allowed{1, kLargestLimit + 1, 0, kLatest, kLatest, 0};
  for (const auto& least : {least_denied, least_allowed}) {
    CHECK(is_accepted(least));
    for (std::size_t i = 0; i < least.size(); ++i) {
      CAPTURE(i);
      auto below = least;
      --below[i];
      CHECK_FALSE(is_accepted(below));
    }
  }
  for (const auto& most : {most_denied, most_allowed}) {
    CHECK(is_accepted(most));
    for (std::size_t i = 0; i < most.size(); ++i) {
      CAPTURE(i);
      auto above = most;
      ++above[i];
      CHECK_FALSE(is_accepted(above));
    }
  }
  // Whoever waits would ask again at once, or sleep although nothing delays the request.
  CHECK_FALSE(is_accepted({0, 0, 0, 0, 0, 1}));
  CHECK_FALSE(is_accepted({1, 4, 1, 0, 0, 0}));
  CHECK(is_accepted({1, 4, 0, 0, 1, 0}));
  CHECK_FALSE(is_accepted({1, 4, 0, 0, 1, 0}, "gcra"));
}

TEST_CASE("a script that the server does not have is loaded, and the request is sent again") {
  support::Wire wire{.to_read = {kNoScript, kLoaded, kYes}};
  auto connection = support::over(wire);
  const auto& gcra = algorithm("gcra");
  CHECK(Checker(connection, gcra).check({{"k"}, {{5, 60s, {}}}, 1, {}}).remaining == 4);
  const auto question = " EVALSHA " + std::string(gcra.sha1) + " 1 k 5 60000000";
  CHECK(words(wire.sent) == question + " SCRIPT LOAD " + std::string(gcra.script) + question);
}

TEST_CASE("a script that is missing again and again after loading is an error") {
  support::Wire wire{.to_read = {kNoScript}};
  for (int i = 0; i < kMaxLoads; ++i) {
    wire.to_read.insert(wire.to_read.end(), {kLoaded, kNoScript});
  }
  auto connection = support::over(wire);
  CHECK(error_of_check(connection).code() == "NOSCRIPT");
}

TEST_CASE("if the script may not be loaded, the error of SCRIPT LOAD is reported") {
  support::Wire wire{
      .to_read = {kNoScript, "-NOPERM this user has no permissions to run 'script|load'\r\n"}};
  auto connection = support::over(wire);
  CHECK(error_of_check(connection).failure() == redis::Failure::kRefused);
}

TEST_CASE("looks use EVALSHA_RO, and EVALSHA once the server or an ACL has refused that") {
  const auto& gcra = algorithm("gcra");
  const Request request{.keys = {"k"}, .limits = {{5, 60s, {}}}, .now = {}};
  const auto call = " " + std::string(gcra.sha1) + " 1 k 5 60000000 '' 0";
  support::Wire modern_wire{.to_read = {kYes}};
  auto yes = support::over(modern_wire);
  Checker modern(yes, gcra);
  modern.append_read_only_peeks(request);
  CHECK_FALSE(modern.note_missing_evalsha_ro(yes.read()));
  CHECK(words(modern_wire.sent) == " EVALSHA_RO" + call);

  for (const char* refusal :
       {"-ERR unknown command `EVALSHA_RO`, with args beginning with: `a`, `1`, `k`, \r\n",
        "-ERR unknown command 'EVALSHA_RO', with args beginning with: 'a' '1' 'k' \r\n",
        "-NOPERM this user has no permissions to run the 'evalsha_ro' command\r\n",
        "-NOPERM User ann has no permissions to run the 'evalsha_ro' command\r\n"}) {
    CAPTURE(refusal);
    support::Wire wire{.to_read = {refusal, kYes, kYes}};
    auto connection = support::over(wire);
    Checker checker(connection, gcra);
    checker.append_read_only_peeks(request);
    CHECK(checker.note_missing_evalsha_ro(connection.read()));
    for (int i = 0; i < 2; ++i) {
      checker.append_read_only_peeks(request);
      CHECK_FALSE(checker.note_missing_evalsha_ro(connection.read()));
    }
    CHECK(words(wire.sent) == " EVALSHA_RO" + call + " EVALSHA" + call + " EVALSHA" + call);
  }

  for (const char* other :
       {"-NOPERM User ann has no permissions to access the 'evalsha_ro' key\r\n",
        "-ERR unknown command `EVALSHA`, with args beginning with: `evalsha_ro`, \r\n",
        "-ERR unknown command \r\n", "-ERR unknown command '\r\n"}) {
    support::Wire wire{.to_read = {other}};
    auto connection = support::over(wire);
    Checker checker(connection, gcra);
    checker.append_read_only_peeks(request);
    CHECK_FALSE(checker.note_missing_evalsha_ro(connection.read()));
  }
}

}  // namespace limiter_checker_test
