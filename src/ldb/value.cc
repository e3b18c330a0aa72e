#include "ldb/value.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace rlctl::ldb {
namespace {

constexpr std::array<std::string_view, 21> kKeywords{
    "and",   "break", "do",  "else", "elseif", "end",    "false", "for",  "function", "if",   "in",
    "local", "nil",   "not", "or",   "repeat", "return", "then",  "true", "until",    "while"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text) {
    if (!is_letter(c) && !is_digit(c)) return false;
  }
  for (const auto keyword : kKeywords) {
    if (text == keyword) return false;
  }
  return true;
}

void append_number(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "nan";
  } else if (std::isinf(number)) {
    out += number < 0 ? "-inf" : "inf";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", number);
  }
}

void append_quoted(std::string& out, std::string_view bytes) {
  out += '"';
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (code < 0x20 || code >= 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\{:03}", code);
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_key(std::string& out, const Value& key) {
  if (key.kind == Value::Kind::kString && is_name(key.text)) {
    out += key.text;
    return;
  }
  out += '[';
  append_text(out, key);
  out += ']';
}

// 1, 2, 3... stand without their keys, as far as they go.
void append_table(std::string& out, const Value& table) {
  double next = 1;
  bool in_order = true;
  std::string_view separator;
  out += '{';
  for (const auto& [key, value] : table.fields) {
    out += separator;
    separator = ", ";
    in_order = in_order && key.kind == Value::Kind::kNumber && key.number == next;
    if (in_order) {
      ++next;
    } else {
      append_key(out, key);
      out += " = ";
    }
    append_text(out, value);
  }
  out += '}';
}

}  // namespace

void append_text(std::string& out, const Value& value) {
  using Kind = Value::Kind;
  if (value.approximate && value.kind != Kind::kTable) out += '~';
  switch (value.kind) {
    case Kind::kNil:
      out += "nil";
      break;
    case Kind::kBoolean:
      out += value.boolean ? "true" : "false";
      break;
    case Kind::kNumber:
      append_number(out, value.number);
      break;
    case Kind::kString:
      append_quoted(out, value.text);
      break;
    case Kind::kTable:
      append_table(out, value);
      break;
    case Kind::kCycle:
      out += "{...}";
      break;
    case Kind::kOpaque:
    case Kind::kRaw:
      out += value.text;
      break;
  }
}

std::string text_of(const Value& value) {
  std::string out;
  append_text(out, value);
  return out;
}

}  // namespace rlctl::ldb
