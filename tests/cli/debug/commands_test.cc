#include "cli/commands/debug/repl.h"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "keyspace/keyspace.h"

namespace rlctl::cli::debug::commands_test {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

/// A command session at the beginning of a script.
class CommandSession {
 public:
  explicit CommandSession(std::string source)
      : debuggee_{.name = "test.lua",
                  .source = std::move(source),
                  .keys = {"user:1", "user:2"},
                  .arguments = {"7"}} {
    debugger_.emplace(debuggee_, keys_, debugger::EngineDebugger::Options{});
    view_.emplace(text_, Look{}, debuggee_);
    commands_.emplace(Commands{
        .debugger = *debugger_, .engine = &*debugger_, .view = *view_, .keys = debuggee_.keys});
    (void)debugger_->start();
  }

  explicit operator bool() const { return commands_.has_value(); }
  Words complete(const std::string& line) const { return commands_->complete(line); }
  /// The answer to a command.
  std::string run(const std::string& line) {
    text_.clear();
    (void)commands_->run(line);
    return text_;
  }

 private:
  debugger::Debuggee debuggee_;
  keyspace::Keyspace keys_{1'700'000'000s};
  std::optional<debugger::EngineDebugger> debugger_;
  std::string text_;
  std::optional<View> view_;
  std::optional<Commands> commands_;
};

constexpr auto kScript =
    "local count = 1\n"
    "local cost = {a = 2}\n"
    "\n"
    "return count + cost.a\n";

}  // namespace

TEST_CASE("debug commands: the first word is completed to a command") {
  const CommandSession session(kScript);
  if (!session) return;
  CHECK(session.complete("st") == Words{"step"});
  CHECK(session.complete("re") == Words{"redis", "restart"});
  CHECK(session.complete("  wh") == Words{"whole"});
  CHECK(session.complete("x").empty());
  CHECK(session.complete("").size() == 20);
  CHECK(session.complete("help ma") == Words{"maxlen"});
}

TEST_CASE("debug commands: further words are completed to what the command takes") {
  CommandSession session(kScript);
  if (!session) return;
  CHECK(session.complete("info l") == Words{"locals"});
  CHECK(session.complete("i ") == Words{"breakpoints", "keys", "locals", "watches"});
  CHECK(session.complete("break ") == Words{"1", "2", "4"});
  CHECK(session.complete("break 4 ") == Words{"if"});
  CHECK(session.complete("redis GET us") == Words{"user:1", "user:2"});
  CHECK(session.complete("print K") == Words{"KEYS"});
  CHECK(session.complete("step ").empty());
  CHECK(session.complete("nonsense ").empty());
}

TEST_CASE("debug commands: line numbers are completed in their order as numbers") {
  CommandSession session(
      "local a = 1\n"
      "a = 2\na = 3\na = 4\na = 5\na = 6\na = 7\na = 8\na = 9\n"
      "a = 10\n"
      "return a\n");
  if (!session) return;
  CHECK(session.complete("break ") ==
        Words{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"});
  CHECK(session.complete("list 1") == Words{"1", "10", "11"});
}

TEST_CASE("debug commands: each command is explained with an example, in 80 columns") {
  CommandSession session(kScript);
  if (!session) return;
  for (const auto& command : session.complete("")) {
    CAPTURE(command);
    const auto text = session.run("help " + command);
    CHECK(text.starts_with(command));
    CHECK(text.find("\nFor example: ") != std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  }
  std::istringstream list(session.run("help"));
  for (std::string line; std::getline(list, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
  CHECK(session.run("help n").starts_with("next, n [TIMES]: "));
  CHECK(session.run("help brek") == "!   help: unknown command 'brek'; did you mean 'break'?\n");
  CHECK(session.run("help xyzzy") == "!   help: unknown command 'xyzzy'; 'help' lists them\n");
}

TEST_CASE("debug commands: visible variables are completed wherever a name can begin") {
  CommandSession session(kScript);
  if (!session) return;
  CHECK(session.complete("print c").empty());
  session.run("step");
  CHECK(session.complete("print c") == Words{"count"});
  session.run("step");
  CHECK(session.complete("p c") == Words{"cost", "count"});
  CHECK(session.complete("eval 1 + cou") == Words{"count"});
  CHECK(session.complete("watch (cos") == Words{"cost"});
  CHECK(session.complete("break 4 if cou") == Words{"count"});
}

}  // namespace rlctl::cli::debug::commands_test
