#include "base/json_object.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::json_object_test {
namespace {

using namespace json_type;

/// The line that a table of these fields makes.
template <typename Source, std::size_t count>
std::string line(const JsonField<Source> (&fields)[count], const Source& source) {
  std::string out;
  JsonObject<Source>(fields).append_line(out, source);
  return out;
}

template <typename Source>
std::vector<std::string> names(const JsonObject<Source>& object) {
  std::vector<std::string> names;
  for (std::size_t row = 0; row < object.size; ++row) {
    names.emplace_back(object.at(object, row).name);
  }
  return names;
}

struct Point {
  std::int64_t x = 0, y = 0;
};
constexpr JsonField<Point> kPointFields[] = {
    {"x", kInteger, "To the right.", [](const auto& point) { return point.x; }},
    {"y", kInteger, "Upwards.", [](const auto& point) { return point.y; }},
};
constexpr JsonObject<Point> kPoint("point", "A point", kPointFields, "In the plane.");

struct Shape {
  std::string name = {};
  std::optional<Point> centre = {};
  std::vector<Point> corners = {};
};

}  // namespace

TEST_CASE("JSON of tables: the fields are in the order of the rows, with values of any type") {
  constexpr JsonField<int> kFields[] = {
      {"text", kText, "", [](const auto&) { return std::string("a\"b"); }},
      {"number", kInteger, "", [](const auto& source) { return source; }},
      {"ratio", kRatio, "", [](const auto&) { return 0.5; }},
      {"is_odd", kBoolean, "", [](const auto& source) { return source % 2 == 1; }},
      {"after_us", kDuration, "", [](const auto&) { return std::chrono::milliseconds(2); }},
      {"words", kStrings, "",
       [](const auto&) {
         return std::vector<std::string>{"a", "b"};
       }},
      {"none", kStrings, "", [](const auto&) { return std::vector<std::string>(); }},
      {"kind", JsonConstant{"fixed"}, ""},
  };
  CHECK(line(kFields, 7) ==
        R"({"text":"a\"b","number":7,"ratio":0.5,"is_odd":true,"after_us":2000,)"
        R"("words":["a","b"],"none":[],"kind":"fixed"})"
        "\n");
}

