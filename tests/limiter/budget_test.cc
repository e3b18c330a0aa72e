// needs: server
#include "limiter/budget_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "limiter/check.h"
#include "support/check_each.h"
#include "support/contract.h"
#include "support/observed.h"
#include "support/random.h"

namespace limiter_budget_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

const Algorithm& budget() {
  return algorithm("budget");
}
constexpr microseconds kMinute{28'333'333 * 60s};  // 2023-11-14T22:13Z, the start of a minute

/// The bytes of the number, the lowest first.
std::string bytes(std::uint64_t number, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::uint64_t at(microseconds offset) {
  return static_cast<std::uint64_t>((kMinute + offset).count());
}

}  // namespace

TEST_CASE("budget: a wrong action, ID, hold or cost is reported with its value") {
  const std::string reserves = "cost of reserve must be a whole number from 1 to 1e9, not ",
                    settles = "cost of settle must be a whole number from 0 to 1e9, not ",
                    holds = "hold must be a whole number of microseconds from 1000 to 1e14, not ";
  TestServer server;
  check_each({{"1 '' release", "action must be reserve, settle or left out, not 'release'"},
              {"0 '' reserve a 1000", reserves + "'0'"},
              {"-1 '' settle a", settles + "'-1'"},
              {"'' '' settle a", settles + "''"},
              {"1 '' reserve '' 1000", "id must be of 1 to 20 bytes, not ''"},
              {"1 '' reserve xxxxxxxxxxxxxxxxxxxxx 1000",
               "id must be of 1 to 20 bytes, not 'xxxxxxxxxxxxxxxxxxxxx'"},
              {"1 '' '' a", "id must be left out, not 'a'"},
              {"1 '' '' '' 1000", "hold must be left out, not '1000'"},
              {"1 '' settle a 1000", "hold must be left out, not '1000'"},
              {"1 '' reserve a ''", holds + "''"},
              {"1 '' reserve a 999", holds + "'999'"},
              {"1 '' reserve a 100000000000001", holds + "'100000000000001'"},
              {"1 '' reserve a 1000.5", holds + "'1000.5'"},
              {"1 '' reserve a nan", holds + "'nan'"},
              {"1 '' reserve a x", holds + "'x'"}},
             [&](const std::string& text) {
               Strings arguments{"5", "60000000", ""};
               std::istringstream words(text);
               for (std::string word; words >> word;) {
                 arguments.push_back(word == "''" ? "" : word);
               }
               const std::string error(server.eval(budget().script, {"k"}, arguments).text());
               CHECK(server.dump("k").empty());
               arguments.insert(arguments.begin(), {"5", "60000000", ""});
               CHECK(server.eval(budget().script, {"k", "l"}, arguments).text() == error);
               CHECK(error.starts_with("ERR budget: "));
               return error.substr(12);
             });
}

TEST_CASE("budget: the header has until when the server keeps the key, by its clock") {
  TestServer server;
  ObservedScript script(server, budget());
  script.servers_clock = kMinute;
  const auto expires = [&](const std::vector<std::string>& call) {
    std::vector<std::string> arguments{"100", "60000000", ""};
    arguments.insert(arguments.end(), call.begin(), call.end());
    REQUIRE_FALSE(script.eval({"k"}, arguments).is_error());
    return std::string(server.call({"HGET", "k", ""}).text()).substr(54, 7);
  };
  CHECK(expires({"1"}) == bytes(at(75s), 7));
  CHECK(script.ttls_set() == Strings{"k 75001"});
  // It is asked when the server ends it once that is not late enough.
  script.left_ms = 200'001;
  CHECK(expires({"1", "", "reserve", "a", "50000000"}) == bytes(at(200s), 7));
  script.left_ms = 200'000;
  CHECK(expires({"1", "", "reserve", "b", "100000000"}) == bytes(at(200s), 7));
  CHECK(script.ttls_set().empty());
  CHECK(expires({"1", "", "reserve", "c", "100000001"}) == bytes(at(250s), 7));
  CHECK(script.ttls_set() == Strings{"k 250001"});
  // A caller's clock tells nothing of that.
  CHECK(expires({"1", std::to_string(at(1s))}) == bytes(0, 7));
}

