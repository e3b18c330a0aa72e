#include "script/template.h"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/check_each.h"
#include "support/refusal.h"
#include "support/template_values.h"

namespace rlctl::script::template_test {

using namespace std::chrono_literals;
using test::refusal_of;
using test::template_values;

namespace {

std::string filled(std::string_view text, const TemplateValues& with = template_values()) {
  std::string out;
  Template(text).append(out, with);
  return out;
}

std::string complaint(std::string_view text) {
  return refusal_of([&] { return Template(text); });
}

}  // namespace

TEST_CASE("template: each placeholder is replaced by the request's value") {
  CHECK(filled("{key} {limit} {cost} {id}") == "ann 5 3 17");
  CHECK(filled("{now_us}|{now_ms}|{now_s}") == "1767225660001999|1767225660001|1767225660");
  CHECK(filled("{window_us} {window_ms} {window_s}") == "60000000 60000 60");
  CHECK(filled("{window_index}") == std::to_string(1'767'225'660 / 60));
}

TEST_CASE("template: an instant in seconds has six decimals, a window only the needed ones") {
  auto other = template_values();
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
  auto at = template_values();
  at.now = 120s - 1us;
  CHECK(filled("{window_index}", at) == "1");
  at.now = 120s;
  CHECK(filled("{window_index}", at) == "2");
}

TEST_CASE("template: the cutoff is a window ago, the start that of the clock's window") {
  CHECK(filled("{cutoff} {cutoff_s} {cutoff_ms} {cutoff_us}") ==
        "1767225600.001999 1767225600 1767225600001 1767225600001999");
  CHECK(filled("{window_start} {window_start_s} {window_start_ms} {window_start_us}") ==
        "1767225660.000000 1767225660 1767225660000 1767225660000000");
  CHECK(filled("{now_ns}") == "1767225660001999000");
  CHECK(filled("{prev_window_index}") == std::to_string(1'767'225'660 / 60 - 1));
  auto early = template_values();
  early.now = 59s;
  CHECK(filled("{cutoff_us} {window_start}", early) == "0 0.000000");
}

TEST_CASE("template: the rate is the limit per second, as the shortest decimal") {
  auto with = template_values();
  CHECK(filled("{rate}", with) == "0.08333333333333333");
  with.limit = {5, 1s, {}};
  CHECK(filled("{rate}", with) == "5");
  with.limit = {1, 4s, {}};
  CHECK(filled("{rate}", with) == "0.25");
  with.limit = {1, 100'000s, {}};
  CHECK(filled("{rate}", with) == "0.00001");
  with.limit = {1'000'000'000, 1us, {}};
  CHECK(filled("{rate}", with) == "1000000000000000");
}

TEST_CASE("template: the number of a placeholder is the one that it writes") {
  for (const auto& row : placeholders()) {
    if (std::holds_alternative<Placeholder::Text>(row.value)) continue;
    CAPTURE(row.name);
    std::string text;
    row.append(text, template_values());
    CHECK(static_cast<double>(row.number(template_values())) == std::stod(text));
    CHECK(&row == find_placeholder(row.name));
  }
}

TEST_CASE("template: the burst is the limit's own, or defaults to the limit") {
  auto with = template_values();
  CHECK(filled("{burst}", with) == "5");
  with.limit.burst = 9;
  CHECK(filled("{burst}", with) == "9");
}

TEST_CASE("template: braces that enclose a placeholder are literal, as in hash tags") {
  CHECK(filled("{user:{key}}:log") == "{user:ann}:log");
  CHECK(filled("{{key}}:log") == "{ann}:log");
  CHECK(filled("{{{key}}}") == "{{ann}}");
  CHECK(filled(R"({"limit":{limit}})") == R"({"limit":5})");
  CHECK(filled(R"({"a":{"limit":{limit}},"b":{window}})") == R"({"a":{"limit":5},"b":60})");
  CHECK(filled("a}b") == "a}b");
  CHECK(filled("{{}tag}:{key}") == "{tag}:ann");
  CHECK(filled("{{}user:1}") == "{user:1}");
  CHECK(filled("rate:{{user}}") == "rate:{user}");
  CHECK(filled("{{user 1}}:{{key}}{{x}}") == "{user 1}:{ann}{x}");
  CHECK(filled("{{}key}") == "{key}");
  CHECK(filled("{{}{{}x") == "{{x");
  CHECK(filled("{{{}{key}}") == "{{ann}");
}

TEST_CASE("template: the end of a window, a window in ns, and the names of KEYS") {
  const std::array<std::string_view, 2> keys{"burst:1:a", "b"};
  const TemplateValues values{
      .key = "a", .keys = keys, .limit = {5, 60s, {}}, .now = 1'767'225'661s};
  CHECK(filled("{window_end} {window_end_s}", values) == "1767225720.000000 1767225720");
  CHECK(filled("{window_end_ms} {window_end_us}", values) == "1767225720000 1767225720000000");
  CHECK(filled("{window_ns}", values) == "60000000000");
  CHECK(filled("{key1} {key2} <{key3}>", values) == "burst:1:a b <>");
  CHECK(filled("{{}\"{key1}\":2}", values) == "{\"burst:1:a\":2}");
}

TEST_CASE("template: text without a placeholder is literal, even if empty") {
  CHECK(filled("fixed") == "fixed");
  CHECK(filled("").empty());
}

TEST_CASE("template: other braces are refused") {
  for (const auto& each : std::initializer_list<std::pair<std::string, std::string>>{
           {"{kye}", "key"},
           {"{window_su}", "window_s"},
           {"{window_index-1}", "prev_window_index"},
           {"{window_index - 1}", "prev_window_index"},
           {"{now_ms-window_ms}", "cutoff_ms"},
           {"{now-window}", "cutoff"},
           {"{now - window}", "cutoff"},
           {"{now_s - now_s % window_s}", "window_start_s"},
           {"{limit/window}", "rate"},
           {"{now ms}", "now_ms"},
           {"{nowms}", "now_ms"},
           {"{nowMs}", "now_ms"},
           {"{ now_ms }", "now_ms"},
           {"{KEY}", "key"},
           {"{now_ms", "now_ms"}}) {
    CAPTURE(each.first);
    CHECK(complaint(each.first).ends_with("; did you mean {" + each.second + "}?"));
  }
  const std::string unknown = ", which is not a placeholder";
  test::check_each({{"{now_us} {user}", "{user}" + unknown},
                    {"{}", "{}" + unknown},
                    {"{ }", "{ }" + unknown},
                    {"{user:1}", "{user:1}" + unknown},
                    {R"({"a":1})", R"({"a":1})" + unknown},
                    {"{{tag}:{key}}", "{tag}" + unknown},
                    {"{{kye}}:log", "{kye}, which is not a placeholder; did you mean {key}?"},
                    {"{{user}", "{user}, which is not a placeholder"},
                    {"{a{{}b}", "{a{{}b}, which has no placeholder"},
                    {"{{key}:log", "'{{key}:log', whose brace is not closed"},
                    {"b{", "'{', whose brace is not closed"}},
                   [](const auto& text) {
                     const auto begin = "'" + text + "' contains ";
                     const auto said = complaint(text);
                     return said.starts_with(begin) ? said.substr(begin.size()) : said;
                   });
  try {
    const Template unused("{tag}:1");
  } catch (const UsageError& error) {
    CHECK(error.hint().starts_with("a placeholder is key, limit, "));
    CHECK(error.hint().ends_with("; for a literal brace, write '{{}'"));
  }
}

TEST_CASE("template: some placeholders depend on the time and others do not") {
  const std::set<std::string_view> telling{
      "now",          "now_s",          "now_ms",          "now_us",          "now_ns",
      "window_index", "cutoff",         "cutoff_s",        "cutoff_ms",       "cutoff_us",
      "window_start", "window_start_s", "window_start_ms", "window_start_us", "prev_window_index",
      "window_end",   "window_end_s",   "window_end_ms",   "window_end_us"};
  for (const auto& row : placeholders()) {
    CAPTURE(row.name);
    const auto text = "x{" + std::string(row.name) + "}";
    CHECK(Template(text).times().empty() != telling.contains(row.name));
  }
  CHECK(Template("now").times().empty());
}

TEST_CASE("template: a window that is not whole in its unit is refused") {
  const auto refused = [](std::string_view text, microseconds window) {
    return refusal_of([&] { Template(text).require_usable({5, window, {}}); });
  };
  const std::string of_ms = "a window of 1500ms is not a whole number for ",
                    of_us = "a window of 1500us is not a whole number for ";
  CHECK(refused("{key}:{window_s}", 1500ms) ==
        of_ms + "{window_s}; write {window}, {window_ms} or {window_us}");
  CHECK(refused("{cutoff_s}", 1500ms) ==
        of_ms + "{cutoff_s}; write {cutoff}, {cutoff_ms} or {cutoff_us}");
  CHECK(refused("{window_start_ms}", 1500us) ==
        of_us + "{window_start_ms}; write {window_start} or {window_start_us}");
  CHECK(refused("{window_ms}", 1500us).starts_with(of_us));
  CHECK(refused("{window_ms} {window} {now_s}", 1500ms) == "accepted");
  CHECK(refused("{window_us} {cutoff} {cutoff_us} {window_start} {rate}", 1500us) == "accepted");
  CHECK(refused("{window_s}", 60s) == "accepted");
}

TEST_CASE("template: a rounded time is as coarse as its unit, a window's edge is exact") {
  const auto ticks = [](std::string_view text) {
    std::vector<microseconds> all;
    for (const auto* time : Template(text).times()) all.push_back(time->tick);
    return all;
  };
  using Ticks = std::vector<microseconds>;
  CHECK(ticks("{cutoff_s} {now_ms}") == Ticks{1s, 1ms});
  CHECK(ticks("{cutoff_ms}") == Ticks{1ms});
  CHECK(ticks("{cutoff} {now_ns} {window_start_s} {prev_window_index}") ==
        Ticks{1us, 1us, 1us, 1us});
}

}  // namespace rlctl::script::template_test
