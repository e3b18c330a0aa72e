#include "cli/commands/debug/view.h"

#include <doctest/doctest.h>

#include <string>

#include "base/text.h"
#include "support/json_record.h"

namespace rlctl::cli::debug::view_test {
namespace {

using debugger::Call;
using debugger::Ending;
using debugger::RunResult;
using debugger::TracedLine;
using lua::Value;

constexpr Look kPlain{.columns = 40, .colour = false, .utf8 = true};

const debugger::Debuggee kDebuggee{
    .name = "limit.lua",
    .source = "local len = redis.call('LLEN', key)\r\n\tlocal s = '\x1b[31m'\r\nreturn 1"};

std::string text_of(const TracedLine& line, const Look& look = kPlain, bool cuts = false) {
  std::string out;
  View(out, look, kDebuggee, {.maxlen = 0, .cuts_source = cuts}).traced(line);
  return out;
}

std::string text_of(const RunResult& result) {
  std::string out;
  View(out, kPlain, kDebuggee, {.maxlen = 0}).traced_result(result, {});
  return out;
}

std::string json_of(const TracedLine& line) {
  std::string out;
  View(out, kPlain, kDebuggee, {.json = true}).traced(line);
  return recorded("debug", std::move(out));
}

std::string json_of(const RunResult& result) {
  std::string out;
  View(out, kPlain, kDebuggee, {.json = true}).traced_result(result, {});
  return recorded("debug", std::move(out));
}

}  // namespace

TEST_CASE("a table that was cut is marked as such") {
  const TracedLine line{
      .line = 3,
      .changed = {{.name = "t", .value = {.kind = Value::Kind::kTable, .is_cut = true}}}};
  CHECK(text_of(line) == "+ limit.lua:3  return 1\n|   t: {...}\n");
  CHECK(json_of(line).ends_with(
      R"({"event":"local","line":3,"name":"t","value":"{...}","exact":false})"
      "\n"));
}

TEST_CASE("words of a call are quoted if necessary") {
  const Call call{.words = {"SET", "", "a b", "q\"\\", std::string("\0\n", 2), "\xff", "é", "it's"},
                  .reply = "\"+OK\""};
  CHECK(text_of(TracedLine{.line = 3, .calls = {call}}) ==
        "+ limit.lua:3  return 1\n"
        R"(|   redis> SET "" "a b" "q\"\\" "\x00\n" "\xff" é "it's"      "+OK")"
        "\n");
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

TEST_CASE("a result shows how and where a script ended") {
  const auto of = [](Ending ending, int line) {
    RunResult result{.ending = ending, .message = "why", .error_line = line, .lines = 2};
    return text_of(result);
  };
  const std::string counts = "    2 lines, 0 redis calls; nothing was changed\n";
  CHECK(of(Ending::kRunTimeError, 12) == "!   why\n= error at line 12: why" + counts);
  CHECK(of(Ending::kCompileError, 3) == "= does not compile, line 3: why" + counts);
  CHECK(of(Ending::kAborted, 3) == "= aborted at line 3" + counts);
  CHECK(of(Ending::kCutOff, 3) == "= cut off at line 3: why" + counts);
  CHECK(of(Ending::kRefused, 0) == "= refused: why" + counts);
  CHECK(of(Ending::kNotImplemented, 3) ==
        "= ended early at line 3: why; --ldb runs the script on a server" + counts);
  CHECK(of(Ending::kLost, 0) == "= lost: why" + counts);
  CHECK(json_of(RunResult{
            .ending = Ending::kRunTimeError, .message = "why", .error_line = 12, .lines = 2}) ==
        R"({"event":"result","ending":"run_time_error","value":null,"error":"why",)"
        R"("error_line":12,"lines":2,"calls":0})"
        "\n");
}

}  // namespace rlctl::cli::debug::view_test
