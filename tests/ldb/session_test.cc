// needs: server
// Sessions of Redis's Lua debugger.

#include "ldb/session.h"

#include <doctest/doctest.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "redis/connection.h"
#include "redis/server.h"
#include "redis/url.h"
#include "support/failure.h"
#include "support/scripted_server.h"

namespace ldb_session_test {

using namespace std::chrono_literals;
using namespace rlctl::ldb;
using rlctl::debugger::Debuggee;
using rlctl::debugger::Ending;
using namespace rlctl::redis;
using namespace support;
using rlctl::UsageError;
using Items = std::vector<std::string>;

namespace {

constexpr Mode kModes[] = {Mode::kSync, Mode::kForked};
constexpr Session::Limits kPatient{.step = 120s, .run = 120s};

Connection open(const Url& url) {
  return Connection::open(url, 120s);
}

Session session_on(const PrivateServer& server, Mode mode = Mode::kSync) {
  return {open(server.url()), mode, kPatient};
}

Message start(Session& session, const std::string& text, Debuggee debuggee = {}) {
  debuggee.source = text;
  return session.start(debuggee);
}

/// Steps to the end; returns the lines of the stops, including the first message's.
std::vector<int> lines_of(Session& session, Message message) {
  std::vector<int> lines;
  while (message.stop) {
    lines.push_back(message.stop->line);
    message = session.step();
  }
  return lines;
}

std::string error_text(const Session& session) {
  REQUIRE(session.reply());
  REQUIRE(session.reply()->is_error());
  return std::string(session.reply()->text());
}

/// Valkey 9's debugger does not interrupt long-running scripts, and accepts only short commands.
bool is_valkey_9(const PrivateServer& server) {
  const auto reply = open(server.url()).call({"INFO", "server"});
  return reply.text().find("valkey_version:9.") != std::string_view::npos;
}

/// False, with a message, if the test of an endless loop cannot run on the server.
bool interrupts_scripts(const PrivateServer& server) {
  if (!is_valkey_9(server)) return true;
  MESSAGE("skipped: needs Redis, whose debugger interrupts scripts");
  return false;
}

std::vector<std::string> children_of(pid_t pid) {
  const auto id = std::to_string(pid);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<std::string> children;
  for (std::string child; file >> child;) children.push_back(child);
  return children;
}

/// Whether the server's children have exited, or exit within two minutes.
bool is_left_alone(const PrivateServer& server) {
  for (int i = 0; i < 2400; ++i) {
    if (children_of(server.pid()).empty()) return true;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}

}  // namespace

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
  CHECK_FALSE(second.step().stop);
  CHECK(second.reply()->text() == "second");
  CHECK_FALSE(first.step().stop);
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
  CHECK_FALSE(session.step().stop);
  CHECK(session.reply()->integer() == 1);
}

TEST_CASE("the answer to a command may be empty") {
  const PrivateServer server;
  auto session = session_on(server);
  CHECK(start(session, "return 1").stop);
  const auto message = session.ask({"list", "1000", "0"});
  CHECK(message.items.empty());
  CHECK_FALSE(session.ended());
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
  CHECK_FALSE(session.step().stop);
  CHECK(session.reply()->integer() == 1);
}

TEST_CASE("a script of any size runs in the server itself, and in a fork") {
  const PrivateServer server;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "local _ = 'seventeen' --\n";
  text = "do\n" + text.substr(0, text.size() * 150 / 1000) + "end\n" + std::string(17'000, '\n') +
         "return 5";
  for (const auto mode : kModes) {
    auto session = session_on(server, mode);
    CHECK(lines_of(session, start(session, text)).back() == 151 + 1 + 17'000 + 1);
    CHECK(session.reply()->integer() == 5);
  }
}

TEST_CASE("a session works with a password and a database") {
  const PrivateServer server({.arguments = {"--requirepass", "pw"}});
  Url url = server.url();
  url.password = "pw";
  url.database = 3;
  for (const auto mode : kModes) {
    Session session(open(url), mode, kPatient);
    CHECK(start(session, "redis.call('SET', 'k', 'x')\nreturn 1").stop);
    CHECK(session.step().stop);
    CHECK_FALSE(session.step().stop);
    CHECK(session.ending() == Ending::kReturned);
  }
  CHECK(open(url).call({"GET", "k"}).text() == "x");
}

// ---- How it ends ----

TEST_CASE("a script that does not compile never stops") {
  const PrivateServer server;
  for (const auto mode : kModes) {
    auto session = session_on(server, mode);
    CHECK_FALSE(start(session, "local a = 1\nx x").stop);
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
  if (!interrupts_scripts(server)) return;
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
  if (!interrupts_scripts(server)) return;
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
    CHECK_FALSE(session.step().stop);
    CHECK(session.ending() == Ending::kLost);
    CHECK_FALSE(session.why().empty());
    CHECK_FALSE(session.reply());
  }
}

TEST_CASE("a session that has ended cannot be used again") {
  const PrivateServer server;
  auto session = session_on(server);
  CHECK_THROWS_AS((void)session.step(), std::logic_error);
  CHECK(start(session, "local a = 1\nreturn redis.call('SET', 'k', 'x')").stop);
  CHECK_THROWS_AS((void)start(session, "return 1"), std::logic_error);
  session.abort_script();
  CHECK(session.ending() == Ending::kAborted);
  CHECK_THROWS_AS((void)session.step(), std::logic_error);
  CHECK_THROWS_AS((void)session.ask({"print"}), std::logic_error);
  CHECK_THROWS_AS(session.abort_script(), std::logic_error);
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

}  // namespace ldb_session_test
