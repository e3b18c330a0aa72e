#include "ldb/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "lua/lexer.h"

namespace rlctl::ldb {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || !lua::is_name_letter(text[0])) return false;
  for (const char c : text) {
    if (!lua::is_name_letter(c) && !is_digit(c)) return false;
  }
  return !lua::is_keyword(text);
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
  constexpr std::string_view kBytes = "\"\\\n\r\t", kLetters = "\"\\nrt";
  out += '"';
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (const auto index = kBytes.find(c); index != kBytes.npos) {
      out += '\\';
      out += kLetters[index];
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

// Keys 1, 2, 3... are omitted as long as they are in sequence.
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
  if (table.is_cut) {
    out += separator;
    out += "...";
  }
  out += '}';
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

bool Value::operator==(const Value& other) const {
  return kind == other.kind && boolean == other.boolean && same_number(number, other.number) &&
         text == other.text && approximate == other.approximate && is_cut == other.is_cut &&
         fields == other.fields;
}

void settle_table(Value& table) {
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
  table.approximate = table.is_cut;
  for (const auto& [key, value] : table.fields) {
    table.approximate = table.approximate || key.approximate || value.approximate;
  }
}

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

bool append_literal(std::string& out, const Value& value) {
  using Kind = Value::Kind;
  if (value.approximate) return false;
  switch (value.kind) {
    case Kind::kNil:
    case Kind::kBoolean:
    case Kind::kString:
      append_text(out, value);
      return true;
    case Kind::kNumber:
      if (std::isfinite(value.number)) {
        out += std::signbit(value.number) ? "(" : "";
        append_number(out, value.number);
        out += std::signbit(value.number) ? ")" : "";
      } else {
        out += std::isnan(value.number) ? "(0/0)" : value.number < 0 ? "(-1/0)" : "(1/0)";
      }
      return true;
    case Kind::kTable:
      out += '{';
      for (const auto& [key, field] : value.fields) {
        out += '[';
        if (!append_literal(out, key)) return false;
        out += "]=";
        if (!append_literal(out, field)) return false;
        out += ',';
      }
      out += '}';
      return true;
    case Kind::kCycle:
    case Kind::kOpaque:
    case Kind::kRaw:
      break;
  }
  return false;
}

std::string text_of(const Value& value) {
  std::string out;
  append_text(out, value);
  return out;
}

namespace {

using ValueKind = Value::Kind;

constexpr int kDeepestTable = 20;  // servers stop at 10
constexpr std::string_view kCut = " ...";
constexpr std::string_view kTooDeep = "<max recursion level reached! Nested table?>";

/// Whether %g may have rounded a number. It writes six digits without trailing zeros, so a number
/// with six digits, a fraction or an exponent may have had more.
bool may_be_rounded(std::string_view digits) {
  if (digits.find_first_of(".e") != std::string_view::npos) return true;
  std::size_t significant = 0;
  for (const char c : digits) {
    if (c >= '0' && c <= '9' && (c != '0' || significant > 0)) ++significant;
  }
  return significant >= 6;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text), may_retry_(text.size() * kMaxRetries) {}
  /// Returns none if the form is unknown.
  std::optional<Value> all() {
    Value found;
    if (!value(found, 0)) return std::nullopt;
    if (at_cut()) {
      found.approximate = true;
      rest_ = {};
    }
    return rest_.empty() ? std::optional(std::move(found)) : std::nullopt;
  }

 private:
  bool accept(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  bool value(Value& value, int depth) {
    if (depth > kDeepestTable) return false;
    struct Word {
      std::string_view text;
      ValueKind kind;
      bool boolean;
    };
    constexpr Word kWords[] = {{"nil", ValueKind::kNil, false},
                               {"true", ValueKind::kBoolean, true},
                               {"false", ValueKind::kBoolean, false},
                               {kTooDeep, ValueKind::kCycle, false}};
    for (const auto& word : kWords) {
      if (!accept(word.text)) continue;
      value.kind = word.kind;
      value.boolean = word.boolean;
      return true;
    }
    if (accept("{")) return table(value, depth);
    return opaque(value) || quoted(value) || number(value);
  }

  bool number(Value& value) {
    const auto end = rest_.find_first_of("; }]=");
    const auto text = rest_.substr(0, end);
    const auto parsed = to_number<double>(text);
    if (!parsed) return false;
    value.number = *parsed;
    value.kind = ValueKind::kNumber;
    value.approximate = may_be_rounded(text);
    rest_.remove_prefix(text.size());
    return true;
  }

  bool quoted(Value& value) {
    if (!accept("\"")) return false;
    value.kind = ValueKind::kString;
    while (!accept("\"")) {
      if (rest_.empty() || at_cut()) {
        value.approximate = at_cut();
        return at_cut();
      }
      if (accept("\\")) {
        if (!escape(value.text)) return false;
      } else {
        value.text += rest_.front();
        rest_.remove_prefix(1);
      }
    }
    return true;
  }

  bool escape(std::string& bytes) {
    constexpr std::string_view kNames = "nrtab\\\"", kBytes = "\n\r\t\a\b\\\"";
    if (accept("x")) {
      unsigned code = 0;
      const auto hex = rest_.substr(0, 2);
      const auto result = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
      if (hex.size() < 2 || result.ptr != hex.data() + 2) return false;
      bytes += static_cast<char>(code);
      rest_.remove_prefix(2);
      return true;
    }
    const auto index = rest_.empty() ? std::string_view::npos : kNames.find(rest_.front());
    if (index == std::string_view::npos) return false;
    bytes += kBytes[index];
    rest_.remove_prefix(1);
    return true;
  }

  // "function@0x7f...", quoted or not; Valkey's modules print a blank before it.
  bool opaque(Value& value) {
    const auto before = rest_;
    accept(" ");
    const bool is_quoted = accept("\"");
    for (const std::string_view type : {"function", "thread", "userdata", "lightuserdata"}) {
      if (!accept(type) || !accept("@0x")) continue;
      const auto digits = rest_.find_first_not_of("0123456789abcdef");
      rest_.remove_prefix(std::min(digits, rest_.size()));
      if (is_quoted && !accept("\"")) break;
      value.kind = ValueKind::kOpaque;
      value.text = type;
      return true;
    }
    rest_ = before;
    return false;
  }

  bool table(Value& table, int depth) {
    table.kind = ValueKind::kTable;
    double next = 1;
    while (!accept("}")) {
      Value key, field;
      if (accept("[")) {
        const auto before = rest_;
        if (!(value(key, depth + 1) && accept("]="))) {
          if (!go_back(before)) return false;
          key = {};
          if (!bare_key(key) || !accept("]=")) return false;
        }
      } else {
        key.kind = ValueKind::kNumber;
        key.number = next++;
      }
      const auto before = rest_;
      const bool is_known = value(field, depth + 1);
      if (!is_known || !(at_cut() || rest_.substr(0, 1) == ";" || rest_.substr(0, 1) == "}")) {
        if (!go_back(before) || rest_.find("; ") == std::string_view::npos) return false;
        bare_value(field);
      }
      table.fields.emplace_back(std::move(key), std::move(field));
      if (at_cut()) break;
      if (!accept("; ") && rest_.substr(0, 1) != "}") return false;
    }
    // A table at which the server stopped contains one such field.
    const auto holds = std::erase_if(
        table.fields, [](const auto& entry) { return entry.first.kind == ValueKind::kCycle; });
    table.is_cut = at_cut() || holds > 0;
    settle_table(table);
    return true;
  }

  // [ok], as modules of Valkey print keys.
  bool bare_key(Value& value) {
    const auto end = rest_.find("]=");
    if (end == std::string_view::npos || end == 0) return false;
    value.kind = ValueKind::kString;
    value.text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return true;
  }

  // OK, as modules of Valkey print strings.
  void bare_value(Value& value) {
    value = {};
    value.kind = ValueKind::kRaw;
    value.text = rest_.substr(0, rest_.find("; "));
    rest_.remove_prefix(value.text.size());
  }

  /// To read the same bytes as something else. Returns false if too many were read again already:
  /// in nested tables, each level may double them.
  bool go_back(std::string_view before) {
    const auto count = before.size() - rest_.size();
    if (count > may_retry_) return false;
    may_retry_ -= count;
    rest_ = before;
    return true;
  }

  [[nodiscard]] bool at_cut() const { return rest_ == kCut; }

  /// How often a byte of the text may be read again, on average.
  static constexpr std::size_t kMaxRetries = 16;
  std::string_view rest_;
  std::size_t may_retry_;  ///< bytes
};

}  // namespace

Value parse_printed(std::string_view text) {
  if (auto value = Parser(text).all()) return *std::move(value);
  Value raw;
  raw.kind = ValueKind::kRaw;
  raw.text = text;
  raw.approximate = text.size() >= kCut.size() && text.substr(text.size() - kCut.size()) == kCut;
  return raw;
}

}  // namespace rlctl::ldb
