#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"

// Objects of JSON as tables of their fields: a field is one row, which has its name, its type, a
// sentence about it, and how its value follows from what is written. From these rows come the
// objects that --json prints, their schemas in schema/ (see tests/schema/main.cc), and with these
// rlctl-json(7), so that no two of them can differ.
//
//     constexpr JsonField<Row> kFields[] = {
//         {"key", json_type::kBytes, "The key in Redis.",
//          [](const Row& row) { return JsonBytes{row.key}; }},
//         {"used", json_type::kCount, "The units that count now.",
//          [](const Row& row) { return row.used; }},
//     };
//     constexpr JsonObject<Row> kRow{"row", "A key", kFields};
//
//     kRow.append_line(out, row);
//
// A Source may be a struct of references, which lives while it is written.
//
// The functions are captureless lambdas, which are called by their type, so that the tables are
// constants. Types that follow from C++ types were rejected: a schema says more, such as that a
// count is not below 0.

namespace rlctl {

/// The type of a field: the name of a definition in common.schema.json, or members of a schema,
/// such as `"enum": ["ok", "warning"]`; or one of the names of a table.
struct JsonType {
  std::string_view text = {};
  std::vector<std::string_view> (*names)() = nullptr;
};
/// The text of a field that has the same text in each object.
struct JsonConstant {
  std::string_view text;
};

namespace json_type {
inline constexpr JsonType kAlgorithm{"algorithm"}, kBoolean{R"("type": "boolean")"},
    kBooleanOrNull{"boolean_or_null"}, kBurstOrNull{"burst_or_null"}, kBytes{"key"},
    kBytesOrNull{"text_or_null"}, kCalendar{"calendar"}, kCount{"count"},
    kCountOrNull{"count_or_null"}, kDuration{"duration"}, kDurationOrNull{"duration_or_null"},
    kInteger{R"("type": "integer")"}, kLibrary{"library"}, kLimit{"limit"},
    kLimitOrNull{"limit_or_null"}, kNumber{R"("type": "number")"},
    kNumberFromOne{R"("type": "integer", "minimum": 1)"},
    kRatio{R"("type": "number", "minimum": 0)"}, kRatioOrNull{"ratio_or_null"}, kSha1{"sha1"},
    kStoredAlgorithm{"stored_algorithm"}, kString{R"("type": "string")"},
    kStringOrNull{R"("type": ["string", "null"])"},
    kStrings{R"("type": "array", "items": {"type": "string"})"},
    kText{R"("type": "string", "minLength": 1)"}, kTextOrNull{"text_or_null"},
    kTexts{R"("type": "array", "items": {"type": "string", "minLength": 1})"}, kTime{"time"},
    kTimeOrNull{"time_or_null"}, kWait{"wait"}, kWaitOrNull{"wait_or_null"}, kWindow{"window"},
    kWindowOrNull{"window_or_null"};
}  // namespace json_type

/// A value that need not be UTF-8, such as a key of Redis: see JsonWriter::bytes_field(). Its bytes
/// must outlive it.
struct JsonBytes {
  constexpr explicit JsonBytes(std::string_view some) : bytes(some) {}
  JsonBytes(const std::string&&) = delete;

