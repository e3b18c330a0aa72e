#include "cli/commands/inspect/report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <string>

#include "stored/libraries.h"
#include "support/json_record.h"
namespace rlctl::cli::inspect::json_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using stored::Inspection;

std::string json(const Inspection& inspection) {
  std::string out;
  append_json(out, inspection);
  return recorded("inspect", std::move(out));
}

Inspection of_content(stored::KeySample content) {
  Inspection result;
  result.key = "login:ann";
  result.content = std::move(content);
  result.state =
      stored::built_in_libraries().decode({.key = result.key, .content = &result.content}, {});
  return result;
}

Inspection log() {
  auto result = of_content({.type = "list",
                            .first = {.member = "1795155075155201", .score = {}},
                            .last = {.member = "1795155122424201", .score = {}}});
  result.now = microseconds{1'795'155'123'114'201};
  result.limit = 5;
  result.window = seconds{60};
  result.used = 5;
  result.remaining = 0;
  result.next_free = microseconds{12'041'000};
  result.reset_after = microseconds{59'310'000};
  result.ttl = milliseconds{59'310};
  result.bytes = 200;
  result.stored = 5;
  result.entries = {{.at = microseconds{1'795'155'075'155'201}},
                    {.at = microseconds{1'795'155'122'424'201}, .count = 4}};
  return result;
}

}  // namespace

TEST_CASE("inspection json: an inspection with every value") {
  CHECK(
      json(log()) ==
      R"({"key":"login:ann","type":"list","library":"rlctl","algorithm":"sliding-window-log","limit":5,)"
      R"("window_us":60000000,"limits_differ":null,"used":5,"remaining":0,"reset_after_us":59310000,)"
      R"("ttl_us":59310000,"bytes":200,"burst":null,"next_free_us":12041000,"inferred":[],)"
      R"("number":null,"part_of":null,"banned_by":null,"unknown":null,"spent":null,"held":null,"stored":5,"now_us":1795155123114201,"changed_while_read":false,)"
      R"("entries":[{"at_us":1795155075155201,"count":1},{"at_us":1795155122424201,"count":4}],"reservations":[]})"
      "\n");
}

TEST_CASE("inspection json: inferred values are named, but only those present") {
  auto inspection = log();
  inspection.window_is_inferred = true;
  CHECK(
      json(inspection)
          .find(
              R"("inferred":["window_us","used","remaining","next_free_us","reset_after_us"],)") !=
      std::string::npos);
  inspection.limit.reset();
  inspection.remaining.reset();
  inspection.next_free.reset();
  CHECK(json(inspection).find(R"("inferred":["window_us","used","reset_after_us"],)") !=
        std::string::npos);
}

TEST_CASE(
    "inspection json: a missing key, another program's key, never, and a change while reading") {
  CHECK(
      json(of_content({.type = "none"})) ==
      R"({"key":"login:ann","type":"none","library":null,"algorithm":null,"limit":null,"window_us":null,)"
      R"("limits_differ":null,"used":null,"remaining":null,"reset_after_us":null,"ttl_us":null,"bytes":null,)"
      R"("burst":null,"next_free_us":null,"inferred":[],"number":null,"part_of":null,)"
      R"("banned_by":null,"unknown":null,"spent":null,"held":null,"stored":0,"now_us":0,)"
      R"("changed_while_read":false,"entries":[],"reservations":[]})"
      "\n");
  CHECK(json(of_content({.type = "hash"}))
            .find(R"("type":"hash","library":null,"algorithm":null,)") != std::string::npos);
  auto inspection = log();
  inspection.next_free = limiter::kNever;
  inspection.changed_while_read = true;
  CHECK(json(inspection).find(R"("next_free_us":-1,)") != std::string::npos);
  CHECK(json(inspection).find(R"("changed_while_read":true,)") != std::string::npos);
}

TEST_CASE("inspection json: leases have escaped holders") {
  auto inspection = of_content({.type = "zset",
                                .first = {.member = "lease:a", .score = "1795155119914201"},
                                .last = {.member = "lease:b", .score = "1795155164314201"}});
  inspection.key = "a\"\n\xff";
  inspection.entries = {{.at = seconds{7}, .count = 1, .holder = "web\t\"2\""}};
  const auto text = json(inspection);
  CHECK(text.find(R"({"key":"a\"\n\\xFF",)") == std::string::npos);
  CHECK(text.find(R"({"key":"a\"\n\\xff",)") == 0);
  CHECK(
      text.find(
          R"("entries":[{"at_us":7000000,"count":1,"holder":"web\t\"2\""}],"reservations":[]})") !=
      std::string::npos);
}

TEST_CASE("inspection json: 100,000 entries take little more time than their digits") {
  auto inspection = log();
  inspection.entries.assign(100'000, {.at = microseconds{1'795'155'075'155'201}});
  CHECK(json(inspection).size() > 3'500'000);
  // The best of several runs, in CPU time, because other processes may be running.
  const auto best_of = [](const auto& call) {
    auto best = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 20; ++i) {
      const auto start = std::clock();
      call();
      best = std::min(best, std::clock() - start);
    }
    return best;
  };
  const auto whole = best_of([&] { CHECK_FALSE(json(inspection).empty()); });
  const auto digits = best_of([&] {
    std::string text;
    for (const auto& entry : inspection.entries) text += std::to_string(entry.at.count());
    CHECK_FALSE(text.empty());
  });
  // A separate JSON value for each entry would take many times as long.
  CHECK(whole < 10 * digits);
}

}  // namespace rlctl::cli::inspect::json_test
