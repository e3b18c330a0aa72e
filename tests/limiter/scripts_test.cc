// needs: server
// What the contract, rlctl-scripts(7), promises for every script. What is specific to one algorithm
// is in that algorithm's file.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "redis/server.h"
#include "support/contract.h"
#include "support/limiters.h"
#include "support/properties.h"
#include "support/schedule.h"

namespace limiter_scripts_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;
using rlctl::redis::Reply;
using std::chrono::milliseconds;

namespace {

std::filesystem::path lua_file(const Algorithm& algorithm) {
  return std::filesystem::path(RLCTL_LUA_DIR) / (std::string(algorithm.name) + ".lua");
}

}  // namespace

TEST_CASE("the embedded scripts are the files in lua/, byte for byte, under their SHA1") {
  TestServer server;
  std::set<std::string> rows;
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    CHECK((algorithm.script == rlctl::read_all(rlctl::open_file(lua_file(algorithm)))));
    const auto loaded = server.call({"SCRIPT", "LOAD", algorithm.script});
    CHECK(loaded.text() == algorithm.sha1);
    rows.insert(lua_file(algorithm).filename());
  }
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(RLCTL_LUA_DIR)) {
    files.insert(entry.path().filename());
  }
  CHECK(files == rows);
}

namespace {

/// The lines of a script from "-- [NAME]" to "-- [/NAME]".
std::string_view marked(std::string_view script, const std::string& name) {
  const auto begin = script.find("-- [" + name + "]");
  const auto end = script.find("-- [/" + name + "]");
  REQUIRE_MESSAGE((begin != script.npos && end != script.npos), name);
  return script.substr(begin, end - begin);
}

/// The same without the script's name, and without blanks, quotes and .., since a message is broken
/// into lines where the name leaves room.
std::string marked_in_any(const Algorithm& algorithm, const std::string& name) {
  std::string text;
  for (const char c : marked(algorithm.script, name)) {
    if (!std::isspace(static_cast<unsigned char>(c)) && c != '\'' && c != '"' && c != '.')
      text += c;
  }
  for (std::size_t at = 0; (at = text.find(algorithm.name, at)) != text.npos;) {
    text.erase(at, algorithm.name.size());
  }
  return text;
}

/// Without what is between two words, each time that they are there.
std::string without(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += from.size()) {
    const auto end = text.find(to, at + from.size());
    REQUIRE_MESSAGE(end != text.npos, from);
    text.erase(at + from.size(), end - at - from.size());
  }
  return text;
}

}  // namespace

TEST_CASE("the lines that several scripts share are the same in each, but for names and ranges") {
  const auto usual = usual_algorithms();
  const auto arguments_of = [](const Algorithm& algorithm) {
    auto text = without(marked_in_any(algorithm, "arguments"), "costandcost>=", "andcost%1");
    text = without(std::move(text), "costmustbeawholenumber", ",not");
    return without(std::move(text), "ifgiven>3*n+", "endcost=");
  };
  // Those that a burst or a period does not concern.
  const auto limits_of = [](const Algorithm& algorithm) {
    auto text =
        without(marked_in_any(algorithm, "limits"), "tonumber(ARGV[3*i-1])", "ifnot(limitand");
    const auto end = text.find(algorithm.has_burst ? "burst=limit" : "ifgiven>=3*i");
    REQUIRE(end != text.npos);
    return text.substr(0, end);
  };
  const auto arguments = arguments_of(usual.front()), limits = limits_of(usual.front());
  CHECK(arguments.size() > 600);
  CHECK(limits.size() > 300);
  for (const Algorithm& algorithm : usual) {
    CAPTURE(algorithm.name);
    CHECK(arguments_of(algorithm) == arguments);
    CHECK(limits_of(algorithm) == limits);
    for (const Algorithm& other : usual) {
      if (other.has_burst != algorithm.has_burst || other.has_periods != algorithm.has_periods) {
        continue;
      }
      CHECK(marked_in_any(algorithm, "limits") == marked_in_any(other, "limits"));
    }
  }
  const auto ttl = marked(find_algorithm("sliding-window-log")->script, "ttl");
  CHECK(ttl.size() > 300);
  CHECK((marked(find_algorithm("sliding-window-zset")->script, "ttl") == ttl));
}