  std::string_view bytes;
};
/// Bytes that are unknown if there are none.
inline std::optional<JsonBytes> known_bytes(std::string_view bytes) {
  return bytes.empty() ? std::nullopt : std::optional(JsonBytes{bytes});
}
std::optional<JsonBytes> known_bytes(const std::string&& gone) = delete;

struct JsonObjectInfo;

/// What a schema says about a field.
struct JsonFieldInfo {
  enum class Kind : std::uint8_t {
    kValue,
    kBytes,     ///< a second field, NAME_base64, may follow
    kConstant,  ///< always the text of `type`
    kObject,    ///< with the fields of `object`
    kArray,     ///< of such objects
    kPart,      ///< not a field, but the fields of `object` in its place
  };
  std::string_view name = {}, about = {};
  JsonType type = {};
  Kind kind = Kind::kValue;
  bool may_be_missing = false;
  bool may_be_null = false;  ///< an object; of values, the type says so
  std::uint8_t least = 0;    ///< the number of objects in an array
  const JsonObjectInfo* object = nullptr;
};

/// What a schema says about an object. One without a name is described where it is a field.
struct JsonObjectInfo {
  std::string_view name = {}, title = {}, about = {};
  std::size_t size = 0;  ///< the number of rows
  const JsonFieldInfo& (*at)(const JsonObjectInfo& object, std::size_t row) = nullptr;
};

template <typename Source>
class JsonObject;

/// The type of a field that is an array of objects.
template <typename Item>
struct JsonArrayOf {
  const JsonObject<Item>& items;
  std::uint8_t least;
};
template <typename Item>
constexpr JsonArrayOf<Item> array_of(const JsonObject<Item>& items, std::uint8_t least = 0) {
  return {items, least};
}

/// How the value of a field follows from its source: a lambda without captures. A function would
/// not do, since the lambda is made anew from its type.
template <typename Of>
concept JsonLambda = std::is_empty_v<Of> && std::default_initializable<Of>;

/// A row: a field of an object that is made from a Source.
///
/// If the name of a value or of an object ends with ?, the field is missing when its value is
/// std::nullopt or a null pointer; otherwise it is null then. An array is never missing.
template <typename Source>
class JsonField {
 public:
  /// A value, or a range of values: `Of` returns it, or writes it with a JsonWriter, its first
  /// argument. Rows that are made from a table may have one `Of`, which is told the field.
  template <JsonLambda Of>
  constexpr JsonField(std::string_view name, JsonType type, std::string_view about, Of)
      : info_{.name = bare(name),
              .about = about,
              .type = type,
              .kind = is_bytes<Of>() ? Kind::kBytes : Kind::kValue,
              .may_be_missing = bare(name) != name},
        write_([](JsonWriter& json, const JsonFieldInfo& field, const Source& source) {
          if constexpr (std::invocable<Of, JsonWriter&, const Source&>) {
            Of{}(json.name(field.name), source);
          } else if constexpr (std::invocable<Of, const JsonFieldInfo&, const Source&>) {
            write_value(json, field, Of{}(field, source));
          } else {
            write_value(json, field, Of{}(source));
          }
        }) {}

  constexpr JsonField(std::string_view name, JsonConstant constant, std::string_view about)
      : info_{.name = name, .about = about, .type = {constant.text}, .kind = Kind::kConstant},
        write_([](JsonWriter& json, const JsonFieldInfo& field, const Source&) {
          json.field(field.name, field.type.text);
        }) {}

  /// An object: `Of` returns what it is made from, or a pointer or std::optional of that.
  template <typename Inner, JsonLambda Of>
  constexpr JsonField(std::string_view name, const JsonObject<Inner>& object,
                      std::string_view about, Of)
      : info_{.name = bare(name),
              .about = about,
              .kind = Kind::kObject,
              .may_be_missing = bare(name) != name,
              .may_be_null = bare(name) == name && !is_inner<Inner, Of>(),
              .object = &object},
        write_([](JsonWriter& json, const JsonFieldInfo& field, const Source& source) {
          const auto& inner = static_cast<const JsonObject<Inner>&>(*field.object);
          decltype(auto) found = Of{}(source);
          if constexpr (is_inner<Inner, Of>()) {
            inner.write(json.name(field.name), found);
          } else if (found) {
            inner.write(json.name(field.name), *found);
          } else if (!field.may_be_missing) {
            json.name(field.name).null();
          }
        }) {}

  /// An array of objects: `Of` returns a range of what they are made from, or passes each of these
  /// to its second argument.
  template <typename Item, JsonLambda Of>
  constexpr JsonField(std::string_view name, JsonArrayOf<Item> array, std::string_view about, Of)
      : info_{.name = name,
              .about = about,
              .kind = Kind::kArray,
              .least = array.least,
              .object = &array.items},
        write_([](JsonWriter& json, const JsonFieldInfo& field, const Source& source) {
          const auto& items = static_cast<const JsonObject<Item>&>(*field.object);
          const auto write = [&](const Item& item) { items.write(json, item); };
          json.name(field.name).begin_array();
          if constexpr (std::invocable<Of, const Source&, decltype(write)&>) {
            Of{}(source, write);
          } else {
            for (const auto& item : Of{}(source)) write(item);
          }
          json.end_array();
        }) {}

