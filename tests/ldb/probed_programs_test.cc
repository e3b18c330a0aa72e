// needs: server
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "lua/lexer.h"
#include "support/debugged.h"
#include "support/limiters.h"
#include "support/random.h"
#include "support/recordings.h"

namespace ldb_probed_programs_test {

namespace {

using namespace rlctl::ldb;
using namespace rlctl::test;
using Strings = std::vector<std::string>;

// Random programs with every kind of statement (except those without an instruction in Lua). They
// terminate, and use few names, so that these often shadow each other. They print their variables'
// values with redis.debug(), and the probes must have reported the same values just before.
class Program {
 public:
  explicit Program(Random& random) : random_(random) {}

  std::string make() {
    line("local fuel, out = 100, {}");
    scopes_ = {{}};
    for (int i = 0; i < 3; ++i) line("local " + declare(1) + " = " + std::to_string(i));
    block(4, 6);
    say();
    line("return out");
    return text_;
  }

 private:
  struct Scope {
    Strings values, functions;
  };

  // Line ends of every kind; some statements share a line.
  void line(const std::string& statement) {
    text_ += std::string(static_cast<std::size_t>(random_.uniform(0, 3)), ' ') + statement;
    const bool is_whole = !statement.ends_with("do") && !statement.ends_with("then") &&
                          !statement.ends_with(")") && statement != "else";
    const std::string semicolon = is_whole ? ";" : "";
    switch (random_.uniform(0, 9)) {
      case 0:
        text_ += semicolon + " ";
        break;
      case 1:
        text_ += " --[[ a\nb ]] ";
        break;
      case 2:
        text_ += " -- c\r\n";
        break;
      case 3:
        text_ += semicolon + "\n\n";
        break;
      default:
        text_ += "\n";
    }
  }

  std::string declare(int count) {
    std::string names;
    for (int i = 0; i < count; ++i) {
      const auto name = random_.one_of(Strings{"a", "b", "c", "d", "e"});
      scopes_.back().values.push_back(name);
      names += (i > 0 ? ", " : "") + name;
    }
    return names;
  }

  Strings visible(Strings Scope::*kind) const {
    Strings all;
    for (const auto& scope : scopes_) {
      all.insert(all.end(), (scope.*kind).begin(), (scope.*kind).end());
    }
    return all;
  }
  Strings values() const { return visible(&Scope::values); }
  Strings functions() const { return visible(&Scope::functions); }

  std::string expression(int depth = 2) {
    const auto kind = depth == 0 ? random_.uniform(0, 1) : random_.uniform(0, 5);
    if (kind == 0) return std::to_string(random_.uniform(0, 9));
    if (kind < 3) return random_.one_of(values());
    if (kind == 3 && !functions().empty()) {
      return random_.one_of(functions()) + "(" + expression(depth - 1) + ")";
    }
    const auto sign = random_.one_of(Strings{" + ", " - ", " +\n", " * "});
    return "(" + expression(depth - 1) + sign + expression(depth - 1) + ") % 1000";
  }

  std::string condition() {
    return expression(1) + random_.one_of(Strings{" < ", " == ", " ~= "}) + expression(1);
  }

  void block(int depth, int statements) {
    for (auto left = random_.uniform(1, statements); left > 0; --left) statement(depth);
  }

  void inner_block(int depth) {
    scopes_.emplace_back();
    if (random_.percent(80)) block(depth - 1, 3);
    if (random_.percent(50)) say();
    scopes_.pop_back();
  }

  // Prints the values of all visible names, on a line of its own.
  void say() {
    std::map<std::string, bool> names;
    for (const auto& name : values()) names[name] = true;
    std::string arguments;
    for (const auto& [name, known] : names) arguments += ", '" + name + "', " + name;
    text_ += "\nredis.debug('say'" + arguments + ")\n";
  }

  void statement(int depth) {
    const auto kind = depth == 0 ? random_.uniform(0, 3) : random_.uniform(0, 11);
    switch (kind) {
      case 0:
        return say();
      case 1: {
        const auto value = expression();
        return line("local " + declare(1) + " = " + value);
      }
      case 2: {
        const auto value = expression();
        return line("local " + declare(2) + " = " + value + ", 1");
      }
      case 3:
        return line(random_.one_of(values()) + " = " + expression() + " + 0");
      case 4:
        line("if " + condition() + " then");
        inner_block(depth);
        if (random_.percent(30)) line("elseif " + condition() + " then");
        if (random_.percent(50)) line("else");
        inner_block(depth);
        return line("end");
      case 5:
        line("while fuel > 0 and " + condition() + " do fuel = fuel - 1");
        inner_block(depth);
        if (random_.percent(20)) line("break");
        return line("end");
      case 6:
        return repeat(depth);
      case 7:
        return loop(depth);
      case 8:
      case 9:
        return function(depth);
      case 10:
        line("do");
        say();
        inner_block(depth);
        return line("end");
      default:
        return line("out[#out + 1] = " + expression());
    }
  }