TEST_CASE("the lines that compute a wait are the same in all three places of token-bucket") {
  std::istringstream script{std::string(find_algorithm("token-bucket")->script)};
  std::vector<std::string> blocks;
  for (std::string line; std::getline(script, line);) {
    if (line.find("local wait = ") == std::string::npos) continue;
    const std::size_t indentation = line.find_first_not_of(' ');
    std::string& block = blocks.emplace_back(line.substr(indentation));
    for (int i = 0; i < 3 && std::getline(script, line); ++i) {
      block += '\n' + line.substr(std::min(indentation, line.size()));
    }
  }
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].find("wait > 1") != std::string::npos);  // the last of the lines
  CHECK(blocks[1] == blocks[0]);
  CHECK(blocks[2] == blocks[0]);
}

TEST_CASE("script and model agree about two keys whose limits hardly differ") {
  TestServer server;
  Random random;
  for (const Algorithm& algorithm : usual_algorithms()) {
    ScriptLimiter script(server, algorithm);
    for (int run = 0; run < 60; ++run) {
      const auto name = std::string(algorithm.name) + ":" + std::to_string(run);
      const auto limit = [&] {
        return Limit{random.uniform(3, 6), microseconds{random.uniform(40, 80) * 1'000'000}, {}};
      };
      Request request{{name + ":a", name + ":b"}, {limit(), limit()}, 1, kNow};
      ModelLimiter model(algorithm);
      for (int step = 0; step < 15; ++step) {
        request.cost = random.uniform(algorithm.has_refund ? -1 : 0, 7);
        const auto command = to_command(algorithm, request);
        CAPTURE(command);
        CHECK(script.ask(request) == model.ask(request));
        *request.now += microseconds{random.uniform(0, 20'000'000)};
        if (random.percent(70)) continue;
        std::swap(request.keys.front(), request.keys.back());
        std::swap(request.limits.front(), request.limits.back());
      }
    }
  }
}

