// JSON from outside is parsed exactly if it is JSON within the bounds; then it can be copied and
// printed. Each input is also made long and deep.
#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "night/fuzz/fuzz.h"

namespace fuzz::json {

using Json = nlohmann::json;

/// Counts the levels of a value.
std::int64_t levels_of(const Json& json) {
  if (!json.is_structured()) return 0;
  std::int64_t most = 0;
  for (const auto& element : json) most = std::max(most, levels_of(element));
  return most + 1;
}

void test_text(const std::string& text) {
  const auto json = rlctl::parse_json(text);
  const auto excess = rlctl::json_excess(text);
  const bool is_json = text.find('\0') == text.npos && Json::accept(text);
  require(json.is_discarded() == (!is_json || !excess.empty()), "JSON within the bounds is parsed",
          text);
  (void)rlctl::parse_json_outline(text).dump();
  if (json.is_discarded()) {
    require(rlctl::json_fault(text) == (excess.empty() ? "is not JSON" : excess), "it says why");
    return;
  }
  const Json copy = json;  // NOLINT(*-unnecessary-copy-initialization): a copy recurses
  require(levels_of(copy) <= rlctl::kMostJsonLevels, "the levels are bounded", text);
  require(copy.size() <= std::size_t{rlctl::kMostJsonValues}, "the values are bounded", text);
  require(Json::parse(copy.dump(-1, ' ', false, Json::error_handler_t::replace)) == json,
          "what is printed is the same", text);
}

// The input is a text. It is also read as a number, a beginning, a middle and an end, each on a
// line: the text in which the beginning and the end are repeated so many times.
void test(std::string_view input) {
  test_text(std::string(input));
  Parts parts(input);
  const auto times = parts.number() & 0xffff;
  const auto before = parts.until('\n'), middle = parts.until('\n'), after = parts.rest();
  std::string text;
  constexpr std::size_t kLongest = 300'000;
  for (auto left = times; left > 0 && text.size() < kLongest; --left) text += before;
  text += middle;
  for (auto left = times; left > 0 && text.size() < 2 * kLongest; --left) text += after;
  test_text(text);
}

const Target kTarget("json", test);

}  // namespace fuzz::json
