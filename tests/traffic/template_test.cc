#include "traffic/template.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace traffic_template_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using rlctl::UsageError;
using rlctl::limiter::Limit;
using std::chrono::microseconds;

namespace {

TemplateValues values() {
  return {.key = "ann",
          .limit = {5, 60s, {}},
          .cost = 3,
          .id = 17,
          .now = microseconds{1'767'225'660'001'999}};
}

std::string filled(std::string_view text, const TemplateValues& with = values()) {
  std::string out;
  Template(text).append(out, with);
  return out;
}

std::string complaint(std::string_view text) {
  try {
    const Template unused(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("template: each placeholder is replaced by the request's value") {
  CHECK(filled("{key} {limit} {cost} {id}") == "ann 5 3 17");
  CHECK(filled("{now_us}|{now_ms}|{now_s}") == "1767225660001999|1767225660001|1767225660");
  CHECK(filled("{window_us} {window_ms} {window_s}") == "60000000 60000 60");
  CHECK(filled("{window_index}") == std::to_string(1'767'225'660 / 60));
}

TEST_CASE("template: an instant in seconds has six decimals, a window only the needed ones") {
  auto other = values();
  CHECK(filled("{now} {window}") == "1767225660.001999 60");
  other.now = 1'767'225'660s;
  other.limit.window = 250ms;
  CHECK(filled("{now} {window}", other) == "1767225660.000000 0.25");
  other.limit.window = 1us;
  CHECK(filled("{window}", other) == "0.000001");
  other.limit.window = 100s;
  CHECK(filled("{window}", other) == "100");
}

TEST_CASE("template: the window index changes at the window's edge") {
  auto at = values();
  at.now = 120s - 1us;
  CHECK(filled("{window_index}", at) == "1");
  at.now = 120s;
  CHECK(filled("{window_index}", at) == "2");
}

TEST_CASE("template: the burst is the limit's own, or defaults to the limit") {
  auto with = values();
  CHECK(filled("{burst}", with) == "5");
  with.limit.burst = 9;
  CHECK(filled("{burst}", with) == "9");
}

TEST_CASE("template: braces without a word are literal, as in hash tags") {
  CHECK(filled("{user:{key}}:log") == "{user:ann}:log");
  CHECK(filled("{{key}}:log") == "{ann}:log");
  CHECK(filled("{{{key}}}") == "{{ann}}");
  CHECK(filled("a}b{") == "a}b{");
  CHECK(filled(R"({"limit":{limit}})") == R"({"limit":5})");
  CHECK(filled("{{}tag}:{key}") == "{tag}:ann");
  CHECK(filled("{{}key}") == "{key}");
  CHECK(filled("{{}{{}x") == "{{x");
}

TEST_CASE("template: text without a placeholder is literal, even if empty") {
  CHECK(filled("fixed") == "fixed");
  CHECK(filled("").empty());
}

TEST_CASE("template: an unknown word in braces is refused") {
  CHECK(
      complaint("x:{kye}").starts_with("'x:{kye}' holds {kye}, which stands for nothing; did you "
                                       "mean 'key'?; use key, limit, "));
  CHECK(complaint("{window_su}").find("did you mean 'window_s'?") != std::string::npos);
  CHECK(complaint("{now_us} {user}").find("holds {user}") != std::string::npos);
  CHECK(complaint("{tag}:1").find("or '{{}' for a brace") != std::string::npos);
  CHECK(complaint("{}").find("holds {},") != std::string::npos);
  CHECK(complaint("{KEY}").find("holds {KEY},") != std::string::npos);
}

TEST_CASE("template: some placeholders depend on the time and others do not") {
  const std::set<std::string_view> telling{"now", "now_s", "now_ms", "now_us", "window_index"};
  for (const auto& row : placeholders()) {
    CAPTURE(std::string(row.name));
    const auto text = "x{" + std::string(row.name) + "}";
    CHECK(Template(text).tells_time() == telling.contains(row.name));
  }
  CHECK_FALSE(Template("now").tells_time());
}

TEST_CASE("template: a window that is not whole in its unit is refused") {
  const Limit odd{5, 1500ms, {}}, odder{5, 1500us, {}}, whole{5, 60s, {}};
  CHECK_THROWS_WITH_AS(Template("{key}:{window_s}").require_usable(odd),
                       "a window of 1500ms is not a whole number for {window_s}; write {window}, "
                       "{window_ms} or {window_us}",
                       UsageError);
  CHECK_NOTHROW(Template("{window_ms} {window} {now_s}").require_usable(odd));
  CHECK_THROWS_AS(Template("{window_ms}").require_usable(odder), UsageError);
  CHECK_NOTHROW(Template("{window_us}").require_usable(odder));
  CHECK_NOTHROW(Template("{window_s}").require_usable(whole));
}

}  // namespace traffic_template_test
