// What the contract, rlctl-scripts(7), says of every script alike. What one algorithm alone does is
// in its own file.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/limiters.h"
#include "support/properties.h"
#include "support/schedule.h"

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;
using rlctl::redis::Reply;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr microseconds kNow{1'700'000'000'123'457};
constexpr std::int64_t kHourMs = 3'600'000;

using Strings = std::vector<std::string>;

/// Those that keep the usual contract.
std::vector<Algorithm> usual_algorithms() {
  std::vector<Algorithm> usual;
  std::copy_if(algorithms().begin(), algorithms().end(), std::back_inserter(usual),
               [](const Algorithm& a) { return a.make_model != nullptr; });
  return usual;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::filesystem::path lua_file(const Algorithm& algorithm) {
  return std::filesystem::path(RLCTL_LUA_DIR) / (std::string(algorithm.name) + ".lua");
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// How long a block of calls took, in ms, rounded up: by so much may a TTL have run down, and one
/// for the server's own rounding.
class Elapsed {
 public:
  [[nodiscard]] std::int64_t ms() const {
    const auto passed = steady_clock::now() - start_;
    return std::chrono::ceil<milliseconds>(passed).count() + 1;
  }

 private:
  steady_clock::time_point start_ = steady_clock::now();
};

}  // namespace

TEST_CASE("what is embedded is the files of lua/, byte for byte, under their SHA1") {
  TestServer server;
  std::set<std::string> rows;
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    CHECK((algorithm.script == file_text(lua_file(algorithm))));
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

TEST_CASE("the lines that read and check arguments are the same in every script") {
  const auto block = [](const Algorithm& algorithm) {
    const auto begin = algorithm.script.find("\n-- [arguments]");
    const auto end = algorithm.script.find("-- [/arguments]");
    REQUIRE_MESSAGE((begin != std::string_view::npos && end != std::string_view::npos),
                    std::string(algorithm.name));
    return algorithm.script.substr(begin, end - begin);
  };
  const auto usual = usual_algorithms();
  for (const Algorithm& algorithm : usual) {
    CAPTURE(algorithm.name);
    CHECK(block(algorithm).size() > 1'000);
    CHECK((block(algorithm) == block(usual.front())));
  }
}

TEST_CASE("every script lets exactly its capacity pass at one instant") {
  for (const Algorithm& algorithm : usual_algorithms()) {
    TestServer server;
    ScriptLimiter script(server, algorithm);
    for (const Limit& limit :
         {Limit{3, 1s, {}}, Limit{6, 1s, {}}, Limit{7, 60s, {}}, Limit{60, 1s, {}},
          Limit{600, 1s, {}}, Limit{900'000, 1s, {}}, Limit{1'000'000, 720h, {}}}) {
      check_capacity_at_one_instant(script, algorithm, limit, 1'000);
    }
  }
}

TEST_CASE("every script keeps its promise of retry_after") {
  Random random;
  for (const Algorithm& algorithm : usual_algorithms()) {
    TestServer server;
    ScriptLimiter script(server, algorithm);
    check_retry_after(script, algorithm, random, 2'000);
  }
}

TEST_CASE("every script keeps its promise of reset_after") {
  Random random;
  for (const Algorithm& algorithm : usual_algorithms()) {
    TestServer server;
    ScriptLimiter script(server, algorithm);
    check_reset_after(script, algorithm, random, 2'000);
  }
}

namespace {

/// What is kept under some keys, and for how long.
struct Kept {
  Strings dumps;
  std::vector<std::int64_t> ttls_ms;
};

Kept look_up(TestServer& server, const Strings& keys) {
  Kept kept;
  for (const auto& key : keys) {
    kept.dumps.push_back(server.dump(key));
    kept.ttls_ms.push_back(server.pttl(key));
  }
  return kept;
}

/// `margin_ms`: what the TTL must be above reset_after.
void check_ttls(TestServer& server, ScriptLimiter& script, const Request& request,
                std::int64_t margin_ms) {
  const Elapsed elapsed;
  const Kept before = look_up(server, request.keys);
  const Decision decision = script.ask(request);
  const Kept after = look_up(server, request.keys);
  const auto slack = elapsed.ms();
  CAPTURE(decision);
  CAPTURE(slack);
  std::int64_t longest = -2;
  bool exists = false;
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    CAPTURE(before.ttls_ms[i]);
    CAPTURE(after.ttls_ms[i]);
    const bool gone = after.dumps[i].empty();
    REQUIRE((gone || after.ttls_ms[i] >= 0));  // never without
    if (!gone) REQUIRE(after.ttls_ms[i] >= before.ttls_ms[i] - slack);
    if (!decision.allowed || request.cost == 0) {
      REQUIRE(after.dumps[i] == before.dumps[i]);
      REQUIRE(after.ttls_ms[i] <= before.ttls_ms[i]);
    }
    longest = std::max(longest, after.ttls_ms[i]);
    exists = exists || !gone;
  }
  if (!decision.allowed || request.cost == 0 || !exists) return;
  const auto needed = std::chrono::ceil<milliseconds>(decision.reset_after).count() + margin_ms;
  REQUIRE(longest >= needed - slack);
}

enum class Clock { kCallers, kServers, kBoth };

microseconds today() {
  return std::chrono::duration_cast<microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

/// By the server's clock what is kept for a ms may be gone between two questions: only limits that
/// take longer, and windows whose edge is not likely to come while the test runs.
void use_servers_clock(Request& request) {
  request.now.reset();
  for (Limit& limit : request.limits) {
    limit.window = std::max<microseconds>(limit.window, 1'000'000s);
    limit.limit = std::min<std::int64_t>(limit.limit, 1000);
    limit.burst.reset();
  }
}

void check_ttls_of(const Algorithm& algorithm, Random& random, Clock clock) {
  TestServer server;
  ScriptLimiter script(server, algorithm);
  CAPTURE(algorithm.name);
  std::int64_t asked = 0;
  for (int run = 0; asked < 2'000; ++run) {
    for (Request request : make_schedule(algorithm, random)) {
      if (clock != Clock::kCallers) use_servers_clock(request);
      if (clock == Clock::kBoth && random.percent(50)) {
        const auto window = request.limits.front().window.count();
        const auto offset = microseconds{random.uniform(-window, window)};
        request.now = std::clamp(today() + offset, 0us, microseconds{4'000'000'000'000'000});
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

// A rate so fast that both calls fall into one second of the key's own time.
TEST_CASE("what the server's clock began, a caller's clock keeps for an hour more") {
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    for (const Limit limit : {Limit{600, 1s, {}}, Limit{9'000, 60s, {}}, Limit{5, 3600s, {}}}) {
      TestServer server;
      ScriptLimiter script(server, algorithm);
      Request request{{"k"}, {limit}, limit.limit / 2, {}};
      REQUIRE(script.ask(request).allowed);
      request.cost = 1;
      for (int i = 0; i < 2; ++i) {
        request.now = today();
        const Decision decision = script.ask(request);
        REQUIRE(decision.allowed);
        CHECK(server.pttl("k") >= kHourMs + decision.reset_after / 1ms);
      }
    }
  }
}

TEST_CASE("a TTL covers reset_after and is never shortened; a denial and a look change nothing") {
  Random random;
  for (const Algorithm& algorithm : usual_algorithms()) {
    for (const auto clock : {Clock::kCallers, Clock::kServers, Clock::kBoth}) {
      check_ttls_of(algorithm, random, clock);
    }
  }
}

TEST_CASE("state outlives a window on a clock a thousand times slower than the server's") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    ScriptLimiter script(server, algorithm);
    const Limit limit{1, 100ms, {}};
    const std::string key = "slow:" + std::string(algorithm.name);
    const auto first = microseconds{kNow - kNow % 100ms};
    while (script.ask(key, limit, 1, first).allowed) {
    }
  }
  std::this_thread::sleep_for(150ms);
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    ScriptLimiter script(server, algorithm);
    const auto later = microseconds{kNow - kNow % 100ms + 150us};
    CHECK_FALSE(
        script.ask("slow:" + std::string(algorithm.name), {1, 100ms, {}}, 1, later).allowed);
  }
}

TEST_CASE("a short window does not cut short what a long one keeps") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    ScriptLimiter script(server, algorithm);
    const std::string key = "two:" + std::string(algorithm.name);
    const Elapsed elapsed;
    CHECK(script.ask(key, {5, 24h, {}}, 1, kNow).allowed);
    const auto long_ttl = server.pttl(key);
    (void)script.ask(key, {5, 1s, {}}, 1, kNow);
    CHECK(server.pttl(key) >= long_ttl - elapsed.ms());
    CHECK(long_ttl > kHourMs);
  }
}

TEST_CASE("without a time the server's clock decides") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    ScriptLimiter script(server, algorithm);
    const Limit limit{3, 2400h, {}};
    Request request{{"clock:" + std::string(algorithm.name)}, {limit}, 1, {}};
    for (auto left = capacity(algorithm, limit); left > 0; --left) {
      const Decision decision = script.ask(request);
      CHECK(decision.allowed);
      CHECK(decision.remaining == left - 1);
    }
    const Decision denied = script.ask(request);
    CHECK_FALSE(denied.allowed);
    CHECK(denied.retry_after > 0us);
    // The state is that of today: asked for by the caller's clock, a second later, it still denies.
    request.now = today() + 1s;
    const Decision later = script.ask(request);
    CHECK_FALSE(later.allowed);
    CHECK(std::abs((denied.retry_after - later.retry_after - 1s).count()) < 500'000);
  }
}

TEST_CASE("a look runs where nothing may be written") {
  TestServer server;
  if (contains(server.call({"EVAL_RO", "return 1", "0"}).text(), "unknown command")) {
    MESSAGE("skipped: this server has no EVAL_RO");
    return;
  }
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    ScriptLimiter script(server, algorithm);
    const std::string key = "ro:" + std::string(algorithm.name);
    while (script.ask(key, {5, 60s, {}}, 1, kNow).allowed) {
    }
    const auto at = std::to_string(kNow.count());
    const auto much_later = std::to_string((kNow + 1h).count());
    for (const auto& [cost, now] : {std::pair{"0", at}, {"1", at}, {"0", much_later}}) {
      const Reply reply =
          server.call({"EVALSHA_RO", algorithm.sha1, "1", key, "5", "60000000", "", cost, now});
      CHECK_NOTHROW((void)Checker::parse(reply));
    }
  }
}

// --- Wrong arguments
// ------------------------------------------------------------------------------

namespace {

/// Names in the order of ARGV, for one key.
const Strings kArguments{"limit", "window", "burst", "cost", "now"};

Strings good_arguments() {
  return {"5", "60000000", "", "1", std::to_string(kNow.count())};
}

/// Values that no argument takes.
const Strings kNoNumbers{"abc", "5x",   "5 5",   "1.5", "-0.5", "nan",  "-nan",
                         "inf", "-inf", "1e400", "0x",  "--1",  "five", "9007199254740993.5"};

Strings bad_values(const Algorithm& algorithm, const std::string& argument) {
  Strings bad = kNoNumbers;
  const auto add = [&](std::initializer_list<const char*> more) {
    bad.insert(bad.end(), more.begin(), more.end());
  };
  if (argument == "limit") add({"", "0", "-1", "1000000001", "1e10", "-5"});
  if (argument == "window") add({"", "0", "-1", "100000000000001", "1e15"});
  if (argument == "burst") add({"0", "-1", "1000000001"});
  if (argument == "now") add({"-1", "4000000000000001", "1e16"});
  if (argument == "cost") {
    add({"1000000001", "-1000000001", "1e300"});
    if (algorithm.max_cost == 10'000) add({"10001", "-10001", "1000000000"});
    if (!algorithm.has_refund) add({"-1", "-10000"});
  }
  return bad;
}

struct Refusal {
  const Algorithm& algorithm;
  Strings keys;
  Strings arguments;
  Strings named;  ///< what the error must contain
};

void check_refused(TestServer& server, const Refusal& refusal) {
  std::string asked;
  for (const auto& argument : refusal.arguments) asked += " '" + argument + "'";
  CAPTURE(refusal.algorithm.name);
  CAPTURE(asked);
  const Kept before = look_up(server, refusal.keys);
  const Reply reply = server.eval(refusal.algorithm.script, refusal.keys, refusal.arguments);
  const Kept after = look_up(server, refusal.keys);
  const std::string error(reply.text());
  CAPTURE(error);
  REQUIRE(reply.is_error());
  CHECK(error.starts_with("ERR " + std::string(refusal.algorithm.name) + ": "));
  for (const auto& name : refusal.named) CHECK_MESSAGE(contains(error, name), "names: ", name);
  CHECK(after.dumps == before.dumps);
}

/// With nothing under the key, and with something.
void check_refused_always(TestServer& server, const Algorithm& algorithm, const Strings& arguments,
                          const Strings& named) {
  check_refused(server, {algorithm, {"nothing"}, arguments, named});
  check_refused(server, {algorithm, {"used:" + std::string(algorithm.name)}, arguments, named});
}

void use_key(TestServer& server, const Algorithm& algorithm) {
  const Reply reply =
      server.eval(algorithm.script, {"used:" + std::string(algorithm.name)}, good_arguments());
  REQUIRE_FALSE(reply.is_error());
}

}  // namespace

TEST_CASE("a wrong argument is named with its value, and nothing is written") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    use_key(server, algorithm);
    for (std::size_t i = 0; i < kArguments.size(); ++i) {
      if (kArguments[i] == "burst" && !algorithm.has_burst) continue;
      for (const auto& value : bad_values(algorithm, kArguments[i])) {
        auto arguments = good_arguments();
        arguments[i] = value;
        check_refused_always(server, algorithm, arguments, {kArguments[i], "'" + value + "'"});
      }
    }
  }
}

TEST_CASE("a wrong argument of the second key is named too, and no key is written") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    use_key(server, algorithm);
    const Strings keys{"used:" + std::string(algorithm.name), "nothing"};
    for (std::size_t i = 0; i < kArguments.size(); ++i) {
      if (kArguments[i] == "burst" && !algorithm.has_burst) continue;
      for (const auto& value : bad_values(algorithm, kArguments[i])) {
        Strings arguments{"5", "60000000", ""};
        const auto own = good_arguments();
        arguments.insert(arguments.end(), own.begin(), own.end());
        arguments[3 + i] = value;
        check_refused(server, {algorithm, keys, arguments, {kArguments[i], "'" + value + "'"}});
      }
    }
  }
}

TEST_CASE("a burst where there is none is refused") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (algorithm.has_burst) continue;
    use_key(server, algorithm);
    for (const auto* burst : {"5", "0", "abc"}) {
      auto arguments = good_arguments();
      arguments[2] = burst;
      check_refused_always(server, algorithm, arguments, {"burst", "'" + std::string(burst) + "'"});
    }
  }
}

TEST_CASE("a limit and a burst that cannot be counted exactly are refused") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (!algorithm.has_burst) continue;
    use_key(server, algorithm);
    check_refused_always(server, algorithm, {"1e9", "60e6", "9007200"}, {"burst", "'9007200'"});
    check_refused_always(server, algorithm, {"94906266", "60e6"}, {"burst"});
    check_refused_always(server, algorithm, {"1", "1e14", "41"}, {"burst", "'41'"});
    const auto at = std::to_string(kNow.count());
    for (const Strings& most :
         {Strings{"1e9", "60e6", "9007199", "1", at}, Strings{"94906265", "60e6", "", "1", at},
          Strings{"1", "1e14", "40", "1", at}, Strings{"1", "4e6", "1e9", "1", at}}) {
      CAPTURE(algorithm.name);
      const Reply reply = server.eval(algorithm.script, {"most:" + most[0] + most[2]}, most);
      CHECK_NOTHROW((void)Checker::parse(reply));
      (void)server.call({"DEL", "most:" + most[0] + most[2]});
    }
  }
}

TEST_CASE("a cost too large for a log is refused with advice") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (algorithm.max_cost != 10'000) continue;
    use_key(server, algorithm);
    for (const auto* cost : {"10001", "-10001"}) {
      check_refused_always(server, algorithm, {"5", "60e6", "", cost},
                           {"cost", "'" + std::string(cost) + "'", "gcra"});
    }
  }
}

TEST_CASE("too few or too many arguments, and no key or one twice, are refused") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    use_key(server, algorithm);
    check_refused_always(server, algorithm, {}, {"limit"});
    check_refused_always(server, algorithm, {"5"}, {"window"});
    auto many = good_arguments();
    many.emplace_back("");
    check_refused_always(server, algorithm, many, {"ARGV"});
    check_refused(server, {algorithm, {}, {}, {"KEYS"}});
    check_refused(server, {algorithm, {}, {"1", "1"}, {"KEYS"}});
    const Strings two{"5", "60e6", "", "5", "1e6"};
    check_refused(server, {algorithm, {"x", "x"}, two, {"KEYS", "'x'"}});
    check_refused(
        server,
        {algorithm, {"x", "y", "x"}, {"5", "6", "", "5", "7", "", "5", "8"}, {"KEYS", "'x'"}});
    check_refused(server, {algorithm, {"x", "y"}, {"5", "60e6", "", "5"}, {"window"}});
    check_refused(server, {algorithm, {"x", "y"}, {"5", "60e6"}, {"limit"}});
    check_refused(server,
                  {algorithm, {"x", "y"}, {"5", "6", "", "5", "6", "", "1", "0", ""}, {"ARGV"}});
  }
}

