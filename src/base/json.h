#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Writes JSON: the output of --json in every command, and the lines of a backup
// (stored/backup.cc).

namespace rlctl {

/// Appends a JSON string with its quotes, in which characters that a terminal may interpret are
/// escaped. JSON cannot hold arbitrary bytes: those that are not UTF-8 become the text \xNN.
void append_json_string(std::string& out, std::string_view text);

/// Appends JSON to a string, compact, on one line. It writes the commas; the caller closes
/// what it opens.
///
///     JsonWriter json(out);
///     json.begin_object().field("key", key).field("limit", 5).end_object();
class JsonWriter {
 public:
  /// `out` must outlive this. Its contents stay.
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  /// The name of a field; its value comes next.
  JsonWriter& name(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) JsonWriter& value(Integer number) {
    return integer(static_cast<std::int64_t>(number));
  }
  /// The fewest digits that read back as the same number; null for what JSON cannot express (an
  /// infinity).
  JsonWriter& value(double number);
  /// As a whole number of µs; names of such fields end in _us.
  JsonWriter& value(std::chrono::microseconds duration) { return integer(duration.count()); }
  JsonWriter& null() { return raw("null"); }
  /// Null if it has no value.
  template <typename Value>
  JsonWriter& value(const std::optional<Value>& optional) {
    return optional ? value(*optional) : null();
  }
  /// Appends existing JSON.
  JsonWriter& raw(std::string_view json);

  template <typename Value>
  JsonWriter& field(std::string_view name, const Value& value) {
    return this->name(name).value(value);
  }
  /// A text that may not be known: null if it is empty.
  JsonWriter& known_field(std::string_view name, std::string_view text) {
    return field(name, text.empty() ? std::nullopt : std::optional(text));
  }
  /// A field for bytes that need not be UTF-8, such as a Redis key. If they are not, a second field
  /// NAME_base64 holds them, since another key may have the same escaped text.
  JsonWriter& bytes_field(std::string_view name, std::string_view bytes);

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& integer(std::int64_t number);
  void separate();

  std::string& out_;
  bool is_first_ = true;  ///< at the start of an array or object, or after a name: no comma
};

}  // namespace rlctl
