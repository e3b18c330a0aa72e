// needs: server
#include "ldb/coverable_lines.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "support/debugged.h"
#include "support/failure.h"
#include "support/limiters.h"
#include "support/recordings.h"

namespace ldb_coverable_lines_test {

namespace {

using rlctl::ldb::coverable_lines;
using rlctl::redis::Failure;
using rlctl::test::TestServer;
using Lines = std::vector<int>;

Lines lines_of(std::string_view source) {
  TestServer server;
  return coverable_lines(server.connection(), source);
}

/// The lines at which the server's debugger stops.
std::set<int> stops_of(std::string_view source, const std::vector<std::string>& keys = {},
                       const std::vector<std::string>& arguments = {}) {
  TestServer server;
  std::set<int> lines;
  const auto on_item = [&](std::string_view item) {
    if (const int line = rlctl::test::stopped_at(item); line > 0) lines.insert(line);
  };
  const auto reply =
      rlctl::test::debug_script(server.connection(), source, keys, arguments, on_item);
  CHECK_FALSE(reply.is_error());
  return lines;
}

}  // namespace

TEST_CASE("lines without code, dead branches and a #! line are not coverable") {
  // The end of a function whose branches all return is never reached.
  CHECK(lines_of("-- a comment\n"
                 "\n"
                 "local function f(x)\n"
                 "  if x then\n"
                 "    return 1\n"
                 "  else\n"
                 "    return 2\n"
                 "  end\n"
                 "end\n"
                 "return f(1)\n") == Lines{4, 5, 7, 9, 10});
  CHECK(lines_of("local x = 1\n"
                 "while true do\n"
                 "  x = x + 1\n"
                 "end\n"
                 "x = 2\n") == Lines{1, 3});
  CHECK(lines_of("#!lua name=x\nlocal a = 1\nreturn a") == Lines{2, 3});
}

TEST_CASE("the lines of a probed script are the source's, and declarations have a line") {
  const std::string source = "local a\n\nlocal b\nif a then\n  return 1\nend\nreturn 2\n";
  TestServer server;
  auto& connection = server.connection();
  CHECK(coverable_lines(connection, source) == Lines{4, 5, 7});
  for (const bool wrapped : {false, true}) {
    const auto script = rlctl::test::probed(source, {.wrapped = wrapped});
    CHECK(coverable_lines(connection, script) == Lines{1, 3, 4, 5, 7});
    const auto told = rlctl::test::debug(script);
    CHECK(told.stops == Lines{1, 3, 4, 7});
  }
}

TEST_CASE("a script that does not compile is refused with the server's message") {
  TestServer server;
  const auto error =
      support::error_of([&] { (void)coverable_lines(server.connection(), "return\nlocal"); });
  CHECK(error.failure() == Failure::kRejected);
  CHECK(support::contains(error.what(), "user_script:2"));
}

TEST_CASE("anything but Lua 5.1 bytecode is refused") {
  for (const std::string dump : {"", "\033LuaR", "\033LuaQ", "abcdefghijklmnopq"}) {
    const auto error = support::error_of([&] { (void)rlctl::ldb::parse_bytecode(dump); });
    CHECK(error.failure() == Failure::kProtocol);
  }
}

TEST_CASE("truncated bytecode is refused") {
  TestServer server;
  const auto reply = server.call({"EVAL",
                                  "return string.dump(loadstring([[local t = {1, 'a', nil, true}\n"
                                  "for k in next, t do KEYS[1] = function() return t end end]]))",
                                  "0"});
  const std::string dump(reply.text());
  REQUIRE(dump.size() > 100);
  CHECK(rlctl::ldb::parse_bytecode(dump).inner.size() == 1);
  for (std::size_t size = 0; size < dump.size(); ++size) {
    const auto error = support::error_of(
        [&] { (void)rlctl::ldb::parse_bytecode(std::string_view(dump).substr(0, size)); });
    CHECK(error.failure() == Failure::kProtocol);
  }
}

TEST_CASE("a function that is made several times is looked at once") {
  // Otherwise what a few kilobytes nest takes more than a lifetime.
  rlctl::ldb::LuaPrototype function{.code = {30}, .lines = {1}};  // RETURN
  for (int depth = 0; depth < 100; ++depth) {
    rlctl::ldb::LuaPrototype outer{.code = {36, 36, 36, 36, 30},
                                   .lines = {1, 1, 1, 1, 1}};  // CLOSURE
    outer.inner.push_back(std::move(function));
    function = std::move(outer);
  }
  std::vector<int> lines;
  rlctl::ldb::append_reachable_lines(function, lines);
  CHECK(lines.size() == 501);
}

TEST_CASE(
    "the debugger stops at exactly the coverable lines of a script that executes all its code") {
  const std::vector<std::string> sources{
      "local a = 1",
      "local a = 1\n\n-- b\n",
      "local t = {}\nfor i = 1, 3 do\n  t[i] = i\nend\nreturn t",
      "local s = 0\nfor _, v in ipairs({1,\n  2, 3}) do\n  s = s + v\nend\nreturn s",
      "local i = 0\nrepeat\n  local j = i\n  i = i + 1\nuntil j > 2\nreturn i",
      "local i = 0\nwhile i < 3 do\n  i = i + 1\n  if i == 2 then\n    i = 3\n  end\nend",
      "local f = function(...)\n  local n = select('#', ...)\n  return n\nend\nreturn f(1,\n  2)",
      "local a, b = 1, 2\nlocal function f()\n  return function()\n    a = b\n  end\nend\nf()()",
      "local b = not (1 > 2)\nlocal c = b and 'x'\n  or 'y'\nreturn (c\n  == 'x')",
      "return tostring(\n  1\n)",
      "do\n  local x\n  x = 1\nend\n",
      "local t = {" +
          [] {
            std::string items;
            for (int i = 0; i < 30'000; ++i) items += "1,";
            return items;
          }() +
          "}\nreturn #t",
  };
  for (const auto& source : sources) {
    CAPTURE(source.substr(0, 200));
    auto stops = stops_of(source);
    // Redis 6 also stops after the last line.
    const auto last = 1 + std::count(source.begin(), source.end(), '\n');
    std::erase_if(stops, [&](int line) { return line > last; });
    const auto lines = lines_of(source);
    CHECK(std::vector<int>(stops.begin(), stops.end()) == lines);
  }
}

TEST_CASE("the debugger stops only at coverable lines in every bundled script") {
  for (const auto& entry : std::filesystem::directory_iterator(RLCTL_LUA_DIR)) {
    const auto source = rlctl::test::content_of(entry.path());
    CAPTURE(entry.path().string());
    const auto lines = lines_of(source);
    const bool leases = entry.path().stem() == "concurrency";
    const std::vector<std::string> arguments =
        leases ? std::vector<std::string>{"5", "60000000", "acquire", "me"}
               : std::vector<std::string>{"5", "60000000", "", "1", "1700000000123456"};
    const auto stops = stops_of(source, {"k"}, arguments);
    CHECK(stops.size() > 20);
    for (const int line : stops) {
      CHECK_MESSAGE(std::binary_search(lines.begin(), lines.end(), line), line);
    }
  }
}

}  // namespace ldb_coverable_lines_test