  /// The fields of another object, which is made from what `Of` returns.
  template <typename Part, JsonLambda Of>
  constexpr JsonField(const JsonObject<Part>& part, Of)
      : info_{.kind = Kind::kPart, .object = &part},
        write_([](JsonWriter& json, const JsonFieldInfo& field, const Source& source) {
          static_cast<const JsonObject<Part>&>(*field.object).write_fields(json, Of{}(source));
        }) {}

  /// The fields of another object that is made from the same Source.
  constexpr JsonField(const JsonObject<Source>& part)  // NOLINT(*-explicit-*): a row {part}
      : JsonField(part, [](const Source& source) -> const Source& { return source; }) {}

  const JsonFieldInfo& info() const { return info_; }
  void write(JsonWriter& json, const Source& source) const { write_(json, info_, source); }

 private:
  using Kind = JsonFieldInfo::Kind;

  static constexpr std::string_view bare(std::string_view name) {
    return name.substr(0, name.size() - (name.ends_with('?') ? 1 : 0));
  }
  template <typename Inner, typename Of>
  static constexpr bool is_inner() {
    return std::convertible_to<std::invoke_result_t<Of, const Source&>, const Inner&>;
  }
  template <typename Of>
  static constexpr bool is_bytes() {
    if constexpr (std::invocable<Of, const Source&>) {
      using Value = std::remove_cvref_t<std::invoke_result_t<Of, const Source&>>;
      return std::same_as<Value, JsonBytes> || std::same_as<Value, std::optional<JsonBytes>>;
    }
    return false;
  }
  template <typename Value>
  static void write_value(JsonWriter& json, const JsonFieldInfo& field, const Value& value) {
    if constexpr (std::same_as<Value, JsonBytes>) {
      json.bytes_field(field.name, value.bytes);
    } else if constexpr (requires { value.has_value(); }) {
      if (value) {
        write_value(json, field, *value);
      } else if (!field.may_be_missing) {
        json.name(field.name).null();
      }
    } else if constexpr (std::ranges::range<const Value> &&
                         !std::convertible_to<const Value&, std::string_view>) {
      json.name(field.name).begin_array();
      for (const auto& item : value) json.value(item);
      json.end_array();
    } else {
      json.field(field.name, value);
    }
  }

  JsonFieldInfo info_;
  void (*write_)(JsonWriter& json, const JsonFieldInfo& field, const Source& source);
};

/// The table of an object that is made from a Source. The rows must outlive it.
template <typename Source>
class JsonObject : public JsonObjectInfo {
 public:
  using Fields = std::span<const JsonField<Source>>;

  /// An object with a name and a title is described once in its schema and in the manual, wherever
  /// it occurs.
  constexpr JsonObject(std::string_view its_name, std::string_view its_title, Fields fields,
                       std::string_view its_about = {})
      : JsonObjectInfo{.name = its_name,
                       .title = its_title,
                       .about = its_about,
                       .size = fields.size(),
                       .at = info_at},
        fields_(fields.data()) {}
  explicit constexpr JsonObject(Fields fields) : JsonObject({}, {}, fields) {}

  void write(JsonWriter& json, const Source& source) const {
    json.begin_object();
    write_fields(json, source);
    json.end_object();
  }
  void write_fields(JsonWriter& json, const Source& source) const {
    for (const auto& field : std::span(fields_, size)) field.write(json, source);
  }
  /// The object and a line end.
  void append_line(std::string& out, const Source& source) const {
    JsonWriter json(out);
    write(json, source);
    out += '\n';
  }

 private:
  static const JsonFieldInfo& info_at(const JsonObjectInfo& object, std::size_t row) {
    return static_cast<const JsonObject&>(object).fields_[row].info();
  }

  const JsonField<Source>* fields_;
};

/// What a command prints as JSON.
struct JsonOutput {
  std::string_view about;                               ///< what is one object
  std::span<const JsonObjectInfo* const> objects = {};  ///< each line is one of them
};

}  // namespace rlctl