TEST_CASE("arguments are whole numbers as Lua reads them, and defaults are left out or empty") {
  TestServer server;
  const auto at = std::to_string(kNow.count());
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    for (const Strings& same :
         {Strings{"5", "60000000", "", "1", at}, Strings{"5", "60e6", "", "", at},
          Strings{"0x5", "6e7", "", "1.0", at}, Strings{" 5 ", "60000000.0", "", "1e0", at}}) {
      ModelLimiter model(algorithm);
      const Reply reply = server.eval(algorithm.script, {"k"}, same);
      REQUIRE_MESSAGE(!reply.is_error(), std::string(reply.text()));
      CHECK(Checker::parse(reply) == model.ask("k", {5, 60s, {}}, 1, kNow));
      (void)server.call({"DEL", "k"});
    }
    for (const Strings& fewer :
         {Strings{"5", "60e6"}, Strings{"5", "60e6", ""}, Strings{"5", "60e6", "", ""},
          Strings{"5", "60e6", "", "", ""}, Strings{"5", "60e6", "", "1"}}) {
      const Reply reply = server.eval(algorithm.script, {"k"}, fewer);
      REQUIRE_MESSAGE(!reply.is_error(), std::string(reply.text()));
      CHECK(Checker::parse(reply).remaining == capacity(algorithm, {5, 60s, {}}) - 1);
      (void)server.call({"DEL", "k"});
    }
  }
}

