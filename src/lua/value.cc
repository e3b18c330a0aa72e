#include "lua/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "lua/lexer.h"

namespace rlctl::lua {
namespace {

void append_number(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "nan";
  } else if (std::isinf(number)) {
    out += number < 0 ? "-inf" : "inf";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", number);
  }
}

void append_text(std::string& out, const Value& value, Characters characters);

void append_key(std::string& out, const Value& key, Characters characters) {
  if (key.kind == Value::Kind::kString && is_name(key.text)) {
    out += key.text;
    return;
  }
  out += '[';
  append_text(out, key, characters);
  out += ']';
}

// Keys 1, 2, 3... are omitted as long as they are in sequence.
void append_table(std::string& out, const Value& table, Characters characters) {
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
      append_key(out, key, characters);
      out += " = ";
    }
    append_text(out, value, characters);
  }
  if (table.is_cut) {
    out += separator;
    out += "...";
  }
  out += '}';
}

void append_text(std::string& out, const Value& value, Characters characters) {
  using Kind = Value::Kind;
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
      out += string_literal(value.text, characters);
      break;
    case Kind::kTable:
      append_table(out, value, characters);
      break;
    case Kind::kCycle:
      out += "{...}";
      break;
    case Kind::kOpaque:
      out += value.text;
      break;
  }
}

bool same_number(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

// The sort rank: the sequence 1, 2, 3..., other numbers, strings, the rest.
int rank_of(const Value& key, double sequence_end) {
  if (key.kind == Value::Kind::kString) return 2;
  if (key.kind != Value::Kind::kNumber) return 3;
  const bool in_sequence =
      key.number >= 1 && key.number <= sequence_end && key.number == std::floor(key.number);
  return in_sequence ? 0 : 1;
}

double end_of_sequence(const Value& table) {
  std::vector<double> numbers;
  for (const auto& [key, value] : table.fields) {
    if (key.kind == Value::Kind::kNumber) numbers.push_back(key.number);
  }
  std::sort(numbers.begin(), numbers.end());
  double end = 0;
  for (const double number : numbers) {
    if (number == end + 1) ++end;
  }
  return end;
}

}  // namespace

bool is_name(std::string_view text) {
  const auto is_part = [](char c) { return is_name_letter(c) || is_digit(c); };
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_part) &&
         !is_keyword(text);
}

bool Value::operator==(const Value& other) const {
  return kind == other.kind && boolean == other.boolean && same_number(number, other.number) &&
         text == other.text && identity == other.identity && is_cut == other.is_cut &&
         fields == other.fields;
}

void sort_fields(Value& table) {
  using Field = std::pair<Value, Value>;
  const double end = end_of_sequence(table);
  const auto before = [end](const Field& a, const Field& b) {
    const int rank = rank_of(a.first, end), other = rank_of(b.first, end);
    if (rank != other) return rank < other;
    if (rank < 2) return a.first.number < b.first.number;
    if (rank == 2) return a.first.text < b.first.text;
    return text_of(a.first) < text_of(b.first);
  };
  std::stable_sort(table.fields.begin(), table.fields.end(), before);
}

bool is_complete(const Value& value) {
  return !value.is_cut &&
         std::all_of(value.fields.begin(), value.fields.end(), [](const auto& field) {
           return is_complete(field.first) && is_complete(field.second);
         });
}

std::string string_literal(std::string_view bytes, Characters characters) {
  constexpr std::string_view kBytes = "\"\\\n\r\t", kLetters = "\"\\nrt";
  std::string out = "\"";
  for (std::size_t size = 1; !bytes.empty(); bytes.remove_prefix(size)) {
    const char c = bytes.front();
    const auto code = static_cast<unsigned char>(c);
    size = 1;
    if (const auto index = kBytes.find(c); index != kBytes.npos) {
      out += '\\';
      out += kLetters[index];
    } else if (code >= 0x20 && code < 0x7f) {
      out += c;
    } else if (const auto length = utf8_length(bytes);
               characters == Characters::kUtf8 && length > 1 && control_character_at(bytes) == 0) {
      size = length;
      out += bytes.substr(0, size);
    } else {
      fmt::format_to(std::back_inserter(out), "\\{:03}", code);
    }
  }
  return out + '"';
}

std::string text_of(const Value& value, Characters characters) {
  std::string out;
  append_text(out, value, characters);
  return out;
}

}  // namespace rlctl::lua
