// needs: server
// What every script refuses, with which message, and without touching anything: rlctl-scripts(7).

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stored/forms.h"
#include "support/contract.h"
#include "support/limiters.h"
#include "support/packed.h"
#include "support/properties.h"

namespace limiter_script_refusals_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test;
using rlctl::redis::Reply;

namespace {

/// The names of the arguments for one key, in the order of ARGV.
const Strings kArguments{"limit", "window", "burst", "cost", "now"};

Strings good_arguments() {
  return {"5", "60000000", "", "1", std::to_string(kNow.count())};
}

/// Values that are invalid for every argument.
const Strings kNoNumbers{"abc", "5x",   "5 5",   "1.5", "-0.5", "nan",  "-nan",
                         "inf", "-inf", "1e400", "0x",  "--1",  "five", "9007199254740993.5"};

Strings bad_values(const Algorithm& algorithm, const std::string& argument) {
  if (argument == "burst" && !algorithm.has_burst) return {"5", "0", "abc"};
  Strings bad = kNoNumbers;
  const auto add = [&](std::initializer_list<const char*> more) {
    bad.insert(bad.end(), more.begin(), more.end());
  };
  if (argument == "limit") add({"", "0", "-1", "1000000001", "1e10", "-5"});
  if (argument == "window") add({"", "0", "-1", "60", "999", "100000000000001", "1e15"});
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

/// Checks the refusal both with and without state under the key.
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

TEST_CASE("a wrong argument of either key is reported with its value, and nothing is written") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    use_key(server, algorithm);
    for (std::size_t i = 0; i < kArguments.size(); ++i) {
      for (const auto& value : bad_values(algorithm, kArguments[i])) {
        auto arguments = good_arguments();
        arguments[i] = value;
        const bool is_of_key = i < 3;
        Strings named{kArguments[i] + (is_of_key ? " of KEYS[1] must be " : " must be "),
                      ", not '" + value + "'"};
        // A log, which cannot take so much, is told what can.
        if (value.ends_with("10001")) named.emplace_back("gcra");
        check_refused_always(server, algorithm, arguments, named);
        arguments.insert(arguments.begin(), {"5", "60000000", ""});
        if (is_of_key) named[0] = kArguments[i] + " of KEYS[2] must be ";
        check_refused(
            server,
            {algorithm, {"used:" + std::string(algorithm.name), "nothing"}, arguments, named});
      }
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
    check_refused_always(server, algorithm, {"1000000001", "60e6", "1"},
                         {"limit of KEYS[1] must be", "'1000000001'"});
    check_refused_always(server, algorithm, {"1", "1000", "1000000001"},
                         {"burst of KEYS[1] must be a whole number", "'1000000001'"});
    // 173 * 23121387283237 is 4e15 + 1.
    check_refused_always(server, algorithm, {"1", "23121387283237", "173"}, {"burst", "'173'"});
    const auto at = std::to_string(kNow.count());
    for (const Strings& most :
         {Strings{"1e9", "60e6", "9007199", "1", at}, Strings{"94906265", "60e6", "", "1", at},
          Strings{"134217728", "1e6", "67108864", "1", at}, Strings{"1", "1e14", "40", "1", at},
          Strings{"1", "4e6", "1e9", "1", at}}) {
      CAPTURE(algorithm.name);
      const Reply reply = server.eval(algorithm.script, {"most:" + most[0] + most[2]}, most);
      CHECK_NOTHROW((void)Checker::parse(reply));
      (void)server.call({"DEL", "most:" + most[0] + most[2]});
    }
  }
}

TEST_CASE("the largest and the smallest arguments are accepted") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    const std::string last = "4000000000000000";
    const auto most = std::to_string(algorithm.max_cost);
    std::vector<Strings> accepted{
        {"1000000000", "1000", algorithm.has_burst ? "9007199" : "", "0", "0"},
        {"1", "100000000000000", "", "0", last},
        {"1", "1000", "", "1", last},
        {"5", "60000000", "", most, last},
    };
    if (algorithm.has_burst) accepted.push_back({"1", "1000", "1", "1", "0"});
    if (algorithm.has_refund) accepted.push_back({"5", "60000000", "", "-" + most, last});
    for (const auto& arguments : accepted) {
      const Reply reply = server.eval(algorithm.script, {"k"}, arguments);
      REQUIRE_MESSAGE(!reply.is_error(), std::string(reply.text()));
      (void)server.call({"DEL", "k"});
    }
  }
}