// --- Keys that hold something else
// ----------------------------------------------------------------

namespace {

/// Commands that put something under the key `k` which no algorithm wrote.
const std::vector<Strings> kForeign{
    {"SET", "k", ""},
    {"SET", "k", "0"},
    {"SET", "k", "hello"},
    {"SET", "k", "5 1700000000000000 5 60000000"},
    {"SET", "k", std::string(200, ' ')},
    {"SET", "k", std::string("\0\xff\x01", 3)},
    {"RPUSH", "k", "hello"},
    {"RPUSH", "k", ""},
    {"RPUSH", "k", "1700000000123457", "x"},
    {"RPUSH", "k", "1.5"},
    {"RPUSH", "k", "nan"},
    {"RPUSH", "k", "-1"},
    {"SADD", "k", "1"},
    {"HSET", "k", "tokens", "5"},
    {"HSET", "k", "x", "y"},
    {"ZADD", "k", "1", "x"},
    {"ZADD", "k", "1700000000123457", "1700000000123457"},
    {"ZADD", "k", "1700000000123457", "lease:"},
    {"ZADD", "k", "1.5", "1.5:0000000000"},
    {"XADD", "k", "1-1", "a", "b"},
};

void check_foreign_is_refused(TestServer& server, const Algorithm& algorithm, const Strings& keys,
                              const Strings& arguments, const std::string& named) {
  const Elapsed elapsed;
  const Kept before = look_up(server, keys);
  const Reply reply = server.eval(algorithm.script, keys, arguments);
  const Kept after = look_up(server, keys);
  const std::string error(reply.text());
  CAPTURE(error);
  REQUIRE(reply.is_error());
  CHECK(error.starts_with("WRONGTYPE " + std::string(algorithm.name) + ": "));
  CHECK(contains(error, named));
  CHECK(after.dumps == before.dumps);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CHECK(after.ttls_ms[i] <= before.ttls_ms[i]);
    CHECK(after.ttls_ms[i] >= before.ttls_ms[i] - elapsed.ms());
  }
}