  void repeat(int depth) {
    line("repeat fuel = fuel - 1");
    scopes_.emplace_back();
    line("local " + declare(1) + " = " + std::to_string(random_.uniform(0, 5)));
    block(depth - 1, 3);
    const auto last = condition();
    scopes_.pop_back();
    line("until fuel < 0 or " + last);
  }

  void loop(int depth) {
    scopes_.emplace_back();
    const auto name = declare(1);
    line("for " + name +
         random_.one_of(Strings{" = 1, 2 do", " = 3, 1, -1 do", " in pairs({5, 6}) do"}));
    inner_block(depth);
    scopes_.pop_back();
    line("end");
  }

  // The function may be called while there is fuel left, so that programs terminate.
  void function(int depth) {
    const auto name = random_.one_of(Strings{"f", "g", "h"});
    const bool is_local = random_.percent(60);
    if (is_local) scopes_.back().functions.push_back(name);
    auto parameters = Scope{};
    scopes_.push_back(parameters);
    const auto names = declare(static_cast<int>(random_.uniform(1, 2)));
    line((is_local ? "local function " + name + "(" : "local " + name + " = function(") + names +
         random_.one_of(Strings{"", ", ..."}) + ")");
    line("fuel = fuel - 1 if fuel < 0 then return 0 end");
    inner_block(depth);
    line("do return " + expression(1) + " end");
    scopes_.pop_back();
    line("end");
    if (!is_local) scopes_.back().functions.push_back(name);
    // Parameters without an argument are nil, which is not a number.
    text_ +=
        "do local inner = " + name + "; " + name + " = function(x) return inner(x, x) end end\n";
  }

