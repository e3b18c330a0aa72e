#include "base/json.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rlctl::json_test {
namespace {

using Json = nlohmann::json;

std::string repeated(std::string_view text, std::int64_t times) {
  std::string out;
  for (; times > 0; --times) out += text;
  return out;
}

/// `inner` within so many arrays and objects.
std::string nested(std::int64_t levels, std::string_view open, std::string_view close,
                   std::string_view inner) {
  return repeated(open, levels) + std::string(inner) + repeated(close, levels);
}

/// Counts what read_json() reads.
struct Counter : nlohmann::json_sax<Json> {
  int values = 0;

  bool count() { return ++values > 0; }
  bool null() override { return count(); }
  bool boolean(bool /*value*/) override { return count(); }
  bool number_integer(number_integer_t /*value*/) override { return count(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return count(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return count(); }
  bool string(string_t& /*text*/) override { return count(); }
  bool binary(binary_t& /*bytes*/) override { return count(); }
  bool start_object(std::size_t /*size*/) override { return count(); }
  bool key(string_t& /*name*/) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t /*size*/) override { return count(); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    return false;
  }
};

bool is_read(std::string_view text) {
  Counter counter;
  const bool is_read = read_json(text, counter);
  CHECK(is_read == !parse_json(text).is_discarded());
  return is_read;
}

constexpr std::string_view kTooDeep = "is nested too deeply: 100 levels are the most",
                           kTooMany = "has too many values: 100000 are the most";

TEST_CASE("JSON of a hundred levels is parsed, copied and printed; a level more is refused") {
  constexpr std::pair<std::string_view, std::string_view> kBrackets[] = {
      {"[", "]"}, {"{\"a\":", "}"}, {"[1,", "]"}, {"[\"]\",", ",2]"}};
  for (const auto& brackets : kBrackets) {
    const auto open = brackets.first, close = brackets.second;
    CAPTURE(open);
    const auto deepest = nested(kMostJsonLevels, open, close, "1");
    REQUIRE(is_read(deepest));
    const auto json = parse_json(deepest);
    const Json copy = json;  // NOLINT(*-unnecessary-copy-initialization): a copy recurses
    CHECK(Json::parse(copy.dump()) == json);
    for (const std::int64_t levels : {kMostJsonLevels + 1, std::int64_t{1'000'000}}) {
      const auto deeper = nested(levels, open, close, "1");
      CHECK_FALSE(is_read(deeper));
      CHECK(json_fault(deeper) == kTooDeep);
      CHECK(json_excess(deeper) == kTooDeep);
      CHECK(json_excess(repeated(open, levels)) == kTooDeep);
    }
  }
}

TEST_CASE("brackets in strings nest nothing, whatever escapes are before the quotes") {
  const auto brackets = repeated("[{", 1000);
  for (const std::string_view before : {"", "\\\"", "\\\\", "\\\\\\\"", "\\u0022"}) {
    CAPTURE(before);
    const auto text = "[\"" + std::string(before) + brackets + "\"]";
    CHECK(is_read(text));
    const auto ended = "[\"" + std::string(before) + "\"," + repeated("[", 1000);
    CHECK(json_excess(ended) == kTooDeep);
  }
}

TEST_CASE("JSON of too many values is refused, in lists and in objects") {
  const auto list = [](std::int64_t values, std::string_view one) {
    return "[" + repeated(std::string(one) + ",", values - 1) + std::string(one) + "]";
  };
  // The list itself is one of them.
  CHECK(is_read(list(kMostJsonValues, "1")));
  CHECK_FALSE(is_read(list(kMostJsonValues + 1, "1")));
  CHECK(json_fault(list(kMostJsonValues + 1, "1")) == kTooMany);
  CHECK(json_fault(list(kMostJsonValues, "[]")) == kTooMany);
  CHECK(json_fault("{" + repeated("\"a\":{},", kMostJsonValues)) == kTooMany);
  CHECK(is_read("[\"" + repeated(",", 2 * kMostJsonValues) + "\"]"));
}

TEST_CASE("what is not JSON is refused without the bounds") {
  for (const auto text : {std::string_view(), std::string_view("["), std::string_view("{}\0", 3),
                          std::string_view("1 2"), std::string_view("]]]]"),
                          std::string_view("\"\xff\""), std::string_view("\"\\\"")}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(is_read(text));
    CHECK(json_fault(text) == "is not JSON");
    CHECK(json_excess(text).empty());
  }
}

TEST_CASE("the outline of a text that is refused has the members of its outermost object") {
  const auto deep = nested(100'000, "[", "]", "");
  for (const auto& inner : {deep, "{\"b\":" + deep + "}", std::string("[\"}]\"]")}) {
    const auto outline =
        parse_json_outline(R"({"seq":2,"a":)" + inner + R"(,"command":"[{\"]","x":{"y":1}})");
    CHECK(outline == Json{{"seq", 2}, {"a", nullptr}, {"command", "[{\"]"}, {"x", nullptr}});
  }
  CHECK(parse_json_outline(deep) == Json::array({nullptr}));
  CHECK(parse_json_outline("{\"a\":[").is_discarded());
  CHECK(parse_json_outline("[" + repeated("1,", kMostJsonValues + 1) + "1]").is_discarded());
}

}  // namespace
}  // namespace rlctl::json_test
