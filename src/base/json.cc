#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace rlctl {
namespace {

void append_code_point(std::string& out, std::uint32_t code) {
  if (code > 0xFFFF) {  // as two UTF-16 surrogates
    append_code_point(out, 0xD7C0 + (code >> 10));
    code = 0xDC00 + (code & 0x3FF);
  }
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
}

/// Whether it is of ASCII, and stands for itself.
bool is_plain(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

void append_escaped_ascii(std::string& out, char c) {
  constexpr std::string_view kBytes = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  if (const auto index = kBytes.find(c); index != kBytes.npos) {
    out += '\\';
    out += kLetters[index];
  } else {
    append_code_point(out, static_cast<unsigned char>(c));
  }
}

/// Follows a text byte by byte, and knows only its strings, brackets and commas. In a text that is
/// not JSON, it sees what a parser sees up to the first error.
class JsonOutline {
 public:
  void take(char c) noexcept {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (is_in_string_) {
      is_escaped_ = c == '\\';
      is_in_string_ = c != '"';
    } else {
      is_in_string_ = c == '"';
      const bool opens = c == '[' || c == '{';
      if (opens) ++level_;
      if (c == ']' || c == '}') --level_;
      if (opens || c == ',') ++values_;
    }
  }
  /// The arrays and objects that are open.
  std::int64_t level() const noexcept { return level_; }
  /// At least as many as there are values, except for the outermost.
  std::int64_t values() const noexcept { return values_; }

 private:
  bool is_in_string_ = false, is_escaped_ = false;
  std::int64_t level_ = 0, values_ = 0;
};

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    // Most texts are plain, and are appended at once.
    const auto* const end = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto plain = static_cast<std::size_t>(end - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto length = utf8_length(text);
    if (length == 1) {
      append_escaped_ascii(out, text.front());
    } else if (const auto control = control_character_at(text); control != 0) {
      append_code_point(out, static_cast<std::uint32_t>(control));
    } else if (length > 1) {
      out += text.substr(0, length);
    } else {
      fmt::format_to(std::back_inserter(out), "\\\\x{:02x}",
                     static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  out += '"';
}

void JsonWriter::separate() {
  if (!is_first_) out_ += ',';
  is_first_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  is_first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  is_first_ = false;
  return *this;
}

JsonWriter& JsonWriter::name(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ':';
  is_first_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(fmt::format("{}", number)) : null();
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::bytes_field(std::string_view name, std::string_view bytes) {
  field(name, bytes);
  if (!is_utf8(bytes)) field(std::string(name) + "_base64", to_base64(bytes));
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  separate();
  append_number(out_, number);
  return *this;
}

std::string_view json_excess(std::string_view text) noexcept {
  static_assert(kMostJsonLevels == 100 && kMostJsonValues == 100'000);
  JsonOutline outline;
  for (const char c : text) {
    outline.take(c);
    if (outline.level() > kMostJsonLevels) return "is nested too deeply: 100 levels are the most";
    if (outline.values() > kMostJsonValues) return "has too many values: 100000 are the most";
  }
  return {};
}

std::string_view json_fault(std::string_view text, std::string_view otherwise) noexcept {
  const auto excess = json_excess(text);
  return excess.empty() ? otherwise : excess;
}

nlohmann::json parse_json(std::string_view text) {
  // For nlohmann-json, a NUL is the end of the text.
  const bool is_parsed = text.find('\0') == text.npos && json_excess(text).empty();
  return is_parsed ? nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false)
                   : nlohmann::json(nlohmann::json::value_t::discarded);
}

nlohmann::json parse_json_outline(std::string_view text) {
  std::string flat;
  JsonOutline outline;
  for (const char c : text) {
    const bool was_nested = outline.level() > 1;
    outline.take(c);
    const bool is_nested = outline.level() > 1;
    if (is_nested && !was_nested) flat += "null";
    if (!is_nested && !was_nested) flat += c;
  }
  return parse_json(flat);
}

}  // namespace rlctl