void check_foreign_is_refused_at_any_cost(TestServer& server, const Algorithm& algorithm) {
  for (const auto* cost : {"1", "0", "6", "-1"}) {
    if (std::string_view(cost) == "-1" && !algorithm.has_refund) continue;
    CAPTURE(std::string_view(cost));
    auto arguments = good_arguments();
    arguments[3] = cost;
    check_foreign_is_refused(server, algorithm, {"k"}, arguments, "KEYS[1]");
    // As the second key: the first, which allows, must not be written.
    arguments.insert(arguments.begin(), {"5", "60000000", ""});
    check_foreign_is_refused(server, algorithm, {"first", "k"}, arguments, "KEYS[2]");
  }
}

}  // namespace

TEST_CASE("a key of another type or content is refused and stays as it was") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    for (const Strings& command : kForeign) {
      std::string made;
      for (const auto& word : command) made += " '" + word + "'";
      CAPTURE(made);
      REQUIRE_FALSE(server.call(command).is_error());
      check_foreign_is_refused_at_any_cost(server, algorithm);
      (void)server.call({"DEL", "k"});
    }
  }
}

TEST_CASE("another algorithm's state is refused and stays as it was") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    for (const Algorithm& other : algorithms()) {
      if (other.name == algorithm.name) continue;
      CAPTURE(algorithm.name);
      CAPTURE(other.name);
      const auto arguments = other.make_model != nullptr ? good_arguments()
                                                         : Strings{"5", "60000000", "acquire", "me",
                                                                   std::to_string(kNow.count())};
      const Reply reply = server.eval(other.script, {"k"}, arguments);
      REQUIRE_MESSAGE(!reply.is_error(), std::string(reply.text()));
      check_foreign_is_refused_at_any_cost(server, algorithm);
      (void)server.call({"DEL", "k"});
    }
  }
}

