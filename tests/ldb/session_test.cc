#include "ldb/session.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "redis/private_server.h"
#include "support/debug_session.h"
#include "support/failure.h"

namespace ldb_session_test {

using namespace std::chrono_literals;
using namespace rlctl::test::debug_session;
using rlctl::UsageError;
using namespace rlctl::ldb;
using namespace rlctl::redis;
using namespace support;
using Items = std::vector<std::string>;

TEST_CASE("the writes of a forked session are discarded") {
  const PrivateServer server;
  auto connection = open(server.url());
  (void)connection.call({"SET", "k", "before"});
  auto session = session_on(server, Mode::kForked);
  auto message =
      start(session, "redis.call('SET', 'k', 'x')\nreturn redis.call('SET', 'other', 'x')");
  CHECK(children_of(server.pid()).size() == 1);
  CHECK(lines_of(session, std::move(message)) == std::vector{1, 2});
  CHECK(connection.call({"GET", "k"}).text() == "before");
  CHECK(connection.call({"DBSIZE"}).integer() == 1);
  CHECK(is_left_alone(server));
}

TEST_CASE("the server keeps serving during a forked session, and two sessions do not interfere") {
  const PrivateServer server;
  auto first = session_on(server, Mode::kForked);
  auto second = session_on(server, Mode::kForked);
  CHECK(start(first, "local a = 1\nreturn 'first'").stop);
  CHECK(start(second, "return 'second'").stop);
  CHECK(open(server.url()).call({"PING"}).text() == "PONG");
  CHECK(first.step().stop == Stop{.line = 2});
  CHECK(second.step().ended);
  CHECK(second.reply()->text() == "second");
  CHECK(first.step().ended);
  CHECK(first.reply()->text() == "first");
}

TEST_CASE("data that looks like a stop or an end is not taken for one") {
  const PrivateServer server;
  auto session = session_on(server);
  const std::string fake = "* Stopped at 9, stop reason = step over\\r\\n-> 9\\r\\n<endsession>";
  CHECK(start(session, "redis.call('SET', '" + fake + "', '<endsession>')\n" + "redis.debug('" +
                           fake + "')\nreturn 1")
            .stop);
  auto message = session.step();
  CHECK(message.stop == Stop{.line = 2});
  CHECK(message.items.size() == 2);
  message = session.step();
  CHECK(message.stop == Stop{.line = 3});
  CHECK(message.items.size() == 1);
  CHECK(session.step().ended);
  CHECK(session.reply()->integer() == 1);
}

TEST_CASE("the answer to a command may be empty") {
  const PrivateServer server;
  auto session = session_on(server);
  CHECK(start(session, "return 1").stop);
  const auto message = session.ask({"list", "1000", "0"});
  CHECK(message.items.empty());
  CHECK_FALSE(message.ended);
}

TEST_CASE("a command for which the server would end the session is not sent") {
  const PrivateServer server;
  const std::size_t longest = is_valkey_9(server) ? 1000 : 1024;
  auto session = session_on(server);
  CHECK(start(session, "return 1").stop);
  CHECK_THROWS_AS((void)session.ask({}), UsageError);
  CHECK_THROWS_AS((void)session.ask({""}), UsageError);
  CHECK_THROWS_AS((void)session.ask({"print", ""}), UsageError);
  CHECK_THROWS_AS((void)session.ask({"print", std::string(1025, 'x')}), UsageError);
  CHECK_THROWS_AS((void)session.ask({"redis", "GET", std::string(1025, ' ')}), UsageError);
  CHECK_THROWS_AS((void)session.ask({"eval", std::string(1025, 'x')}), UsageError);
  CHECK_THROWS_AS((void)session.ask(Items(1025, "print")), UsageError);
  CHECK_THROWS_AS((void)session.ask(Items(1024, std::string(1024, 'x'))), UsageError);
  CHECK(session.ask({"print", std::string(longest, 'x')}).items == Items{"No such variable."});
  CHECK(session.step().ended);
  CHECK(session.reply()->integer() == 1);
}

TEST_CASE("long code is split at blanks and joined by the server") {
  const PrivateServer server;
  const bool valkey_9 = is_valkey_9(server);
  std::string words;
  for (int i = 0; i < 700; ++i) words += "w" + std::to_string(i) + (i % 7 == 0 ? "  " : " ");
  REQUIRE(words.size() > 3 * 1024);
  const Items command{"eval", "return redis.sha1hex('" + words + "')"};
  auto session = session_on(server);
  CHECK(start(session, "return 1").stop);
  if (valkey_9) {
    CHECK_THROWS_AS((void)session.ask(command), UsageError);
    CHECK(session.step().ended);
    CHECK(session.reply()->integer() == 1);
    return;
  }
  const auto answer = session.ask(command).items;
  CHECK(session.step().ended);
  const auto expected =
      open(server.url()).call({"EVAL", "return redis.sha1hex(ARGV[1])", "0", words});
  REQUIRE(answer.size() == 1);
  CHECK(contains(answer[0], std::string(expected.text())));
}

TEST_CASE("a script of any size runs in the server itself, but only a small one in a fork") {
  const Debuggee debuggee;
  // EVAL and 0 add five bytes.
  CHECK(fits_forked(debuggee, std::string(12'282, 'x')));
  CHECK_FALSE(fits_forked(debuggee, std::string(12'283, 'x')));
  CHECK(fits_forked({.arguments = {"a", "b"}}, std::string(12'283, 'x')));
  CHECK_FALSE(fits_forked({.arguments = {std::string(20'000, 'x')}}, "return 1"));

  const PrivateServer server;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "local _ = 'seventeen' --\n";
  text = "do\n" + text.substr(0, text.size() * 150 / 1000) + "end\n" + std::string(17'000, '\n') +
         "return 5";
  auto session = session_on(server);
  CHECK(lines_of(session, start(session, text)).back() == 151 + 1 + 17'000 + 1);
  CHECK(session.reply()->integer() == 5);
}

TEST_CASE("a session works with a password and a database") {
  const PrivateServer server({.arguments = {"--requirepass", "pw"}});
  Url url = server.url();
  url.password = "pw";
  url.database = 3;
  for (const auto mode : kModes) {
    Session session(open(url), mode);
    CHECK(start(session, "redis.call('SET', 'k', 'x')\nreturn 1").stop);
    CHECK(session.step().stop);
    CHECK(session.step().ended);
    CHECK(session.ending() == Ending::kReturned);
  }
  CHECK(open(url).call({"GET", "k"}).text() == "x");
}

}  // namespace ldb_session_test
