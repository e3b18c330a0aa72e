#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

// Writes JSON: the output of --json in every command, and the lines of a backup
// (stored/backup.cc). Reads the JSON of clients, files, logs, scripts and programs, all of which
// may be hostile.
//
// nlohmann-json parses without recursion, but copies and prints recursively, so that a value which
// is nested deeply enough overflows the stack later; and a value takes up to 150 bytes, however
// few its text has. Hence both are bounded before the text is parsed, in one place. A parser with a
// callback was rejected: it skips what is too deep, but follows it with 8 bytes for each level.

namespace rlctl {

/// Appends a JSON string with its quotes, in which characters that a terminal may interpret are
/// escaped. JSON cannot hold arbitrary bytes: those that are not UTF-8 become the text \xNN.
void append_json_string(std::string& out, std::string_view text);

/// A text that is unknown, and null in JSON, if it is empty. It must outlive what is returned.
inline std::optional<std::string_view> known_text(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
std::optional<std::string_view> known_text(const std::string&& gone) = delete;

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

/// Bounds of parse_json() and read_json(). Nothing that rlctl reads has more than ten levels; a
/// hundred thousand values, which take 15 MB at most, are more lines than a file with breakpoints
/// has. The reader of the text bounds its length.
constexpr std::int64_t kMostJsonLevels = 100, kMostJsonValues = 100'000;

/// Returns why a text exceeds the bounds, as the end of a sentence; "" if it does not.
std::string_view json_excess(std::string_view text) noexcept;
/// Parses a whole text; is_discarded() if it is not JSON, or exceeds the bounds.
nlohmann::json parse_json(std::string_view text);
/// Calls `reader`, an nlohmann::json_sax, with the parts of a text. Returns false if it is not
/// JSON, exceeds the bounds, or the reader stopped.
template <typename Reader, typename Json = nlohmann::json>
bool read_json(std::string_view text, Reader& reader) {
  // For nlohmann-json, a NUL is the end of the text.
  return text.find('\0') == text.npos && json_excess(text).empty() &&
         Json::sax_parse(text, &reader);
}
/// Returns why parse_json() refused a text, as the end of a sentence; `otherwise` if it is within
/// the bounds.
std::string_view json_fault(std::string_view text,
                            std::string_view otherwise = "is not JSON") noexcept;
inline constexpr std::string_view kNotAnObject = "is not a JSON object";
/// Parses a text that parse_json() refused, with null in place of whatever is nested in the
/// outermost object, so that an answer can name the request.
nlohmann::json parse_json_outline(std::string_view text);

}  // namespace rlctl