TEST_CASE("every script keeps its promises about retry_after and reset_after") {
  Random random;
  for (const Algorithm& algorithm : usual_algorithms()) {
    TestServer server;
    ScriptLimiter script(server, algorithm);
    check_retry_after(script, algorithm, random, scaled(400, 10'000));
    check_reset_after(script, algorithm, random, scaled(400, 10'000));
  }
}

namespace {

/// `margin_ms`: how far the TTL must exceed reset_after.
void check_ttls(TestServer& server, ScriptLimiter& script, const Request& request,
                std::int64_t margin_ms) {
  const Elapsed elapsed;
  const Kept before = look_up(server, request.keys);
  const Decision decision = script.ask(request);
  const Kept after = look_up(server, request.keys);
  const auto slack = elapsed.ms();
  const bool is_look = request.cost == 0 && !request.reservation;
  CAPTURE(decision);
  CAPTURE(slack);
  std::int64_t longest = -2;
  bool exists = false, is_unchanged = false;
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    CAPTURE(before.ttls_ms[i]);
    CAPTURE(after.ttls_ms[i]);
    const bool gone = after.dumps[i].empty();
    is_unchanged = is_unchanged || after.dumps[i] == before.dumps[i];
    REQUIRE((gone || after.ttls_ms[i] >= 0));  // never without a TTL
    if (!gone) REQUIRE(after.ttls_ms[i] >= before.ttls_ms[i] - slack);
    if (!decision.allowed || is_look) {
      REQUIRE(after.dumps[i] == before.dumps[i]);
      REQUIRE(after.ttls_ms[i] <= before.ttls_ms[i]);
    }
    longest = std::max(longest, after.ttls_ms[i]);
    exists = exists || !gone;
  }
  if (!decision.allowed || is_look || !exists) return;
  // To make or settle a reservation again writes nothing, and so sets no TTL.
  if (request.reservation && is_unchanged) return;
  const auto needed = std::chrono::ceil<milliseconds>(decision.reset_after).count() + margin_ms;
  REQUIRE(longest >= needed - slack);
}

enum class Clock { kCallers, kServers, kBoth };

void check_ttls_of(const Algorithm& algorithm, Random& random, Clock clock) {
  TestServer server;
  ScriptLimiter script(server, algorithm);
  CAPTURE(algorithm.name);
  std::int64_t asked = 0;
  for (int run = 0; asked < scaled(400, 10'000); ++run) {
    for (Request request : make_schedule(algorithm, random)) {
      if (clock != Clock::kCallers) use_servers_clock(request);
      if (clock == Clock::kBoth && random.percent(50)) {
        const auto window = request.limits.front().window.count();
        const auto offset = microseconds{random.uniform(-window, window)};
        const auto now = rlctl::redis::server_time(server.call({"TIME"})) + offset;
        request.now = std::clamp(now, 0us, microseconds{4'000'000'000'000'000});
      }
      for (auto& key : request.keys) key += ":" + std::to_string(run);
      const auto command = to_command(algorithm, request);
      CAPTURE(command);
      check_ttls(server, script, request, request.now ? kHourMs : 0);
      ++asked;
    }
  }
}

}  // namespace

TEST_CASE("a TTL covers reset_after and is never shortened, and denials and looks change nothing") {
  Random random;
  for (const Algorithm& algorithm : usual_algorithms()) {
    for (const auto clock : {Clock::kCallers, Clock::kServers, Clock::kBoth}) {
      check_ttls_of(algorithm, random, clock);
    }
  }
}

TEST_CASE("a period that a caller states is kept to its end, and must hold the present") {
  TestServer server;
  constexpr microseconds kMinute{28'333'333 * 60s};
  const auto period = [](microseconds from, microseconds until) {
    return std::to_string(from.count()) + "-" + std::to_string(until.count());
  };
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (!algorithm.has_periods) continue;
    CAPTURE(algorithm.name);
    (void)server.call({"DEL", "k"});
    const auto ask = [&](const std::string& window, microseconds now, const std::string& cost) {
      const auto reply = server.eval(algorithm.script, {"k"},
                                     {"5", window, "", cost, std::to_string(now.count())});
      return reply.is_error() ? std::string(reply.text()) : to_text(Checker::parse(reply));
    };
    const auto first = period(kMinute, kMinute + 100s);
    const auto next = period(kMinute + 100s, kMinute + 130s);
    CHECK(ask("4900000000000001-5000000000000000", kMinute, "1").starts_with("PERIOD "));
    CHECK(ask(first, kMinute - 1us, "1").starts_with("PERIOD "));
    CHECK(ask(first, kMinute, "0") == "{1, 5, 0, 0, 0, 0}");
    CHECK(ask(first, kMinute + 90s, "1") == "{1, 4, 0, 10000000, 0, 0}");
    CHECK(ask(first, kMinute + 100s, "1") ==
          "PERIOD the period of KEYS[1] must hold 1700000080000000, not be '" + first + "'");
    CHECK(ask(next, kMinute + 100s, "1") == "{1, 4, 0, 30000000, 0, 0}");
    // The clock steps back over the boundary: the period that has begun stays.
    CHECK(ask(first, kMinute + 99s, "1") == "{1, 3, 0, 31000000, 0, 0}");
    CHECK(ask(next, kMinute + 129s, "0") == "{1, 3, 0, 1000000, 0, 0}");
    // Of several keys, none is written.
    const auto reply =
        server.eval(algorithm.script, {"k", "l"},
                    {"5", next, "", "5", first, "", "1", std::to_string((kMinute + 100s).count())});
    CHECK(reply.text().starts_with("PERIOD the period of KEYS[2] "));
    CHECK(ask(next, kMinute + 100s, "0") == "{1, 3, 0, 30000000, 0, 0}");
    for (const std::string wrong :
         {"-", "1700000000000000-", "-1700000000001000", "1700000000000000-1700000000000999",
          "1700000000001000-1700000000000000", "1700000000000000-1800000000000001",
          "4999999999999000-5000000000000001", "a1700000000000000-1700000060000000",
          "1700000000000000-1700000060000000x", "1700000000000000-1700000060000000-1"}) {
      const auto error = ask(wrong, kMinute, "1");
      CAPTURE(error);
      CHECK(
          error.starts_with("ERR " + std::string(algorithm.name) + ": window of KEYS[1] must be "));
    }
    (void)server.call({"DEL", "k"});
    CHECK(ask("1700000000000000-1700000000001000", 1'700'000'000'000'999us, "1") ==
          "{1, 4, 0, 1, 0, 0}");
    (void)server.call({"DEL", "k"});
    CHECK(ask("0-100000000000000", 99'999'999'999'999us, "1") == "{1, 4, 0, 1, 0, 0}");
  }
}

}  // namespace limiter_scripts_test
