#include "cli/commands/quota/range.h"

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"

namespace rlctl::cli::quota::range_test {
namespace {

/// Of the uses 0 to 25 of a limit, those that alert, as "0-4 11-25".
std::string alerting(const std::string& text, std::int64_t limit = 20) {
  const auto range = parse_range(text, "--warning");
  std::string out;
  int first = -1;
  for (int used = 0; used <= 26; ++used) {
    const bool alert = used <= 25 && alerts(range, used, limit).value();
    if (alert && first < 0) first = used;
    if (alert || first < 0) continue;
    out += (out.empty() ? "" : " ") + std::to_string(first) + "-" + std::to_string(used - 1);
    first = -1;
  }
  return out;
}

std::string units(const std::string& text, std::optional<std::int64_t> limit = 20) {
  return range_text(parse_range(text, "--warning"), limit);
}

}  // namespace

TEST_CASE("each form of a range alerts outside it, the ends not included") {
  CHECK(alerting("10") == "11-25");
  CHECK(alerting("10:") == "0-9");
  CHECK(alerting("~:10") == "11-25");
  CHECK(alerting("10:20") == "0-9 21-25");
  CHECK(alerting(":10") == "11-25");
  CHECK(alerting("0") == "1-25");
  CHECK(alerting("10:10") == "0-9 11-25");
  CHECK(alerting("~:") == "");
  CHECK(alerting("~:0") == "1-25");
  CHECK(alerting("-5:5") == "6-25");
}

TEST_CASE("with @ it alerts inside it, the ends included") {
  CHECK(alerting("@10:20") == "10-20");
  CHECK(alerting("@10") == "0-10");
  CHECK(alerting("@10:") == "10-25");
  CHECK(alerting("@~:10") == "0-10");
  CHECK(alerting("@10:10.0") == "10-10");
}

TEST_CASE("percent refer to the limit") {
  CHECK(alerting("50%") == "11-25");
  CHECK(alerting("50%:") == "0-9");
  CHECK(alerting("~:50%") == "11-25");
  CHECK(alerting("50%:100%") == "0-9 21-25");
  CHECK(alerting("@50%:100%") == "10-20");
  CHECK(alerting("80%", 5) == "5-25");
  CHECK(alerting("95%", 1) == "1-25");
  CHECK(alerting("33.3%", 3) == "1-25");
  CHECK(alerting("100%") == "21-25");
}

TEST_CASE(
    "a critical threshold is below the warning if a use can be critical before it is a warning") {
  const auto below = [](const std::string& critical, const std::string& warning,
                        std::optional<std::int64_t> limit = std::nullopt) {
    return is_critical_first(parse_range(critical, "-c"), parse_range(warning, "-w"), limit);
  };
  CHECK(below("50%", "80%"));
  CHECK(below("79.9%", "80%"));
  CHECK(below("4", "5"));
  CHECK(below("~:4", "5"));
  CHECK(below("20:", "10:"));
  CHECK(below("10:50", "10:60"));
  CHECK_FALSE(below("80%", "80%"));
  CHECK_FALSE(below("95%", "80%"));
  CHECK_FALSE(below("10:", "20:"));
  CHECK_FALSE(below("~:", "80%"));
  CHECK_FALSE(below("80%", "~:"));
  // What alerts when a client stops is no threshold above the warning.
  CHECK_FALSE(below("10:", "80"));
  CHECK_FALSE(below("@0:0", "80%"));
  CHECK_FALSE(below("400:", "@10%:60%"));
  // Units and percent need the limit.
  CHECK_FALSE(below("3", "80%"));
  CHECK(below("3", "80%", 5));
  CHECK_FALSE(below("4", "80%", 5));
  CHECK(below("50%", "6", 10));
  CHECK_FALSE(below("60%", "6", 10));
}

TEST_CASE("without a limit, percent cannot be judged unless nothing is used") {
  const auto percent = parse_range("80%", "-w"), count = parse_range("8", "-w");
  CHECK_FALSE(alerts(percent, 1, std::nullopt));
  CHECK(alerts(percent, 0, std::nullopt) == false);
  CHECK(alerts(parse_range("10%:", "-w"), 0, std::nullopt) == true);
  CHECK(alerts(count, 9, std::nullopt) == true);
}

TEST_CASE("ranges are written in units, in the shortest form") {
  CHECK(units("10") == "10");
  CHECK(units("0:10") == "10");
  CHECK(units("10:") == "10:");
  CHECK(units("~:10") == "~:10");
  CHECK(units("@10:20") == "@10:20");
  CHECK(units("80%") == "16");
  CHECK(units("80%", 7) == "5.6");
  CHECK(units("80%", 1'000'000'000) == "800000000");
  CHECK(units("@50%:100%") == "@10:20");
  CHECK(units("80%", std::nullopt) == "");
  CHECK(units("8", std::nullopt) == "8");
}

// The messages about these ranges, and about units that are not whole, are in
// tests/cli/refusals.tsv.
TEST_CASE("what is not a range is refused") {
  for (const std::string text :
       {"",     ":",   "@",   "@:",  "~",   "x",   "10:x",     "10::20", "10%%", "%",
        "0x10", "1e3", "nan", "inf", "10 ", " 10", "10:20:30", "10:~",   "@@10", "--5"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(static_cast<void>(parse_range(text, "--warning")), UsageError);
  }
}

}  // namespace rlctl::cli::quota::range_test