TEST_CASE("a refusal names the range of the costs, and what the key must hold") {
  TestServer server;
  (void)server.call({"SET", "k", "hello"});
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    const std::string most = algorithm.max_cost == 10'000 ? "10000" : "1e9";
    const auto least = algorithm.has_refund ? "-" + most : "0";
    check_refused(server, {algorithm,
                           {"nothing"},
                           {"5", "60e6", "", "x"},
                           {"cost must be a whole number from " + least + " to " + most}});
    const std::string type(type_of_state(algorithm));
    const Reply reply = server.eval(algorithm.script, {"k"}, good_arguments());
    CHECK(contains(reply.text(), "KEYS[1] must hold a " + (type == "zset" ? "sorted set" : type)));
  }
}

TEST_CASE("too few or too many arguments, no key and a repeated key are refused") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    use_key(server, algorithm);
    check_refused_always(server, algorithm, {}, {"limit of KEYS[1]"});
    check_refused_always(server, algorithm, {"5"}, {"window of KEYS[1]"});
    if (!algorithm.has_burst) {
      check_refused_always(server, algorithm, {"5", "60e6", "5"}, {"burst of KEYS[1]", "'5'"});
    }
    const Strings more(algorithm.has_reservations ? 4 : 1);
    auto many = good_arguments();
    many.insert(many.end(), more.begin(), more.end());
    check_refused_always(server, algorithm, many, {"ARGV"});
    check_refused(server, {algorithm, {}, {}, {"KEYS"}});
    check_refused(server, {algorithm, {}, {"1", "1"}, {"KEYS"}});
    const Strings two{"5", "60e6", "", "5", "1e6"};
    check_refused(server, {algorithm, {"x", "x"}, two, {"KEYS[2]", "'x'"}});
    check_refused(server, {algorithm,
                           {"x", "y", "x"},
                           {"5", "6e6", "", "5", "7e6", "", "5", "8e6"},
                           {"KEYS[3]", "'x'"}});
    check_refused(server, {algorithm, {"x", "y"}, {"5", "60e6", "", "5"}, {"window of KEYS[2]"}});
    check_refused(server, {algorithm, {"x", "y"}, {"5", "60e6"}, {"limit of KEYS[2]"}});
    many = {"5", "6e6", "", "5", "6e6", "", "1", "0"};
    many.insert(many.end(), more.begin(), more.end());
    check_refused(server, {algorithm, {"x", "y"}, many, {"ARGV"}});
  }
}

TEST_CASE(
    "arguments are whole numbers in Lua's syntax, and may be empty or omitted for their defaults") {
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

// --- Keys with other contents
// ----------------------------------------------------------------

namespace {

/// Commands that store something under the key `k` that no algorithm wrote.
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
    {"RPUSH", "k", "4000000000000001"},
    {"RPUSH", "k", "hello", "1700000000123457"},
    {"RPUSH", "k", "1001", "1002", "1003"},
    {"RPUSH", "k", "1", "hello", "3"},
    {"RPUSH", "k", "1.5", "2"},
    {"RPUSH", "k", "007", "8"},
    {"ZADD", "k", "1.5", "1.5:0000000000"},
    {"ZADD", "k", "1.5", "1:0000000000"},
    {"ZADD", "k", "-1", "-1:0000000000"},
    {"ZADD", "k", "4000000000000001", "4000000000000001:0000000000"},
    {"ZADD", "k", "1700000000123457", "1700000000123457:000000000x"},
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
    // As the second key: the first, which allows, must not be written either.
    arguments.insert(arguments.begin(), {"5", "60000000", ""});
    check_foreign_is_refused(server, algorithm, {"first", "k"}, arguments, "KEYS[2]");
  }
}

/// The state after one call with good_arguments().
std::string state_of(TestServer& server, const Algorithm& algorithm) {
  (void)server.call({"DEL", "k"});
  REQUIRE_FALSE(server.eval(algorithm.script, {"k"}, good_arguments()).is_error());
  return std::string(server.call({"GET", "k"}).text());
}

}  // namespace

TEST_CASE("a key of another type or content is refused and left unchanged") {
  TestServer server;
  // Scripts touch the keys that they are given, and no other.
  (void)server.call({"ACL", "SETUSER", "default", "resetkeys", "~k", "~first"});
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

TEST_CASE("a user who may not read a key is told so, and not that the key is another's") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    use_key(server, algorithm);
    int refused = 0;
    for (const std::string command :
         {"get", "hget", "llen", "lindex", "zcard", "zrange", "zcount"}) {
      CAPTURE(command);
      (void)server.call({"ACL", "SETUSER", "default", "-" + command});
      const Reply reply =
          server.eval(algorithm.script, {"used:" + std::string(algorithm.name)}, good_arguments());
      (void)server.call({"ACL", "SETUSER", "default", "+" + command});
      if (reply.type() == rlctl::redis::ReplyType::kArray) continue;
      CHECK(reply.is_error());
      CHECK_FALSE(contains(reply.text(), "WRONGTYPE"));
      ++refused;
    }
    CHECK(refused > 0);
  }
}

