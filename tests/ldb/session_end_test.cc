#include "ldb/session.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/cluster.h"
#include "support/debug_session.h"
#include "support/failure.h"
#include "support/scripted_server.h"
#include "support/server.h"

namespace ldb_session_end_test {

using namespace std::chrono_literals;
using namespace rlctl::test::debug_session;
using rlctl::ldb::Ending;
using rlctl::ldb::Mode;
using rlctl::ldb::Session;
using rlctl::ldb::Stop;
using support::contains;
using support::Peer;
using support::ScriptedServer;
using support::start_server;
using Items = std::vector<std::string>;

TEST_CASE("a script that does not compile never stops") {
  const auto server = start_server();
  if (!server) return;
  for (const auto mode : kModes) {
    auto session = session_on(*server, mode);
    CHECK(start(session, "local a = 1\nx x").ended);
    CHECK(session.ending() == Ending::kCompileError);
    CHECK(
        error_text(session).starts_with("ERR Error compiling script (new function): user_script:"));
  }
}

TEST_CASE(
    "a script that raises an error ends with that error; one that returns an error has returned") {
  const auto server = start_server();
  if (!server) return;
  for (const auto mode : kModes) {
    auto raised = session_on(*server, mode);
    CHECK(lines_of(raised, start(raised, "local a = 1\nreturn a.b.c")) == std::vector{1, 2});
    CHECK(raised.ending() == Ending::kRunTimeError);
    CHECK(contains(error_text(raised), "attempt to index"));

    auto called = session_on(*server, mode);
    (void)lines_of(called, start(called, "redis.call('SET', 'k', 'x')\nredis.call('INCR', 'k')"));
    CHECK(called.ending() == Ending::kRunTimeError);

    auto returned = session_on(*server, mode);
    (void)lines_of(returned, start(returned, "local a\nreturn redis.error_reply('MY no')"));
    CHECK(returned.ending() == Ending::kReturned);
    CHECK(error_text(returned) == "MY no");
  }
}

TEST_CASE("a script without a line of code ends without a stop") {
  const auto server = start_server();
  if (!server) return;
  for (const char* text : {"", " ", "\n\n\n", "\t\r\n", "-- nothing", "-- a\n-- b\n"}) {
    CAPTURE(text);
    auto session = session_on(*server);
    (void)lines_of(session, start(session, text));
    CHECK(session.ending() == Ending::kReturned);
    CHECK(session.reply()->is_nil());
  }
}

TEST_CASE("an aborted script ends at once") {
  const auto server = start_server();
  if (!server) return;
  auto session = session_on(*server);
  CHECK(start(session, "local a = 1\nlocal b = 2\nreturn redis.call('SET', 'k', 'x')").stop);
  CHECK(session.step().stop);
  session.abort_script();
  CHECK(session.ending() == Ending::kAborted);
  CHECK(contains(error_text(session), "script aborted for user request"));
  CHECK(open(server->url()).call({"EXISTS", "k"}).integer() == 0);
}

TEST_CASE("a script that catches its abort ends in another way") {
  const auto server = start_server();
  if (!server) return;
  auto session = session_on(*server);
  CHECK(start(session, "pcall(function()\n  local a = 1\n  local b = 2\nend)\nreturn 7").stop);
  CHECK(session.step().stop == Stop{.line = 4});
  CHECK(session.step().stop == Stop{.line = 1});
  CHECK(session.step().stop == Stop{.line = 2});
  session.abort_script();
  CHECK(session.ending() == Ending::kReturned);
  CHECK(session.reply()->integer() == 7);
}

TEST_CASE("a script that catches its abort and never ends is cut off") {
  const auto server = start_server({"--lua-time-limit", "100"});
  if (!server) return;
  const bool valkey_9 = is_valkey_9(*server);
  Session session(open(server->url()), Mode::kSync, kShort);
  CHECK(start(session, "pcall(function()\nlocal a = 1\nend)\nwhile true do end").stop);
  CHECK(session.step().stop == Stop{.line = 3});
  CHECK(session.step().stop == Stop{.line = 1});
  CHECK(session.step().stop == Stop{.line = 2});
  session.abort_script();
  CHECK(session.ending() == Ending::kCutOff);
  CHECK(session.why() ==
        (valkey_9 ? "no stop within 2s" : "the script caught its abort and continued"));
}

TEST_CASE("breakpoints and redis.breakpoint() stop a running script") {
  const auto server = start_server();
  if (!server) return;
  auto session = session_on(*server);
  CHECK(start(session, "local a = 1\nlocal b = 2\nredis.breakpoint()\nlocal c = 3\nreturn c").stop);
  (void)session.ask({"break", "2"});
  CHECK(session.run().stop == Stop{.line = 2, .reason = Stop::Reason::kBreakpoint});
  CHECK(session.run().stop == Stop{.line = 4, .reason = Stop::Reason::kCalledFor});
  CHECK(session.run().ended);
  CHECK(session.reply()->integer() == 3);
}

TEST_CASE("the server stops an endless loop that is running") {
  const auto server = start_server({"--lua-time-limit", "100"});
  if (!server || is_valkey_9(*server)) return;
  for (const auto mode : kModes) {
    {
      auto session = session_on(*server, mode);
      CHECK(start(session, "local a = 1\nwhile true do\n  a = a + 1\nend").stop);
      const auto message = session.run();
      REQUIRE(message.stop);
      CHECK(message.stop->reason == Stop::Reason::kTimeout);
      session.abort_script();
      CHECK(session.ending() == Ending::kAborted);
    }
    CHECK(is_left_alone(*server));
    CHECK(open(server->url()).call({"PING"}).text() == "PONG");
  }
}

TEST_CASE("a forked session that is abandoned in an endless loop leaves no process") {
  const auto server = start_server({"--lua-time-limit", "100"});
  if (!server || is_valkey_9(*server)) return;
  {
    auto session = session_on(*server, Mode::kForked);
    CHECK(start(session, "local a = 1\nwhile true do\n  a = a + 1\nend").stop);
    CHECK(children_of(server->pid()).size() == 1);
  }
  CHECK(is_left_alone(*server));
}

TEST_CASE("a command that never ends is cut off at its deadline") {
  auto server = start_server();
  if (!server) return;
  Session session(open(server->url()), Mode::kSync, kShort);
  CHECK(start(session, "return 1").stop);
  CHECK(session.ask({"eval", "while true do end"}).ended);
  CHECK(session.ending() == Ending::kCutOff);
  CHECK(session.why() == "no answer within 2s");
}

TEST_CASE("a line that takes too long is cut off") {
  auto server = start_server();
  if (!server) return;
  Session session(open(server->url()), Mode::kSync, kShort);
  CHECK(start(session, "local a = ('a'):rep(100000)\nreturn a:find(('a*'):rep(20) .. 'b')").stop);
  CHECK(session.step().stop);
  CHECK(session.step().ended);
  CHECK(session.ending() == Ending::kCutOff);
  CHECK(session.why() == "no stop within 2s");
}

TEST_CASE("a cluster that is down refuses the script") {
  // The port of its bus follows from its own.
  const auto node = support::start_on_free_port({"--cluster-enabled", "yes"});
  auto session = session_on(*node.server);
  CHECK(start(session, "return 1", {.keys = {"k"}}).ended);
  CHECK(session.ending() == Ending::kRefused);
  CHECK(contains(error_text(session), "slot not served"));
}

TEST_CASE("the connection is lost if the server, or its child, is killed at a stop") {
  for (const auto mode : kModes) {
    auto server = start_server();
    if (!server) return;
    auto session = session_on(*server, mode);
    CHECK(start(session, "local a = 1\nreturn 1").stop);
    const auto children = children_of(server->pid());
    REQUIRE(children.size() == (mode == Mode::kForked ? 1 : 0));
    const auto pid = mode == Mode::kForked ? std::stoi(children[0]) : server->pid();
    REQUIRE(::kill(pid, SIGKILL) == 0);
    CHECK(session.step().ended);
    CHECK(session.ending() == Ending::kLost);
    CHECK_FALSE(session.why().empty());
    CHECK_FALSE(session.reply());
  }
}

TEST_CASE("a session that was cut off cannot be used again") {
  const auto server = start_server();
  if (!server) return;
  auto session = session_on(*server);
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
Session session_with(const ScriptedServer& server, const Session::Limits& limits = {}) {
  Session session(open(server.url()), Mode::kSync, limits);
  if (start(session, "return 1").stop) (void)session.step();
  return session;
}

}  // namespace

TEST_CASE("an error that the server reports before the session is the reason for the refusal") {
  const ScriptedServer unknown(answers("-ERR unknown command 'SCRIPT'\r\n"));
  const auto first = session_with(unknown);
  REQUIRE(first.ended());
  CHECK(first.ending() == Ending::kRefused);
  CHECK(first.why() == "unknown command 'SCRIPT'");

  const ScriptedServer no_fork(
      answers("+OK\r\n", "-ERR Fork() failed: can't run EVAL in debugging mode: no memory\r\n"));
  const auto second = session_with(no_fork);
  REQUIRE(second.ended());
  CHECK(second.ending() == Ending::kRefused);
  CHECK(second.why() == "Fork() failed: can't run EVAL in debugging mode: no memory");

  const ScriptedServer undebugged(answers("+OK\r\n", ":1\r\n"));
  const auto third = session_with(undebugged);
  REQUIRE(third.ended());
  CHECK(third.ending() == Ending::kRefused);
  CHECK(third.why() == "the server ran the script without its debugger");

  const ScriptedServer full(answers("+OK\r\n", "*1\r\n+<endsession>\r\n-OOM no memory\r\n"));
  const auto fourth = session_with(full);
  REQUIRE(fourth.ended());
  CHECK(fourth.ending() == Ending::kRefused);
  CHECK(fourth.why() == "OOM no memory");
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
  const auto second = session_with(stops_once, kShort);
  REQUIRE(second.ended());
  CHECK(second.ending() == Ending::kCutOff);
  CHECK(second.why() == "no stop within 2s");
}

}  // namespace ldb_session_end_test
