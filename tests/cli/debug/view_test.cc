// needs: server
#include "cli/commands/debug/view.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "redis/connection.h"
#include "support/json_record.h"
#include "support/server.h"

namespace rlctl::cli::debug::view_test {
namespace {

using ldb::Call;
using ldb::Ending;
using ldb::LocalValue;
using ldb::TracedLine;
using ldb::TraceResult;
using ldb::Value;

constexpr Look kPlain{.columns = 40, .colour = false, .utf8 = true};

const ldb::Debuggee kDebuggee{
    .name = "limit.lua",
    .source = "local len = redis.call('LLEN', key)\r\n\tlocal s = '\x1b[31m'\r\nreturn 1"};

LocalValue local(const std::string& name, double number) {
  return {.local = {.name = name}, .value = {.kind = Value::Kind::kNumber, .number = number}};
}

std::string text_of(const TracedLine& line, const Look& look = kPlain, bool cuts = false) {
  std::string out;
  View(out, look, kDebuggee, {.maxlen = 0, .cuts_source = cuts}).traced(line);
  return out;
}

std::string text_of(const TraceResult& result, std::string_view kept = "") {
  std::string out;
  View(out, kPlain, kDebuggee, {.maxlen = 0}).traced_result(result, {}, kept);
  return out;
}

std::string json_of(const TracedLine& line) {
  std::string out;
  View(out, kPlain, kDebuggee, {.json = true}).traced(line);
  return recorded("debug", std::move(out));
}

std::string json_of(const TraceResult& result) {
  std::string out;
  View(out, kPlain, kDebuggee, {.json = true}).traced_result(result, {}, "");
  return recorded("debug", std::move(out));
}

/// A server's reply to a script.
redis::Reply reply_of(const redis::PrivateServer& server, const std::string& script) {
  auto connection = redis::Connection::open(server.url(), std::chrono::seconds(5));
  return connection.call({"EVAL", script, "0"});
}

}  // namespace

TEST_CASE("a line of a trace shows its source, its calls and what changed") {
  const TracedLine line{.line = 1,
                        .calls = {{.words = {"LLEN", "login:ann"}, .reply = "5"}},
                        .messages = {{.text = "\"a\", 1"}},
                        .changed = {local("len", 5),
                                    {.local = {.name = "t"},
                                     .value = {.kind = Value::Kind::kTable, .is_cut = true}}}};
  CHECK(text_of(line) ==
        "+ limit.lua:1  local len = redis.call('LLEN', key)\n"
        "|   redis> LLEN login:ann      5\n"
        "|   debug> \"a\", 1\n"
        "|   len: 5\n"
        "|   t: {...}\n");
  CHECK(json_of(line) ==
        R"~({"event":"line","line":1,"source":"local len = redis.call('LLEN', key)"})~"
        "\n"
        R"({"event":"call","line":1,"command":["LLEN","login:ann"],"exact":true,"reply":"5",)"
        R"("error":null})"
        "\n"
        R"({"event":"debug","line":1,"message":"\"a\", 1"})"
        "\n"
        R"({"event":"local","line":1,"name":"len","value":"5","exact":true})"
        "\n"
        R"({"event":"local","line":1,"name":"t","value":"{...}","exact":false})"
        "\n");
}

TEST_CASE("a failed call shows its error on a separate line") {
  const Call failed{.words = {"INCR", "k"}, .reply = "\"-WRONGTYPE no\"", .error = "WRONGTYPE no"};
  CHECK(text_of(TracedLine{.line = 3, .calls = {failed}}) ==
        "+ limit.lua:3  return 1\n|   redis> INCR k\n!   WRONGTYPE no\n");
  CHECK(text_of(TracedLine{.line = 3, .calls = {{.words = {"GET"}}}}) ==
        "+ limit.lua:3  return 1\n|   redis> GET\n!   it was refused\n");
}