TEST_CASE("a truncated or extended state is refused and left unchanged") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (type_of_state(algorithm) != "string") continue;
    CAPTURE(algorithm.name);
    const auto state = state_of(server, algorithm);
    CAPTURE(state);
    Strings damaged{state + "x", state + " ", " " + state, state + state,
                    state + std::string(1, 0)};
    for (std::size_t size = 1; size < state.size(); ++size) {
      damaged.push_back(state.substr(0, size));
      damaged.push_back(state.substr(size));
    }
    for (const auto& text : damaged) {
      CAPTURE(text);
      REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
      check_foreign_is_refused_at_any_cost(server, algorithm);
    }
  }
}

namespace {

/// The offsets of the doubles in an algorithm's state, which follow from the formats in
/// rlctl-stored(7).
std::vector<std::size_t> doubles_of(const Algorithm& algorithm) {
  static const std::map<std::string_view, std::vector<std::size_t>> kOffsets{
      {"fixed-window", {6, 22}}, {"sliding-window-counter", {8, 28}}, {"token-bucket", {7, 15, 27}},
      {"gcra", {5, 21}},         {"leaky-bucket", {6, 22}},
  };
  return kOffsets.at(algorithm.name);
}

/// The script refuses the text and leaves it unchanged, or replies as it should.
template <typename Accepts>
void check_refused_or(TestServer& server, const Algorithm& algorithm, const std::string& text,
                      Accepts accepts) {
  CAPTURE(text);
  REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
  const auto before = server.dump("k");
  const Reply reply = server.eval(algorithm.script, {"k"}, good_arguments());
  if (reply.is_error()) {
    CHECK(reply.text().starts_with("WRONGTYPE "));
    CHECK(server.dump("k") == before);
  } else {
    accepts(Checker::parse(reply));
  }
}

}  // namespace

// Comparing some of these would open or close a limiter.
TEST_CASE("a state with an impossible number is refused, or the number has no effect") {
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (type_of_state(algorithm) != "string") continue;
    CAPTURE(algorithm.name);
    const auto state = state_of(server, algorithm);
    const auto right = Checker::parse(server.eval(algorithm.script, {"k"}, good_arguments()));
    for (const auto at : doubles_of(algorithm)) {
      for (const double number :
           {std::nan(""), -std::nan(""), kInfinity, -kInfinity, -1.0, 1e300, -1e300}) {
        auto text = state;
        text.replace(at, sizeof number, packed("", number));
        check_refused_or(server, algorithm, text,
                         [&](const Decision& decision) { CHECK(decision == right); });
      }
    }
  }
}