  Random& random_;
  std::string text_;
  std::vector<Scope> scopes_;
};

/// Checks that each value that the program prints equals the one reported before it.
void check_told(const ProbedScript& script, const Told& told) {
  std::map<std::string, std::string> values;
  for (const auto& variable : told.readings.back().variables) {
    values[script.locals[variable.local].name] = text_of(variable.value);
  }
  auto rest = told.messages.back();
  REQUIRE(rest.starts_with("say"));
  rest.erase(0, 3);
  while (!rest.empty()) {
    const auto value = rest.find(", ", 2), end = rest.find(", ", value + 2);
    const auto name = rest.substr(2, value - 2);
    CAPTURE(name);
    CHECK(values[name] == rest.substr(value + 2, end - value - 2));
    rest.erase(0, end);
  }
}

/// Without the stops at a `break`: a jump to one goes straight to its target, unless there is a
/// probe before it.
std::vector<int> comparable(std::vector<int> stops, const std::string& source) {
  const auto tokens = rlctl::lua::lex(source);
  REQUIRE(tokens.has_value());
  std::set<int> breaks;
  for (const auto& token : tokens->tokens) {
    if (token.is("break")) breaks.insert(token.line);
  }
  std::erase_if(stops, [&](int line) { return breaks.contains(line); });
  return stops;
}

/// The stops are the same, except that the debugger stops once more every 100,000 instructions,
/// wherever it is, and most of those belong to probes.
void check_stops(const Told& told, const Told& original, const std::string& source) {
  const auto stops = comparable(told.stops, source);
  const auto expected = comparable(original.stops, source);
  auto next = expected.begin();
  for (const int line : stops) {
    if (next != expected.end() && line == *next) ++next;
  }
  CHECK(next == expected.end());
  REQUIRE(stops.size() >= expected.size());
  CHECK(stops.size() - expected.size() <= 1 + told.readings.size() / 200);
}

/// Compares the steps of a program with and without probes.
void check_debugged(const std::string& source) {
  CAPTURE(source);
  const auto original = debug(rlctl::test::unprobed(source));
  for (const bool wrapped : {false, true}) {
    const auto script = probed(source, {.wrapped = wrapped});
    const auto told =
        debug(script, {}, {}, [&](const Told& so_far) { check_told(script, so_far); });
    CHECK(told.reply == original.reply);
    CHECK(told.messages == original.messages);
    check_stops(told, original, source);
    const ProbeOptions settable{.wrapped = wrapped,
                                .settable = {told.stops.begin(), told.stops.end()}};
    const auto told_settable = debug(probed(source, settable));
    CHECK(told_settable.reply == told.reply);
    CHECK(told_settable.messages == told.messages);
    check_stops(told_settable, original, source);
  }
}

/// One call of a script.
struct Call {
  Strings keys, arguments;
};

/// Calls of a script of this project, at increasing times.
// The arguments of pitfalls that are semaphores: {event} {limit} {lease_ms} {holder}.
const std::set<std::string> kSemaphores{"negative-counter", "dead-members", "frees-the-next"};

std::vector<Call> calls_of(const std::string& name) {
  std::vector<Call> calls;
  for (int i = 0; i < scaled(8, 12); ++i) {
    const auto now = std::to_string(1'700'000'000'123'456 + i * 4'000'000LL);
    const auto now_ms = std::to_string(1'700'000'000'123 + i / 2 * 4'000LL);
    const auto id = std::to_string(i);
    if (name == "concurrency") {
      calls.push_back({{"k"}, {"3", "20000000", "acquire", "id" + id, now}});
    } else if (std::filesystem::exists(std::string(RLCTL_LUA_DIR) + "/" + name + ".lua")) {
      calls.push_back({{"k"}, {"5", "20000000", "", "1", now}});
      calls.push_back({{"k", "l"}, {"5", "20000000", "", "7", "60000000", "", "1", now}});
      calls.push_back({{"k"}, {"5", "x"}});
    } else if (name == "dead-holds") {
      calls.push_back(
          {{"k"}, {i % 3 == 2 ? "settle" : "reserve", "9", "20000", now_ms, id, "3", "1"}});
    } else if (name.starts_with("double-refund")) {
      calls.push_back({{"k"}, {"9", "20000", now_ms, id, "3", "20000", "1"}});
    } else if (kSemaphores.contains(name)) {
      calls.push_back({{"k"}, {i % 3 == 2 ? "release" : "acquire", "20000", "20000", id}});
    } else {
      calls.push_back({{"k"}, {now_ms, "20000", "5", id}});
    }
  }
  return calls;
}

Strings replies_of(TestServer& server, std::string_view text, const std::vector<Call>& calls) {
  Strings replies;
  (void)server.call({"FLUSHALL"});
  for (const auto& call : calls) {
    replies.push_back(to_text(server.eval(text, call.keys, call.arguments)));
    for (const auto* key : {"k", "l"}) {
      replies.push_back(server.dump(key));
      replies.emplace_back(server.pttl(key) > 0 ? "expires" : "stays");
    }
  }
  return replies;
}

}  // namespace

TEST_CASE("every script of the project behaves the same with probes") {
  TestServer server;
  const std::filesystem::path root = std::filesystem::path(RLCTL_TESTS_DIR) / "..";
  int scripts = 0;
  for (const auto& folder : {root / "lua", root / "examples" / "pitfalls", root / "src" / "ldb"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".lua") continue;
      CAPTURE(entry.path().string());
      ++scripts;
      const auto source = rlctl::test::content_of(entry.path());
      const auto calls = calls_of(entry.path().stem().string());
      const auto replies = replies_of(server, source, calls);
      CHECK(replies_of(server, probed(source).text, calls) == replies);
      CHECK(replies_of(server, probed(source, {.wrapped = true}).text, calls) == replies);
    }
  }
  CHECK(scripts > 15);
}

TEST_CASE("scripts that read the server's clock reply as when they are given the time") {
  TestServer server;
  for (const auto& entry : std::filesystem::directory_iterator(RLCTL_LUA_DIR)) {
    if (entry.path().stem() == "concurrency") continue;
    CAPTURE(entry.path().string());
    const auto source = rlctl::test::content_of(entry.path());
    (void)server.call({"FLUSHALL"});
    for (int i = 0; i < 10; ++i) {
      const std::chrono::microseconds now{1'700'000'000'123'456 + i * 3'000'000LL};
      const Strings limit{"3", "20000000"};
      const Strings timed{"3", "20000000", "", "1", std::to_string(now.count())};
      const auto given = to_text(server.eval(source, {"given"}, timed));
      const ProbeOptions with_clock{.probes = i % 2 == 0, .now = now};
      CHECK(to_text(server.eval(probed(source, with_clock).text, {"asked"}, limit)) == given);
    }
  }
}

TEST_CASE("random programs behave the same with probes") {
  Random random;
  for (auto left = operations(scaled(60, 300)); left > 0; --left) {
    CHECK(same_reply(Program(random).make()).starts_with("{"));
  }
}

TEST_CASE(
    "probes in random programs report each name's value, and the debugger stops as without "
    "probes") {
  Random random;
  for (int i = 0; i < scaled(12, 40); ++i) check_debugged(Program(random).make());
}

}  // namespace ldb_probed_programs_test
