#include "cli/commands/inspect/report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/terminal/terminal.h"
#include "stored/libraries.h"
#include "support/packed.h"

namespace rlctl::cli::inspect::text_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using stored::Inspection;

/// 2026-11-20T06:12:03.114201Z
constexpr microseconds kNow{1'795'155'123'114'201};
constexpr Look kPlain{.columns = 80, .colour = false, .utf8 = true};

Inspection of_content(stored::KeySample content, microseconds now = kNow) {
  Inspection result;
  result.key = "login:ann";
  result.content = std::move(content);
  result.state =
      stored::built_in_libraries().decode({.key = result.key, .content = &result.content}, {});
  result.now = result.server_now = now;
  result.ttl = milliseconds{59'310};
  result.bytes = 200;
  return result;
}

/// The inspection of a state stored as a string.
Inspection of_text(const std::string& text, microseconds now = kNow) {
  Inspection result = of_content({.type = "string", .text = text}, now);
  REQUIRE(result.state.model != nullptr);
  const auto limit = *result.state.limit;
  result.limit = limit.limit;
  result.window = limit.window;
  result.burst = limit.burst;
  const auto usage = result.state.model->usage(limit, now);
  const auto look = result.state.model->peek(limit, 1, now);
  result.used = usage.units;
  result.used_exact = usage.exact;
  result.remaining = look.remaining;
  result.next_free = look.retry_after;
  result.reset_after = look.reset_after;
  // As the scripts set it.
  result.ttl = std::max(*result.ttl, look.reset_after);
  return result;
}

stored::KeySample log_content(microseconds oldest, microseconds newest) {
  return {.type = "list",
          .expires = true,
          .first = {.member = std::to_string(oldest.count()), .score = {}},
          .last = {.member = std::to_string(newest.count()), .score = {}}};
}

/// A full log of 5 per 60 s.
Inspection full_log() {
  const microseconds oldest{kNow - microseconds{47'959'000}};
  const microseconds newest{kNow - microseconds{690'000}};
  Inspection result = of_content(log_content(oldest, newest));
  result.limit = 5;
  result.window = seconds{60};
  result.used = result.stored = 5;
  result.remaining = 0;
  result.next_free = microseconds{12'041'000};
  result.reset_after = microseconds{59'310'000};
  result.entries = {{.at = oldest}, {.at = kNow - seconds{20}, .count = 3}, {.at = newest}};
  result.bars.assign(60, 0);
  result.bars[12] = 1;
  result.bars[40] = 3;
  result.bars[59] = 1;
  return result;
}

Inspection leases() {
  Inspection result = of_content({.type = "zset",
                                  .expires = true,
                                  .first = {.member = "lease:a", .score = "1795155119914201"},
                                  .last = {.member = "lease:b", .score = "1795155164314201"}});
  result.limit = 3;
  result.used = 2;
  result.remaining = 1;
  result.next_free = microseconds{0};
  result.reset_after = microseconds{41'200'000};
  result.stored = 3;
  result.expired = 1;
  result.entries = {{.at = kNow - microseconds{3'200'000}, .count = 1, .holder = "a"},
                    {.at = kNow + microseconds{7'000'000}, .count = 1, .holder = "web 2\n"},
                    {.at = kNow + microseconds{41'200'000}, .count = 1, .holder = "b"}};
  return result;
}

Inspection foreign_counter() {
  Inspection result = of_content({.type = "string", .text = "42"});
  result.ttl.reset();
  return result;
}

const auto kFixed = test::packed("fixed ", 1795155120000000.0, 3, 5, 6e7);
const auto kCounter = test::packed("counter ", 1795155120000000.0, 4, 1, 5, 6e7);
const auto kTokens = test::packed("tokens ", 3.25, 1795155123114201.0, 5, 6e7, 10);
const auto kGcra = test::packed("gcra ", 1795155207114201.0, 0, 5, 6e7, 10);
const auto kLeaky = test::packed("leaky ", 1795155147114201.0, 0, 5, 6e7, 10);

std::vector<Inspection> one_of_each() {
  return {full_log(),     of_text(kFixed), of_text(kCounter), of_text(kTokens),
          of_text(kGcra), of_text(kLeaky), leases(),          foreign_counter()};
}

std::string shown(const Inspection& inspection, const Look& look = kPlain) {
  std::string out = "\n";
  append_text(out, {.inspection = inspection}, look);
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string without_colours(std::string text) {
  for (auto at = text.find('\033'); at != text.npos; at = text.find('\033', at)) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  return text;
}

}  // namespace

TEST_CASE("inspection text: each algorithm, and each other state, has its fields") {
  struct Case {
    const char* name;
    Inspection inspection;
    std::string_view text;
  };
  for (const auto& row : std::initializer_list<Case>{
           {"a full log lists its oldest entries first", full_log(), R"(
key        login:ann              list, 200 bytes, ttl 59.3 s
algorithm  sliding-window-log     limit 5 per 60 s
used       5 of 5                 next free in 12.041 s, empty in 59.310 s
entries    5, oldest first
  2026-11-20T06:11:15.155201Z      47.959 s ago  leaves in 12.041 s
  2026-11-20T06:11:43.114201Z  ×3  20.000 s ago  leaves in 40.000 s
  2026-11-20T06:12:02.424201Z       0.690 s ago  leaves in 59.310 s
last 60 s  ············▃···························█··················▃
           one bar is 1 s, the highest 3
)"},
           {"a fixed window shows its count and times", of_text(kFixed), R"(
key        login:ann              string, 200 bytes, ttl 59.3 s
algorithm  fixed-window           limit 5 per 60 s
used       3 of 5                 2 remaining, empty in 56.886 s
           ████████████████████████░░░░░░░░░░░░░░░░  60 %
window     from 2026-11-20T06:12:00Z  3.114 s ago
           to   2026-11-20T06:13:00Z  in 56.886 s
)"},
           {"two counters are shown with the estimate", of_text(kCounter), R"(
key        login:ann              string, 200 bytes, ttl 116.8 s
algorithm  sliding-window-counter  limit 5 per 60 s
used       5 of 5                 next free in 11.886 s, empty in 116.886 s
           ██████████████████████████████████████░░  95 %
window     from 2026-11-20T06:12:00Z  3.114 s ago
           to   2026-11-20T06:13:00Z  in 56.886 s
this one   1
previous   4                      94.809 % of it counts
estimate   4.792                  rounded up: used
)"},
           {"a token bucket shows its level", of_text(kTokens), R"(
key        login:ann              string, 200 bytes, ttl 81.0 s
algorithm  token-bucket           limit 5 per 60 s, burst 10
used       7 of 10                3 remaining, full in 81.000 s
           ███████████████████████████░░░░░░░░░░░░░  67 %
level      3.25 of 10             one every 12 s
counted    2026-11-20T06:12:03.114201Z  now
)"},
           {"gcra shows its level and its theoretical arrival time", of_text(kGcra), R"(
key        login:ann              string, 200 bytes, ttl 84.0 s
algorithm  gcra                   limit 5 per 60 s, burst 10
used       7 of 10                3 remaining, full in 84.000 s
           ████████████████████████████░░░░░░░░░░░░  70 %
level      3 of 10                one every 12 s
tat        2026-11-20T06:13:27.114201Z  in 84.000 s
)"},
           {"a queue shows how many wait and when they depart", of_text(kLeaky), R"(
key        login:ann              string, 200 bytes, ttl 59.3 s
algorithm  leaky-bucket           limit 5 per 60 s, burst 10
used       3 of 11                8 remaining, no wait in 36.000 s
           ███████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  27 %
waiting    2                      next departs in 12.000 s, the last in 24.000 s
rate       5 per 60 s             one every 12 s
last       2026-11-20T06:12:27.114201Z  in 24.000 s
)"},
           {"leases are listed, including expired ones", leases(), R"(
key        login:ann              zset, 200 bytes, ttl 59.3 s
algorithm  concurrency            limit 3 at once
used       2 of 3                 1 remaining, empty in 41.200 s
           ███████████████████████████░░░░░░░░░░░░░  66 %
leases     3, by their end
  1 has lapsed and is not removed yet
  2026-11-20T06:11:59.914201Z  lapsed 3.200 s ago  a
  2026-11-20T06:12:10.114201Z   lapses in 7.000 s  web\x202\n
  2026-11-20T06:12:44.314201Z  lapses in 41.200 s  b
)"},
           {"a number of which nothing is known", foreign_counter(), R"(
key        login:ann              string, 200 bytes, no ttl
holds      42                     a number
used       unknown                whether it counts up or down is not known
           tell it with --read-as count or --read-as remaining,
           or in the configuration file:
    [library.login]
    key = 'login:*'
    type = "string"
    value = "count"  # or remaining
)"},
       }) {
    CAPTURE(row.name);
    CHECK(shown(row.inspection) == row.text);
  }
}

TEST_CASE("inspection text: a narrow terminal shows the columns below each other") {
  const Look narrow{.columns = 40, .colour = false, .utf8 = true};
  auto inspection = full_log();
  inspection.bars.assign(columns_for_bars(narrow), 0);
  inspection.bars.back() = 2;
  CHECK(shown(inspection, narrow) == R"(
key        login:ann
           list, 200 bytes, ttl 59.3 s
algorithm  sliding-window-log
           limit 5 per 60 s
used       5 of 5
           next free in 12.041 s,
           empty in 59.310 s
entries    5, oldest first
  2026-11-20T06:11:15.155201Z
    47.959 s ago, leaves in 12.041 s
  2026-11-20T06:11:43.114201Z  ×3
    20.000 s ago, leaves in 40.000 s
  2026-11-20T06:12:02.424201Z
    0.690 s ago, leaves in 59.310 s
last 60 s  ····························█
           one bar is 2.069 s,
           the highest 2
)");
}

TEST_CASE("inspection text: without UTF-8 the signs of charts are ASCII") {
  auto expected = shown(full_log());
  for (const auto& [sign, ascii] : {std::pair{"×", "x"}, {"·", "."}, {"▃", "="}, {"█", "@"}}) {
    for (auto at = expected.find(sign); at != expected.npos; at = expected.find(sign)) {
      expected.replace(at, std::string_view(sign).size(), ascii);
    }
  }
  CHECK(shown(full_log(), {.columns = 80, .colour = false, .utf8 = false}) == expected);
}

TEST_CASE("inspection text: no line is wider than the terminal, for every algorithm and look") {
  for (const std::size_t columns : {40U, 80U, 200U}) {
    for (const bool utf8 : {false, true}) {
      for (const bool colour : {false, true}) {
        CAPTURE(columns);
        CAPTURE(utf8);
        CAPTURE(colour);
        for (auto inspection : one_of_each()) {
          inspection.changed_while_read = true;
          inspection.now += seconds{3};
          inspection.expired = 1;
          inspection.stored += 4;
          // As many bars as inspect() would return.
          if (!inspection.bars.empty()) {
            inspection.bars.assign(columns_for_bars({columns, colour, utf8}), 2);
          }
          const auto text = shown(inspection, {columns, colour, utf8});
          CAPTURE(text);
          for (const auto& line : lines_of(text)) CHECK(display_width(line) <= columns);
          const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
          CHECK((utf8 || std::all_of(text.begin(), text.end(), is_ascii)));
          CHECK((text.find('\033') != text.npos) == colour);
        }
      }
    }
  }
}

TEST_CASE("inspection text: colours do not change the text") {
  const Look coloured{.columns = 80, .colour = true, .utf8 = true};
  for (const auto& inspection : one_of_each()) {
    CHECK(without_colours(shown(inspection, coloured)) == shown(inspection));
  }
}

TEST_CASE("inspection text: usage is green, yellow when nearly full, and red when full") {
  const Look coloured{.columns = 80, .colour = true, .utf8 = true};
  auto inspection = full_log();
  for (const auto& [used, text] : {std::pair{5, "\033[31m5 of 5\033[0m"},
                                   {4, "\033[33m4 of 5\033[0m"},
                                   {1, "\033[32m1 of 5\033[0m"}}) {
    inspection.used = used;
    inspection.remaining = 5 - used;
    CHECK(shown(inspection, coloured).find(text) != std::string::npos);
  }
}

TEST_CASE("inspection text: entries that no longer count are dim, and future ones are yellow") {
  const Look coloured{.columns = 80, .colour = true, .utf8 = true};
  auto inspection = full_log();
  inspection.entries = {{.at = kNow - seconds{60}},
                        {.at = kNow - seconds{60} + microseconds{1}},
                        {.at = kNow + microseconds{1}}};
  const auto text = shown(inspection, coloured);
  CHECK(text.find("  \033[2m2026-11-20T06:11:03.114201Z\033[0m") != text.npos);
  CHECK(text.find("  2026-11-20T06:11:03.114202Z  ") != text.npos);
  CHECK(text.find("  \033[33m2026-11-20T06:12:03.114202Z\033[0m") != text.npos);
}

TEST_CASE("inspection text: inferred values have a tilde") {
  auto inspection = full_log();
  inspection.window_is_inferred = true;
  inspection.limit.reset();
  inspection.remaining.reset();
  inspection.next_free.reset();
  const auto text = shown(inspection);
  CHECK(text.find("window ~60 s, limit not stored; pass --limit\n") != text.npos);
  CHECK(text.find("used       ~5                     empty in ~59.310 s\n") != text.npos);
  CHECK(text.find("leaves in ~12.041 s\n") != text.npos);
  CHECK(text.find("last ~60 s ") != text.npos);
  CHECK(shown(full_log()).find('~') == std::string::npos);
}

TEST_CASE("inspection text: a policy's limit is named as such") {
  std::string text;
  append_text(text, {.inspection = full_log(), .policy = "login"}, {});
  CHECK(text.find("limit 5 per 60 s\n           the limit of policy 'login'\nused ") != text.npos);
}

TEST_CASE("inspection text: a window that the key spells differently is explained") {
  auto inspection = full_log();
  const auto about = [&](const char* key, microseconds window) {
    inspection.key = key;
    inspection.window = window;
    const auto text = shown(inspection);
    const auto begin = text.find('\n', 1) + 1;
    const auto line = text.substr(begin, text.find('\n', begin) - begin);
    return line.starts_with(' ') ? line.substr(11) : "";
  };
  CHECK(about("{api}:3600s", std::chrono::hours{1}) == ":3600s is the window, 1h");
  CHECK(about("{api}:120s", seconds{120}) == ":120s is the window, 2m");
  CHECK(about("{api}:60s", seconds{60}).empty());
  CHECK(about("{api}:3600s", seconds{60}).empty());
  CHECK(about("api:3600s", std::chrono::hours{1}).empty());
}

TEST_CASE("inspection text: a log with an unknown window lists its entries") {
  auto inspection = of_content(log_content(kNow - seconds{5}, kNow - seconds{1}));
  inspection.ttl.reset();
  inspection.stored = 2;
  inspection.entries = {{.at = kNow - seconds{5}}, {.at = kNow - seconds{1}}};
  CHECK(shown(inspection) == R"(
key        login:ann              list, 200 bytes, no ttl: never expires
algorithm  sliding-window-log     limit not stored; pass --limit
used       unknown                pass --limit for the window
entries    2, oldest first
  2026-11-20T06:11:58.114201Z  5.000 s ago
  2026-11-20T06:12:02.114201Z  1.000 s ago
)");
}

TEST_CASE("inspection text: omitted, expired and future entries are reported") {
  auto inspection = full_log();
  inspection.stored = 412;
  inspection.expired = 3;
  inspection.entries = {{.at = kNow - seconds{61}}, {.at = kNow + milliseconds{3'200}}};
  const auto text = shown(inspection);
  CHECK(text.find("entries    412, oldest first\n"
                  "  3 have left the window and are not pruned yet\n"
                  "  410 more, older\n") != text.npos);
  CHECK(text.find("61.000 s ago    left 1.000 s ago\n") != text.npos);
  CHECK(text.find("  in 3.200 s  leaves in 63.200 s\n") != text.npos);
  inspection.expired = 1;
  CHECK(shown(inspection).find("1 has left the window and is not pruned yet") != std::string::npos);
  inspection.entries.clear();
  CHECK(shown(inspection).find("entries    412\n") != std::string::npos);
  CHECK(shown(inspection).find("more, older") == std::string::npos);
}

TEST_CASE(
    "inspection text: state that has moved on, or lies in the future, is shown as it is now") {
  struct Case {
    const std::string& text;
    int after;
    std::string_view words;
  };
  for (const auto& row : std::initializer_list<Case>{
           {kFixed, 60, "used       0 of 5                 5 remaining, as if unused\n"},
           {kFixed, 60, "it has ended: its count no longer applies\n"},
           {kFixed, -10, "used       3 of 5                 2 remaining, empty in 66.886 s\n"},
           {kFixed, -10, "it starts in the future: a clock was ahead, or this one is behind\n"},
           {kCounter, 60,
            "this one   0\nprevious   1                      94.809 % of it counts\n"},
           {kCounter, 60, "% of it counts\nestimate   0.948 "},
           {kCounter, 600, "this one   0\nprevious   0\n"},
           {kCounter, -10, "this one   1\nprevious   4                      100 % of it counts\n"},
           {kTokens, 600, "used       0 of 10                10 remaining, as if unused\n"},
           {kTokens, 600, "level      10 of 10 "},
           {kLeaky, 600, "used       0 of 11                11 remaining, as if unused\n"},
           {kLeaky, 600, "waiting    0\n"},
           {kLeaky, 20, "waiting    1                      next departs in 4.000 s\n"},
       }) {
    CAPTURE(row.words);
    CHECK(shown(of_text(row.text, kNow + seconds{row.after})).find(row.words) != std::string::npos);
  }
}

TEST_CASE("inspection text: a bucket in debt is empty for longer") {
  auto owing = of_text(kGcra);
  owing.burst = 5;
  owing.remaining = 0;
  owing.used_exact = 7.25;
  owing.next_free = seconds{15};
  CHECK(shown(owing).find("next free in 15.000 s, full in ") != std::string::npos);
  CHECK(shown(owing).find("level      0 of 5 ") != std::string::npos);
}

TEST_CASE("inspection text: a missing key and another program's key are reported") {
  Inspection absent;
  absent.key = "login ann\n";
  absent.content.type = "none";
  CHECK(shown(absent) == "\nlogin\\x20ann\\n: not found: the limiter is unused\n");
  absent.remaining = 5;
  CHECK(shown(absent) == "\nlogin\\x20ann\\n: not found: the limiter is unused; 5 remaining\n");
  auto hash = of_content({.type = "hash"});
  hash.bytes.reset();
  CHECK(shown(hash) ==
        "\nkey        login:ann              hash, ttl 59.3 s\n"
        "           not a limiter's state\n");
  hash.ttl.reset();
  CHECK(shown(hash).find("hash, no ttl\n") != std::string::npos);
}

TEST_CASE("inspection text: keys without a TTL are reported, rlctl's and others") {
  auto own = full_log();
  own.ttl.reset();
  CHECK(shown(own).find("list, 200 bytes, no ttl: never expires\n") != std::string::npos);
  auto other = of_content({.type = "zset",
                           .first = {.member = "a", .score = "1795155119914"},
                           .last = {.member = "b", .score = "1795155119914"}});
  other.ttl.reset();
  CHECK(shown(other).find("zset, 200 bytes, no ttl\n") != std::string::npos);
  CHECK(shown(other).find("a sorted set scored in milliseconds") != std::string::npos);
}

TEST_CASE("inspection text: a list of small numbers may belong to another program") {
  auto inspection = of_content(log_content(seconds{1}, seconds{2}), seconds{3});
  CHECK(shown(inspection).find("may belong to another program") != std::string::npos);
}

TEST_CASE("inspection text: never, a different clock and a long key are shown") {
  auto inspection = full_log();
  inspection.next_free = limiter::kNever;
  inspection.server_now = kNow + seconds{3};
  inspection.key = std::string(100, 'k');
  const auto text = shown(inspection);
  CHECK(text.find("next free never, empty in 59.310 s\n") != text.npos);
  CHECK(text.find("now        2026-11-20T06:12:03.114201Z  3.000 s behind the server's clock\n") !=
        text.npos);
  CHECK(text.find("key        " + std::string(100, 'k') + "\n           list, 200 bytes, ttl") !=
        text.npos);
}

}  // namespace rlctl::cli::inspect::text_test