namespace {

/// States with numbers at the bounds of what a script writes, and just beyond them.
struct Bounds {
  std::string_view algorithm;
  Strings accepted, refused;
};

std::vector<Bounds> bounds() {
  constexpr double kAt = 1.7e15, kLast = 4e15, kReset = 9e15, kMinute = 60e6, kLongest = 1e14;
  constexpr int kMax = 1'000'000'000;
  return {
      {"fixed-window",
       {packed("fixed ", 0.0, kMax, 5, 1.0), packed("fixed~", kLast, 0, 5, kLongest)},
       {packed("fixed!", kAt, 1, 5, kMinute), packed("fixed ", -1.0, 1, 5, kMinute),
        packed("fixed ", kLast + 1, 1, 5, kMinute), packed("fixed ", kAt, kMax + 1, 5, kMinute),
        packed("fixed ", kAt, 1, 5, 0.0), packed("fixed ", kAt, 1, 5, kLongest + 1)}},
      {"sliding-window-counter",
       {packed("counter ", 0.0, kMax, 0, 5, 1.0), packed("counter~", kReset, 0, kMax, 5, kLongest)},
       {packed("counter!", kAt, 1, 1, 5, kMinute), packed("counter ", -1.0, 1, 1, 5, kMinute),
        packed("counter ", kReset + 1, 1, 1, 5, kMinute),
        packed("counter ", kAt, kMax + 1, 1, 5, kMinute),
        packed("counter ", kAt, 1, kMax + 1, 5, kMinute), packed("counter ", kAt, 1, 1, 5, 0.0),
        packed("counter ", kAt, 1, 1, 5, kLongest + 1)}},
      {"token-bucket",
       {packed("tokens ", 0.0, 0.0, 5, kMinute, 5), packed("tokens~", 1e9, kLast, 5, kMinute, 5),
        packed("tokens ", 1.0, kAt, 5, 1.0, 5), packed("tokens ", 1.0, kAt, 5, 1'000.0, kMax),
        packed("tokens ", 1.0, kAt, 1, kLongest, 40),
        packed("tokens ", 1.0, kAt, 134'217'728, kMinute, 67'108'864)},
       {packed("tokens!", 1.0, kAt, 5, kMinute, 5), packed("tokens ", -0.5, kAt, 5, kMinute, 5),
        packed("tokens ", 1e9 + 0.5, kAt, 5, kMinute, 5),
        packed("tokens ", 1.0, -1.0, 5, kMinute, 5),
        packed("tokens ", 1.0, kLast + 1, 5, kMinute, 5),
        packed("tokens ", 1.0, kAt, kMax + 1, kMinute, 5), packed("tokens ", 1.0, kAt, 5, 0.0, 5),
        packed("tokens ", 1.0, kAt, 5, kLongest + 1, 5), packed("tokens ", 1.0, kAt, 5, kMinute, 0),
        packed("tokens ", 1.0, kAt, 5, 1'000.0, kMax + 1),
        packed("tokens ", 1.0, kAt, 134'217'728, kMinute, 67'108'865),
        packed("tokens ", 1.0, kAt, 1, 23'121'387'283'237.0, 173)}},
      {"gcra",
       {packed("gcra ", 0.0, 4, 5, kMinute, 5), packed("gcra~", kReset, 0, 1, kMinute, 5),
        packed("gcra ", kAt, 1, 5, 1.0, 5), packed("gcra ", kAt, 1, 5, 1'000.0, kMax),
        packed("gcra ", kAt, 0, 1, kLongest, 40),
        packed("gcra ", kAt, 1, 134'217'728, kMinute, 67'108'864)},
       {packed("gcra!", kAt, 1, 5, kMinute, 5), packed("gcra ", -1.0, 1, 5, kMinute, 5),
        packed("gcra ", kReset + 1, 1, 5, kMinute, 5), packed("gcra ", kAt, 5, 5, kMinute, 5),
        packed("gcra ", kAt, 1, kMax + 1, kMinute, 5), packed("gcra ", kAt, 1, 5, 0.0, 5),
        packed("gcra ", kAt, 1, 5, kLongest + 1, 5), packed("gcra ", kAt, 1, 5, kMinute, 0),
        packed("gcra ", kAt, 1, 5, 1'000.0, kMax + 1),
        packed("gcra ", kAt, 1, 134'217'728, kMinute, 67'108'865),
        packed("gcra ", kAt, 0, 1, 23'121'387'283'237.0, 173)}},
      {"leaky-bucket",
       {packed("leaky ", 0.0, 4, 5, kMinute, 5), packed("leaky~", kReset, 0, 1, kMinute, 5)},
       {packed("leaky!", kAt, 1, 5, kMinute, 5), packed("leaky ", -1.0, 1, 5, kMinute, 5),
        packed("leaky ", kReset + 1, 1, 5, kMinute, 5), packed("leaky ", kAt, 5, 5, kMinute, 5)}},
  };
}

}  // namespace

TEST_CASE("a state is read with numbers at the bounds of what scripts write, and not beyond") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    for (const auto& row : bounds()) {
      if (row.algorithm != algorithm.name) continue;
      CAPTURE(algorithm.name);
      for (const auto& text : row.accepted) {
        REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
        const Reply reply = server.eval(algorithm.script, {"k"}, good_arguments());
        CHECK_MESSAGE(!reply.is_error(), std::string(reply.text()));
      }
      for (const auto& text : row.refused) {
        CAPTURE(text);
        REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
        check_foreign_is_refused_at_any_cost(server, algorithm);
      }
    }
  }
}

// A changed byte may make another valid state, but never an answer that no state explains.
TEST_CASE("a corrupted state is refused or read as another state") {
  TestServer server;
  for (const Algorithm& algorithm : usual_algorithms()) {
    if (type_of_state(algorithm) != "string") continue;
    CAPTURE(algorithm.name);
    const auto state = state_of(server, algorithm);
    for (std::size_t i = 0; i < state.size(); ++i) {
      // Each byte is replaced by some others: all of them in turn, and always by the extremes.
      for (int byte = 0; byte < 256; byte += static_cast<int>(scaled(15, 1))) {
        auto text = state;
        text[i] = static_cast<char>(byte);
        check_refused_or(server, algorithm, text, [&](const Decision& decision) {
          CHECK(decision.remaining >= 0);
          CHECK(decision.remaining <= 5);
          CHECK(decision.retry_after >= -1us);
          CHECK(decision.reset_after >= 0us);
          CHECK(decision.reset_after <= kLatestComputed);
        });
      }
    }
  }
}

}  // namespace limiter_script_refusals_test
