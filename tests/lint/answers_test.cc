#include "lint/answers.h"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::lint {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

/// The name of each finding, critical ones with "!", notes with "?".
Names names_of(const AnswerObservation& seen) {
  constexpr std::array<std::string_view, 3> kMark{"?", "", "!"};
  Names all;
  for (const auto& finding : find_flaws(seen)) {
    CHECK(finding.line == 0);
    all.push_back(std::string(finding.name) +
                  std::string(kMark.at(static_cast<std::size_t>(finding.severity))));
  }
  return all;
}

}  // namespace

TEST_CASE("answers that refute nothing have no findings") {
  CHECK(names_of({.window = 60s}).empty());
}

TEST_CASE("a client that keeps trying is locked out by denials that count, or by something else") {
  CHECK(names_of({.window = 60s, .probed = {.lock_out = LockOut{.counts_denials = true}}}) ==
        Names{"denied-write!"});
  CHECK(names_of({.window = 60s, .probed = {.lock_out = LockOut{.counts_denials = false}}}) ==
        Names{"locked-out!"});
  CHECK(names_of({.window = 60s, .denied_for_ever = "5 of 6 allowed at 0 s"}) ==
        Names{"locked-out!"});
}

TEST_CASE("a window that is renewed is not told of once a client is locked out otherwise") {
  CHECK(names_of({.window = 60s, .probed = {.renewal = Renewal{}}}) == Names{"renewed-window!"});
  auto findings =
      find_flaws(AnswerObservation{.probed = {.lock_out = LockOut{}, .renewal = Renewal{}}});
  findings[0].excuse = "it is meant so";
  drop_followers(findings);
  CHECK(findings.size() == 2);
  findings[0].excuse.clear();
  drop_followers(findings);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].name == "locked-out");
}

TEST_CASE("whole seconds are critical for a window of at most two") {
  CHECK(names_of({.window = 2s, .whole_seconds = "full"}) == Names{"coarse-time!"});
  CHECK(names_of({.window = 2s + 1us, .whole_seconds = "full"}) == Names{"coarse-time"});
}

TEST_CASE("a wait that is too long by at most a second is a note") {
  const auto long_wait = [](std::int64_t told) {
    return names_of({.window = 60s, .long_wait = WrongFigure{.told = told, .actual = 2'500'000}});
  };
  CHECK(long_wait(3'500'000) == Names{"wrong-wait?"});
  CHECK(long_wait(3'500'001) == Names{"wrong-wait"});
  CHECK(long_wait(-1) == Names{"wrong-wait"});
  CHECK(names_of({.window = 60s, .short_wait = WrongFigure{.told = 1, .actual = 2}}) ==
        Names{"wrong-wait"});
}

TEST_CASE("the text says what was told and what is true") {
  const auto detail = [](const AnswerObservation& seen) { return find_flaws(seen).front().detail; };
  CHECK(detail({.long_wait = WrongFigure{.told = -1, .actual = 2'500'000}}) ==
        "A denial's retry_after_us is too long: it says never, but the wait is 2.5 s.");
  CHECK(detail({.short_wait = WrongFigure{.told = 29'249'000, .actual = 29'249'750}}) ==
        "A denial's retry_after_us is too short: it says 29249 ms, but the wait is 29249750 µs.");
  CHECK(detail({.much_remaining = WrongFigure{.told = 3, .actual = 2}}) ==
        "remaining is too high: it says 3, but 2 more of cost 1 are allowed at this instant.");
}

}  // namespace rlctl::lint
