#include "ldb/session.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "redis/private_server.h"
#include "support/debug_session.h"
#include "support/failure.h"
#include "support/scripted_server.h"

namespace ldb_session_end_test {

using namespace std::chrono_literals;
using namespace rlctl::test::debug_session;
using namespace rlctl::ldb;
using namespace rlctl::redis;
using namespace support;
using Items = std::vector<std::string>;

TEST_CASE("a script that does not compile never stops") {
  const PrivateServer server;
  for (const auto mode : kModes) {
    auto session = session_on(server, mode);
    CHECK(start(session, "local a = 1\nx x").ended);
    CHECK(session.ending() == Ending::kCompileError);
    CHECK(
        error_text(session).starts_with("ERR Error compiling script (new function): user_script:"));
  }
}

TEST_CASE("an aborted script ends at once") {
  const PrivateServer server;
  auto session = session_on(server);
  CHECK(start(session, "local a = 1\nlocal b = 2\nreturn redis.call('SET', 'k', 'x')").stop);
  CHECK(session.step().stop);
  session.abort_script();
  CHECK(session.ending() == Ending::kAborted);
  CHECK(contains(error_text(session), "script aborted for user request"));
  CHECK(open(server.url()).call({"EXISTS", "k"}).integer() == 0);
}

TEST_CASE("a script that catches its abort ends in another way") {
  const PrivateServer server;
  auto session = session_on(server);
  CHECK(start(session, "pcall(function()\n  local a = 1\n  local b = 2\nend)\nreturn 7").stop);
  CHECK(session.step().stop == Stop{.line = 4});
  CHECK(session.step().stop == Stop{.line = 1});
  CHECK(session.step().stop == Stop{.line = 2});
  session.abort_script();
  CHECK(session.ending() == Ending::kReturned);
  CHECK(session.reply()->integer() == 7);
}

TEST_CASE("a script that catches its abort and never ends is cut off") {
  const PrivateServer server({.arguments = {"--lua-time-limit", "100"}});
  const bool valkey_9 = is_valkey_9(server);
  Session session(open(server.url()), Mode::kSync,
                  {.step = kPatient.step, .run = valkey_9 ? 1s : kPatient.run});
  CHECK(start(session, "pcall(function()\nlocal a = 1\nend)\nwhile true do end").stop);
  CHECK(session.step().stop == Stop{.line = 3});
  CHECK(session.step().stop == Stop{.line = 1});
  CHECK(session.step().stop == Stop{.line = 2});
  session.abort_script();
  CHECK(session.ending() == Ending::kCutOff);
  CHECK(session.why() ==
        (valkey_9 ? "no stop within 1s" : "the script caught its abort and continued"));
}

TEST_CASE("the server stops an endless loop that is running") {
  const PrivateServer server({.arguments = {"--lua-time-limit", "100"}});
  if (is_valkey_9(server)) return;
  for (const auto mode : kModes) {
    {
      auto session = session_on(server, mode);
      CHECK(start(session, "local a = 1\nwhile true do\n  a = a + 1\nend").stop);
      const auto message = session.run();
      REQUIRE(message.stop);
      CHECK(message.stop->reason == Stop::Reason::kTimeout);
      session.abort_script();
      CHECK(session.ending() == Ending::kAborted);
    }
    CHECK(is_left_alone(server));
    CHECK(open(server.url()).call({"PING"}).text() == "PONG");
  }
}

TEST_CASE("a forked session that is abandoned in an endless loop leaves no process") {
  const PrivateServer server({.arguments = {"--lua-time-limit", "100"}});
  if (is_valkey_9(server)) return;
  {
    auto session = session_on(server, Mode::kForked);
    CHECK(start(session, "local a = 1\nwhile true do\n  a = a + 1\nend").stop);
    CHECK(children_of(server.pid()).size() == 1);
  }
  CHECK(is_left_alone(server));
}

TEST_CASE("the connection is lost if the server, or its child, is killed at a stop") {
  for (const auto mode : kModes) {
    PrivateServer server;
    auto session = session_on(server, mode);
    CHECK(start(session, "local a = 1\nreturn 1").stop);
    const auto children = children_of(server.pid());
    REQUIRE(children.size() == (mode == Mode::kForked ? 1 : 0));
    const auto pid = mode == Mode::kForked ? std::stoi(children[0]) : server.pid();
    REQUIRE(::kill(pid, SIGKILL) == 0);
    CHECK(session.step().ended);
    CHECK(session.ending() == Ending::kLost);
    CHECK_FALSE(session.why().empty());
    CHECK_FALSE(session.reply());
  }
}

TEST_CASE("a session that was cut off cannot be used again") {
  const PrivateServer server;
  auto session = session_on(server);
  CHECK_THROWS_AS((void)session.step(), std::logic_error);
  CHECK(start(session, "local a = 1\nreturn redis.call('SET', 'k', 'x')").stop);
  CHECK_THROWS_AS((void)start(session, "return 1"), std::logic_error);
  session.cut_off("enough");
  CHECK(session.ending() == Ending::kCutOff);
  CHECK(session.why() == "enough");
  CHECK_THROWS_AS((void)session.step(), std::logic_error);
  CHECK_THROWS_AS((void)session.ask({"print"}), std::logic_error);
  CHECK_THROWS_AS(session.abort_script(), std::logic_error);
  session.cut_off("twice");
  CHECK(session.why() == "enough");
}

namespace {

constexpr const char* kDebugSent = "SYNC\r\n";
constexpr const char* kEvalSent = "return 1\r\n$1\r\n0\r\n";
constexpr const char* kStopSent =
    "*2\r\n+* Stopped at 1, stop reason = step over\r\n+-> 1   return 1\r\n";

/// A server that answers `debug` to SCRIPT DEBUG, `eval` to EVAL and `step` to everything else.
ScriptedServer::Talk answers(std::string debug, std::string eval = "", std::string step = "") {
  return [debug, eval, step](Peer& peer) {
    (void)peer.read_until(kDebugSent);
    peer.write(debug);
    if (eval.empty()) return;
    (void)peer.read_until(kEvalSent);
    peer.write(eval);
    if (step.empty()) return;
    (void)peer.read_until("step\r\n");
    peer.write(step);
  };
}

/// The session after it has started a script and stepped once.
Session session_with(const ScriptedServer& server, const Session::Limits& limits = kPatient) {
  Session session(open(server.url()), Mode::kSync, limits);
  if (start(session, "return 1").stop) (void)session.step();
  return session;
}

}  // namespace

TEST_CASE("an error that the server reports before the session is the reason for the refusal") {
  struct Case {
    const char *debug, *eval, *why;
  };
  const Case cases[] = {
      {"-ERR unknown command 'SCRIPT'\r\n", "", "unknown command 'SCRIPT'"},
      {"+OK\r\n", "-ERR Fork() failed: can't run EVAL in debugging mode: no memory\r\n",
       "Fork() failed: can't run EVAL in debugging mode: no memory"},
      {"+OK\r\n", ":1\r\n", "the server ran the script without its debugger"},
      {"+OK\r\n", "*1\r\n+<endsession>\r\n-OOM no memory\r\n", "OOM no memory"},
      {"+OK\r\n", "-CLUSTERDOWN Hash slot not served\r\n", "CLUSTERDOWN Hash slot not served"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.why);
    const ScriptedServer server(answers(each.debug, each.eval));
    const auto session = session_with(server);
    REQUIRE(session.ended());
    CHECK(session.ending() == Ending::kRefused);
    CHECK(session.why() == each.why);
  }
}

TEST_CASE("a truncated or invalid answer ends the session as a lost connection") {
  const std::string stop = kStopSent;
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"*2\r\n+* Stopped at 1, st", ""},
      {"*1\r\n+hello\r\n", ""},
      {"*0\r\n", ""},
      {"*2\r\n+* Stopped at x, stop reason = step over\r\n+-> 1\r\n", ""},
      {"*2\r\n+* Stopped at 1\r\n+-> 1\r\n", ""},
      {"?what\r\n", ""},
      {stop, ""},
      {stop, "*3\r\n+<redis> GET k\r\n"},
      {stop, ":1\r\n"},
      {stop, "*1\r\n+<endsession>\r\n"},
      {stop, "*1\r\n+<endsession>\r\n*2\r\n:1\r\n"},
      {stop, "*2\r\n+<endsession>\r\n+<reply> 1\r\n"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.first);
    CAPTURE(each.second);
    const ScriptedServer server(answers("+OK\r\n", each.first, each.second));
    const auto session = session_with(server);
    REQUIRE(session.ended());
    CHECK(session.ending() == Ending::kLost);
    CHECK_FALSE(session.why().empty());
    CHECK_FALSE(session.reply());
  }
}

TEST_CASE("a session without an answer ends at its deadline") {
  const auto silent = [](Peer& peer) { (void)peer.read_to_end(); };
  const ScriptedServer mute(silent);
  const auto first = session_with(mute, {.step = 300ms, .run = 300ms});
  REQUIRE(first.ended());
  CHECK(first.ending() == Ending::kLost);
  CHECK(contains(first.why(), "no answer from"));

  const ScriptedServer stops_once([](Peer& peer) {
    (void)peer.read_until(kDebugSent);
    peer.write("+OK\r\n");
    (void)peer.read_until(kEvalSent);
    peer.write(kStopSent);
    (void)peer.read_to_end();
  });
  Session second(open(stops_once.url()), Mode::kSync, {.step = kPatient.step, .run = 300ms});
  CHECK(start(second, "return 1").stop);
  (void)second.run();
  REQUIRE(second.ended());
  CHECK(second.ending() == Ending::kCutOff);
  CHECK(second.why() == "no stop within 300ms");
}

}  // namespace ldb_session_end_test