TEST_CASE("words of a call are quoted if necessary") {
  const Call call{.words = {"SET", "", "a b", "q\"\\", std::string("\0\n", 2), "\xff", "é", "it's"},
                  .reply = "\"+OK\""};
  CHECK(text_of(TracedLine{.line = 3, .calls = {call}}) ==
        "+ limit.lua:3  return 1\n"
        R"(|   redis> SET "" "a b" "q\"\\" "\x00\n" "\xff" é "it's"      "+OK")"
        "\n");
  const Call raw{.words = {"SET a b ..."}, .raw = true, .reply = "\"+OK\""};
  CHECK(text_of(TracedLine{.line = 3, .calls = {raw}}) ==
        "+ limit.lua:3  return 1\n|   redis> SET a b ...      \"+OK\"\n");
}

TEST_CASE("a source's control bytes are escaped, and its tabs become blanks") {
  CHECK(text_of(TracedLine{.line = 2}) == "+ limit.lua:2      local s = '\\x1b[31m'\n");
  CHECK(text_of(TracedLine{.line = 9}) == "+ limit.lua:9  \n");
}

TEST_CASE("lines are cut only for a terminal") {
  const TracedLine line{.line = 1};
  CHECK(text_of(line, kPlain, true) == "+ limit.lua:1  local len = redis.call('…\n");
  // A call is not cut: no other line shows its words.
  const TracedLine long_call{
      .line = 9, .calls = {{.words = {"SET", std::string(40, 'k')}, .reply = "\"+OK\""}}};
  CHECK(text_of(long_call, kPlain, true).ends_with(std::string(40, 'k') + "      \"+OK\"\n"));
  const auto coloured = text_of(line, {.columns = 40, .colour = true, .utf8 = true}, true);
  CHECK(coloured.find("\033[32m+\033[0m") == 0);
  CHECK(display_width(coloured.substr(0, coloured.size() - 1)) == 40);
}

TEST_CASE("a result shows the reply in Lua syntax") {
  const auto server = support::start_server();
  if (!server) return;
  TraceResult result{.lines = 19, .calls = 3};
  result.reply =
      reply_of(*server, "return {0, -5, 'a\\n', false, {ok = 'FINE'}, {err = 'MY no'}, {}}");
  CHECK(text_of(result) ==
        "= {0, -5, \"a\\n\", nil, +FINE, -MY no, {}}    19 lines, 3 redis calls; "
        "nothing was changed\n");
  result.reply = reply_of(*server, "return nil");
  result.lines = result.calls = 1;
  CHECK(text_of(result, "it was kept") == "= nil    1 line, 1 redis call; it was kept\n");
}

TEST_CASE("a result shows how and where a script ended") {
  const auto of = [](Ending ending, int line) {
    TraceResult result{.ending = ending, .message = "why", .error_line = line, .lines = 2};
    return text_of(result);
  };
  const std::string counts = "    2 lines, 0 redis calls; nothing was changed\n";
  CHECK(of(Ending::kRunTimeError, 12) == "!   why\n= error at line 12: why" + counts);
  CHECK(of(Ending::kCompileError, 3) == "= does not compile, line 3: why" + counts);
  CHECK(of(Ending::kAborted, 3) == "= aborted at line 3" + counts);
  CHECK(of(Ending::kCutOff, 3) == "= cut off at line 3: why" + counts);
  CHECK(of(Ending::kRefused, 0) == "= refused: why" + counts);
  CHECK(of(Ending::kLost, 0) == "= lost: why" + counts);
  CHECK(json_of(TraceResult{
            .ending = Ending::kRunTimeError, .message = "why", .error_line = 12, .lines = 2}) ==
        R"({"event":"result","ending":"run_time_error","value":null,"error":"why",)"
        R"("error_line":12,"lines":2,"calls":0,"exact":true})"
        "\n");
}

TEST_CASE("an error is shown only once, at its line") {
  std::string out;
  View text(out, kPlain, kDebuggee, {.maxlen = 0});
  text.traced({.line = 3, .calls = {{.words = {"GET"}, .error = "why"}}});
  text.traced_result(
      {.ending = Ending::kRunTimeError, .message = "why", .error_line = 3, .lines = 1}, {}, "");
  CHECK(out ==
        "+ limit.lua:3  return 1\n|   redis> GET\n!   why\n"
        "= error at line 3: why    1 line, 0 redis calls; nothing was changed\n");
}

TEST_CASE("a trace without probes is marked as such") {
  CHECK(text_of(TraceResult{.exact = false}).find("\nvariables are not shown: ") !=
        std::string::npos);
}

}  // namespace rlctl::cli::debug::view_test