TEST_CASE(
    "JSON of tables: what has no value is null, and missing if the field's name ends with ?") {
  using Value = std::optional<std::int64_t>;
  constexpr JsonField<Value> kFields[] = {
      {"a", kCountOrNull, "", [](const auto& value) { return value; }},
      {"b?", kCount, "", [](const auto& value) { return value; }},
      {"c", kTextOrNull, "", [](const auto&) { return known_text(std::string_view("")); }},
      {"d?", kText, "",
       [](const auto& value) { return known_text(std::string_view(value ? "known" : "")); }},
  };
  CHECK(line<Value>(kFields, std::nullopt) == "{\"a\":null,\"c\":null}\n");
  CHECK(line<Value>(kFields, 1) == "{\"a\":1,\"b\":1,\"c\":null,\"d\":\"known\"}\n");
  const JsonObject<Value> object(kFields);
  CHECK(names(object) == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK_FALSE(object.at(object, 0).may_be_missing);
  CHECK(object.at(object, 1).may_be_missing);
}

TEST_CASE("JSON of tables: bytes that are not UTF-8 are in a second field, as base64") {
  constexpr JsonField<std::string> kFields[] = {
      {"key", kBytes, "", [](const auto& key) { return JsonBytes{key}; }},
      {"part_of", kBytesOrNull, "", [](const auto& key) { return known_bytes(key); }},
      {"text", kString, "", [](const auto& key) { return key; }},
  };
  CHECK(line<std::string>(kFields, "a") == "{\"key\":\"a\",\"part_of\":\"a\",\"text\":\"a\"}\n");
  CHECK(line<std::string>(kFields, "") == "{\"key\":\"\",\"part_of\":null,\"text\":\"\"}\n");
  CHECK(line<std::string>(kFields, "\xff") ==
        R"({"key":"\\xff","key_base64":"/w==","part_of":"\\xff","part_of_base64":"/w==",)"
        R"("text":"\\xff"})"
        "\n");
  const JsonObject<std::string> object(kFields);
  CHECK(object.at(object, 0).kind == JsonFieldInfo::Kind::kBytes);
  CHECK(object.at(object, 1).kind == JsonFieldInfo::Kind::kBytes);
  CHECK(object.at(object, 2).kind == JsonFieldInfo::Kind::kValue);
}

TEST_CASE("JSON of tables: a field is an object, null, or missing") {
  constexpr JsonField<Shape> kFields[] = {
      {"origin", kPoint, "", [](const auto&) { return Point{}; }},
      {"centre", kPoint, "", [](const auto& shape) { return shape.centre; }},
      {"middle?", kPoint, "",
       [](const auto& shape) { return shape.centre ? &*shape.centre : nullptr; }},
  };
  CHECK(line<Shape>(kFields, {}) == "{\"origin\":{\"x\":0,\"y\":0},\"centre\":null}\n");
  CHECK(line<Shape>(kFields, {.centre = Point{1, 2}}) ==
        R"({"origin":{"x":0,"y":0},"centre":{"x":1,"y":2},"middle":{"x":1,"y":2}})"
        "\n");
  const JsonObject<Shape> object(kFields);
  const auto& origin = object.at(object, 0);
  CHECK(origin.object == &kPoint);
  CHECK(origin.object->title == "A point");
  CHECK(origin.object->about == "In the plane.");
  CHECK_FALSE(origin.may_be_null);
  CHECK(object.at(object, 1).may_be_null);
  CHECK_FALSE(object.at(object, 2).may_be_null);
  CHECK(object.at(object, 2).may_be_missing);
}

TEST_CASE("JSON of tables: a field is an array of objects, of a range or as they are passed on") {
  constexpr JsonField<Shape> kFields[] = {
      {"corners", array_of(kPoint, 1), "", [](const auto& shape) { return shape.corners; }},
      {"mirrored", array_of(kPoint), "",
       [](const auto& shape, const auto& add) {
         for (const auto& corner : shape.corners) add({-corner.x, corner.y});
       }},
  };
  CHECK(line<Shape>(kFields, {}) == "{\"corners\":[],\"mirrored\":[]}\n");
  CHECK(line<Shape>(kFields, {.corners = {{1, 2}, {3, 4}}}) ==
        R"({"corners":[{"x":1,"y":2},{"x":3,"y":4}],"mirrored":[{"x":-1,"y":2},{"x":-3,"y":4}]})"
        "\n");
  const JsonObject<Shape> object(kFields);
  CHECK(object.at(object, 0).kind == JsonFieldInfo::Kind::kArray);
  CHECK(object.at(object, 0).least == 1);
  CHECK(object.at(object, 1).least == 0);
}

TEST_CASE("JSON of tables: the fields of a part stand in its place") {
  constexpr JsonField<Point> kRest[] = {
      {"before", kBoolean, "", [](const auto&) { return true; }},
      {kPoint},
      {"after", kBoolean, "", [](const auto&) { return true; }},
  };
  CHECK(line<Point>(kRest, {1, 2}) == "{\"before\":true,\"x\":1,\"y\":2,\"after\":true}\n");
  constexpr JsonField<Shape> kFields[] = {
      {kPoint, [](const auto& shape) { return shape.corners.back(); }},
      {"name", kText, "", [](const auto& shape) { return shape.name; }},
  };
  CHECK(line<Shape>(kFields, {.name = "dot", .corners = {{1, 2}}}) ==
        "{\"x\":1,\"y\":2,\"name\":\"dot\"}\n");
  const JsonObject<Shape> object(kFields);
  CHECK(object.at(object, 0).kind == JsonFieldInfo::Kind::kPart);
  CHECK(object.at(object, 0).object == &kPoint);
}

TEST_CASE("JSON of tables: a row writes its value itself, or is told its field") {
  constexpr JsonField<Point> kFields[] = {
      {"pair", kStrings, "",
       [](JsonWriter& json, const Point& point) {
         json.begin_array().value(point.x).value(point.y).end_array();
       }},
      {"width", kString, "",
       [](const JsonFieldInfo& field, const Point&) { return field.name.size(); }},
  };
  CHECK(line<Point>(kFields, {1, 2}) == "{\"pair\":[1,2],\"width\":5}\n");
}

}  // namespace rlctl::json_object_test
