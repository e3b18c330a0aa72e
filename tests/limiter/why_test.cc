#include "limiter/algorithm.h"

#include <doctest/doctest.h>

#include <string>

namespace rlctl::limiter::why_test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kEdge{1'767'225'660};

std::string why_of(std::string_view name, const RunSummary& summary) {
  return why(*find_algorithm(name), summary).value_or("none");
}

/// 10 units within 9 s against 5/60s, 4 of them before the edge.
RunSummary exceeded() {
  return {.limit = {.limit = 5, .window = 60s},
          .denied = 3,
          .keys_denied = 1,
          .allowed = 10,
          .span = 9s,
          .edge = kEdge,
          .after_edge = 6};
}

}  // namespace

TEST_CASE("why: an edge between the units is why windows let more through") {
  CHECK(why_of("fixed-window", exceeded()) ==
        "its counter starts over at 2026-01-01T00:01:00Z, so 4 requests before that and 6 after it "
        "were allowed within 9 s");
  CHECK(why_of("sliding-window-counter", exceeded()) ==
        "it assumes that the requests before 2026-01-01T00:01:00Z were spread evenly over their "
        "window, but 4 requests came so late in it that they and the 6 allowed after it lie within "
        "9 s");
  auto units = exceeded();
  units.cost = 2;
  units.span = 0s;
  units.after_edge = 9;
  CHECK(why_of("fixed-window", units) ==
        "its counter starts over at 2026-01-01T00:01:00Z, so 1 unit before that and 9 after it "
        "were allowed at one instant");
}

TEST_CASE("why: a bucket gives its burst and what comes back meanwhile") {
  auto summary = exceeded();
  summary.span = 59s;
  CHECK(why_of("token-bucket", summary) ==
        "its bucket holds 5, and 4 come back meanwhile: of these 9, 10 were allowed within 59 s");
  summary.limit.burst = 8;
  CHECK(why_of("gcra", summary) ==
        "it allows a burst of 8, and 4 more become due meanwhile: of these 12, 10 were allowed "
        "within 59 s");
  summary.span = 12s;
  summary.allowed = 9;
  CHECK(why_of("gcra", summary) ==
        "it allows a burst of 8, and 1 more becomes due meanwhile: all 9 were allowed within 12 s");
  CHECK(why_of("token-bucket", summary) ==
        "its bucket holds 8, and 1 comes back meanwhile: all 9 were allowed within 12 s");
}

TEST_CASE("why: a queue lets the last request go on as a whole") {
  auto summary = exceeded();
  summary.cost = 3;
  CHECK(why_of("leaky-bucket", summary) ==
        "a request of 3 proceeds as a whole as soon as its first unit may, so 10 proceeded within "
        "9 s");
}

TEST_CASE("why: what no algorithm does by its own order is due to the server's order") {
  const std::string other =
      "the server took requests in another order than that of their times, by which 10 were "
      "allowed within 9 s";
  CHECK(why_of("sliding-window-log", exceeded()) == other);
  CHECK(why_of("sliding-window-zset", exceeded()) == other);
  CHECK(why_of("leaky-bucket", exceeded()) == other);
  auto one_side = exceeded();
  one_side.after_edge = 10;
  CHECK(why_of("fixed-window", one_side) == other);
}

TEST_CASE("why: of a search, what no schedule got through, and exact times") {
  auto found = exceeded();
  found.is_search = true;
  found.text_of = [](microseconds span) { return std::to_string(span.count()); };
  CHECK(why_of("fixed-window", found).ends_with("within 9000000"));
  found.allowed = 3;
  found.denied = 0;
  CHECK(why_of("sliding-window-log", found) ==
        "no schedule that was tried got more than 3 through within 60 s");
}

TEST_CASE("why: a limit that is kept is explained by the denials, delays, or their absence") {
  auto kept = exceeded();
  kept.allowed = 5;
  kept.longest_delay = 1500ms;
  kept.has_several_keys = true;
  kept.keys_denied = 2;
  for (const auto& algorithm : algorithms()) {
    if (!counts_requests(algorithm)) continue;
    const auto text = why(algorithm, kept).value_or("none");
    CAPTURE(text);
    CHECK(text.find("3 requests of 2 keys") != text.npos);
    CHECK(text.find('{') == text.npos);
    auto idle = kept;
    idle.denied = 0;
    idle.longest_delay = 0s;
    CHECK(why(algorithm, idle) ==
          "it denied nothing: no more than 5 were ever asked for within 60 s by one key");
    auto nothing = kept;
    nothing.allowed = 0;
    CHECK(!why(algorithm, nothing));
  }
  CHECK(why_of("fixed-window", kept) ==
        "its counter stops at 5 in each window of 60 s, and denied 3 requests of 2 keys; it never "
        "allowed more than 5 within 60 s to one key");
  kept.has_several_keys = false;
  kept.denied = 1;
  CHECK(why_of("gcra", kept) ==
        "it allows a burst of 5 and then 5 in 60 s, evenly spaced; 1 request came before its time");
  kept.denied = 0;
  CHECK(
      why_of("leaky-bucket", kept) ==
      "it lets requests proceed evenly spaced, 5 in 60 s: the longest waited 1.5 s, and no request "
      "found the queue of 5 full");
}

}  // namespace rlctl::limiter::why_test