TEST_CASE(
    "budget: a TTL that exactly suffices is not set again; a window with 1 µs left gets one of 1 "
    "ms") {
  TestServer server;
  ObservedScript script(server, budget());
  const auto take = [&](microseconds now, const std::string& stated) {
    script.servers_clock = now;
    REQUIRE_FALSE(script.eval({"k"}, {"100", "60000000", "", "1", stated}).is_error());
    return script.ttls_set();
  };
  CHECK(take(kMinute, std::to_string(at(0s))).size() == 1);
  script.left_ms = 60'000;
  CHECK(take(kMinute + 999us, "").empty());
  CHECK(std::string(server.call({"HGET", "k", ""}).text()).substr(54, 7) ==
        bytes(at(59'999'999us), 7));
  (void)server.call({"DEL", "k"});
  CHECK(take(kMinute + 60s - 1us, "") == Strings{"k 1"});
}

// ---- Hashes that the script did not write ----

namespace {

struct Header {
  std::string tag = "budget";
  std::uint64_t end = 1'700'000'060'000'000, window = 60'000'000, limit = 5, spent = 1, held = 0,
                next = 0, time = 1'700'000'000'000'000, last = 0, expires = 0, ids = 0,
                sweep_at = 16;

  std::string text() const {
    return tag + bytes(end, 7) + bytes(window, 6) + bytes(limit, 4) + bytes(spent, 6) +
           bytes(held, 4) + bytes(next, 7) + bytes(time, 7) + bytes(last, 7) + bytes(expires, 7) +
           bytes(ids, 2) + bytes(sweep_at, 1);
  }
};

std::string entry(char state, std::uint64_t units, std::uint64_t until, std::uint64_t forgotten) {
  return state + bytes(units, 4) + bytes(until, 7) + bytes(forgotten, 7);
}

/// What a reserve, a settle and a take reply to a key with these fields; none may change a hash
/// that it refuses. Equal replies stand once.
std::string replies(TestServer& server, const std::vector<std::string>& fields) {
  const auto now = std::to_string(1'700'000'001'000'000);
  std::vector<std::vector<std::string>> calls{{"1", now},
                                              {"0", now},
                                              {"5", now},
                                              {"1", now, "reserve", "a", "1000"},
                                              {"1", now, "reserve", "b", "1000"},
                                              {"1", now, "settle", "a"}};
  std::string text;
  for (auto& arguments : calls) {
    (void)server.call({"DEL", "k"});
    std::vector<std::string> command{"HSET", "k"};
    command.insert(command.end(), fields.begin(), fields.end());
    REQUIRE_FALSE(server.call(command).is_error());
    const auto before = server.dump("k");
    arguments.insert(arguments.begin(), {"5", "60000000", ""});
    const auto reply = server.eval(budget().script, {"k"}, arguments);
    if (!reply.is_error()) continue;
    CHECK(server.dump("k") == before);
    if (text != reply.text()) text += reply.text();
  }
  return text;
}

}  // namespace

TEST_CASE("budget: no more than 2^48 - 1 units are counted as spent") {
  TestServer server;
  constexpr std::int64_t kMost = 281'474'976'710'655;
  for (const std::int64_t more : {4, 5, 6}) {
    const auto expected = std::min(kMost, kMost - 5 + more);
    (void)server.call({"DEL", "k"});
    const Header header{.end = at(60s),
                        .limit = 5,
                        .spent = kMost - 5,
                        .held = 1,
                        .next = at(30s),
                        .time = at(0s),
                        .last = at(60s),
                        .ids = 1};
    const std::vector<std::string> fields{"HSET",        "k", "",
                                          header.text(), "a", entry('h', 1, at(30s), at(60s))};
    REQUIRE_FALSE(server.call(fields).is_error());
    const auto reply = server.eval(
        budget().script, {"k"},
        {"5", "60000000", "", std::to_string(more), std::to_string(at(1s)), "settle", "a"});
    REQUIRE_FALSE(reply.is_error());
    CHECK(std::string(server.call({"HGET", "k", ""}).text()).substr(23, 6) ==
          bytes(static_cast<std::uint64_t>(expected), 6));
    BudgetModel model(Budget{
        .end = kMinute + 60s,
        .spent = kMost - 5,
        .written_at = kMinute,
        .reservations = {
            {"a", {.units = 1, .held_until = kMinute + 30s, .forgotten_at = kMinute + 60s}}}});
    model.record_settle({5, 60s, {}}, "a", more, kMinute + 1s);
    CHECK(model.stored()->spent == expected);
  }
}

TEST_CASE("budget: a hash that the script cannot have written is refused and left unchanged") {
  TestServer server;
  const std::string refused =
      "WRONGTYPE budget: KEYS[1] must hold a hash of a header '' and at most 500 reservations";
  const auto good = Header{}.text();
  REQUIRE(good.size() == 64);
  CHECK(replies(server, {"", good}).empty());
  CHECK(replies(server, {"a", "x"}) == refused);
  CHECK(replies(server, {"", ""}) == refused);
  CHECK(replies(server, {"", good + "x"}) == refused);
  CHECK(replies(server, {"", good.substr(0, 63)}) == refused);
  for (const auto& header :
       {Header{.tag = "bucket"}, Header{.end = 5'000'000'000'000'001},
        Header{.window = 100'000'000'000'001}, Header{.time = 4'000'000'000'000'001},
        Header{.last = 5'000'000'000'000'001}}) {
    CHECK(replies(server, {"", header.text()}) == refused);
  }
  for (const auto& header : {Header{.end = 5'000'000'000'000'000, .window = 100'000'000'000'000},
                             Header{.end = 4'000'000'000'000'001,
                             .time = 4'000'000'000'000'000,
                             .last = 5'000'000'000'000'000}}) {
    CHECK(replies(server, {"", header.text()}).empty());
  }
  // All reservations are read once a hold has ended, and the one asked about in each call.
  const auto held = Header{.held = 1, .next = 1'700'000'000'000'001, .ids = 1}.text();
  const auto until = std::uint64_t{1'700'000'000'000'001};
  CHECK(replies(server, {"", held, "a", entry('h', 1, until, until)}).empty());
  for (const auto& wrong : {std::string(), std::string("x"), entry('x', 1, until, until),
                            entry('h', 1, until, until) + "x"}) {
    CHECK(replies(server, {"", held, "a", wrong}) == refused);
    CHECK(replies(server, {"", held, "b", wrong}) == refused);
    CHECK(replies(server, {"", held, "z", wrong}) == refused);  // no call names it
    CHECK(replies(server, {"", good, "a", wrong}) == refused);
  }
  std::vector<std::string> fields{"", held};
  for (int i = 0; i < 500; ++i) {
    fields.insert(fields.end(), {std::to_string(i), entry('h', 0, until, until)});
  }
  CHECK(replies(server, fields).empty());
  fields.insert(fields.end(), {"500", entry('h', 0, until, until)});
  CHECK(replies(server, fields) == refused);
}

TEST_CASE("budget: whatever bytes a hash has, the script replies or refuses it") {
  TestServer server;
  Random random;
  const auto some = [&](std::size_t size) {
    std::string text;
    while (text.size() < size) {
      text +=
          static_cast<char>(random.percent(60) ? random.uniform(0, 2) - 1 : random.uniform(0, 255));
    }
    return text;
  };
  for (int run = 0; run < scaled(200, 5'000); ++run) {
    std::vector<std::string> fields{"", "budget" + some(58)};
    for (auto ids = random.uniform(0, 4); ids > 0; --ids) {
      fields.insert(fields.end(), {std::string(1, static_cast<char>('a' + ids)),
                                   (random.percent(50) ? "h" : "s") + some(18)});
    }
    const auto refused = replies(server, fields);
    CHECK((refused.empty() || refused.starts_with("WRONGTYPE ")));
  }
}

}  // namespace limiter_budget_test