TEST_CASE("a state that was cut or lengthened is refused and stays as it was") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (algorithm.keeps != "a string") continue;
    CAPTURE(algorithm.name);
    (void)server.call({"DEL", "k"});
    REQUIRE_FALSE(server.eval(algorithm.script, {"k"}, good_arguments()).is_error());
    const std::string state(server.call({"GET", "k"}).text());
    CAPTURE(state);
    Strings damaged{state + "x", state + " ", " " + state, state + state,
                    state + std::string(1, 0)};
    // Its last number has as many digits as it needs: with some fewer it is another number.
    const std::size_t last_number = state.rfind(' ') + 1;
    for (std::size_t size = 1; size < state.size(); ++size) {
      if (size <= last_number) damaged.push_back(state.substr(0, size));
      damaged.push_back(state.substr(size));
    }
    for (const auto& text : damaged) {
      CAPTURE(text);
      REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
      check_foreign_is_refused_at_any_cost(server, algorithm);
    }
  }
}

// Lua reads all of these as numbers, and comparisons with some of them open or close a limiter.
TEST_CASE("a state with a number that none of its numbers can be is refused, or decides nothing") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (algorithm.keeps != "a string") continue;
    CAPTURE(algorithm.name);
    (void)server.call({"DEL", "k"});
    REQUIRE_FALSE(server.eval(algorithm.script, {"k"}, good_arguments()).is_error());
    const std::string state(server.call({"GET", "k"}).text());
    (void)server.call({"SET", "k", state});
    const auto right = Checker::parse(server.eval(algorithm.script, {"k"}, good_arguments()));
    for (std::size_t at = state.find_first_of("0123456789"); at < state.size();) {
      const auto size = std::min(state.find(' ', at), state.size()) - at;
      for (const std::string_view number : {"nan", "-nan", "inf", "-inf", "-1", "1e300"}) {
        if (number.size() > size) continue;
        auto text = state;
        text.replace(at, size, std::string(size - number.size(), ' ') + std::string(number));
        CAPTURE(text);
        REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
        const auto before = server.dump("k");
        const Reply reply = server.eval(algorithm.script, {"k"}, good_arguments());
        if (reply.is_error()) {
          CHECK(reply.text().starts_with("WRONGTYPE "));
          CHECK(server.dump("k") == before);
        } else {
          CHECK(Checker::parse(reply) == right);
        }
      }
      at += size + 1;
    }
  }
}

// limit, window and burst are kept for readers; where the algorithm itself has no use for one, it
// does not look at it.
TEST_CASE("a state that was scribbled on is refused, or what was scribbled on decides nothing") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (algorithm.keeps != "a string") continue;
    CAPTURE(algorithm.name);
    (void)server.call({"DEL", "k"});
    const Reply first = server.eval(algorithm.script, {"k"}, good_arguments());
    REQUIRE_FALSE(first.is_error());
    const std::string state(server.call({"GET", "k"}).text());
    (void)server.call({"SET", "k", state});
    const auto right = Checker::parse(server.eval(algorithm.script, {"k"}, good_arguments()));
    for (std::size_t i = 0; i < state.size(); ++i) {
      for (const char scribble : {'z', '~'}) {
        auto text = state;
        text[i] = scribble;
        CAPTURE(text);
        REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
        const auto before = server.dump("k");
        const Reply reply = server.eval(algorithm.script, {"k"}, good_arguments());
        if (reply.is_error()) {
          CHECK(reply.text().starts_with("WRONGTYPE "));
          CHECK(server.dump("k") == before);
        } else {
          CHECK(Checker::parse(reply) == right);
        }
      }
    }
  }
}
