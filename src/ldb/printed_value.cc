#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

#include "ldb/value.h"

namespace rlctl::ldb {
namespace {

using ValueKind = Value::Kind;

constexpr int kDeepestTable = 20;  // servers stop at 10
constexpr std::string_view kCut = " ...";
constexpr std::string_view kTooDeep = "<max recursion level reached! Nested table?>";

/// %g writes six digits, without zeros at the end: of a number that shows as many, or is no whole
/// one, or has an exponent, there may be more.
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
  explicit Parser(std::string_view text) : rest_(text) {}
  /// None where it is in no form known.
  std::optional<Value> all();

 private:
  bool accept(std::string_view text);
  bool value(Value& value, int depth);
  bool number(Value& value);
  bool quoted(Value& value);
  bool escape(std::string& bytes);
  bool opaque(Value& value);
  bool table(Value& table, int depth);
  bool bare_key(Value& value);
  void bare_value(Value& value);
  [[nodiscard]] bool at_cut() const { return rest_ == kCut; }

  std::string_view rest_;
};

bool Parser::accept(std::string_view text) {
  if (rest_.substr(0, text.size()) != text) return false;
  rest_.remove_prefix(text.size());
  return true;
}

bool Parser::number(Value& value) {
  const auto end = rest_.find_first_of("; }]=");
  const auto text = rest_.substr(0, end);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value.number);
  if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size()) {
    return false;
  }
  value.kind = ValueKind::kNumber;
  value.approximate = may_be_rounded(text);
  rest_.remove_prefix(text.size());
  return true;
}

bool Parser::escape(std::string& bytes) {
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

bool Parser::quoted(Value& value) {
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

// "function@0x7f...", quoted or not; modules of Valkey put a blank before it.
bool Parser::opaque(Value& value) {
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

// OK, as modules of Valkey print strings.
void Parser::bare_value(Value& value) {
  value = {};
  value.kind = ValueKind::kRaw;
  value.text = rest_.substr(0, rest_.find("; "));
  rest_.remove_prefix(value.text.size());
}

// [ok], the same.
bool Parser::bare_key(Value& value) {
  const auto end = rest_.find("]=");
  if (end == std::string_view::npos || end == 0) return false;
  value.kind = ValueKind::kString;
  value.text = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return true;
}

bool Parser::table(Value& table, int depth) {
  table.kind = ValueKind::kTable;
  double next = 1;
  while (!accept("}")) {
    Value key, field;
    if (accept("[")) {
      const auto before = rest_;
      if (!(value(key, depth + 1) && accept("]="))) {
        rest_ = before;
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
      rest_ = before;
      if (rest_.find("; ") == std::string_view::npos) return false;
      bare_value(field);
    }
    table.fields.emplace_back(std::move(key), std::move(field));
    if (at_cut()) break;
    if (!accept("; ") && rest_.substr(0, 1) != "}") return false;
  }
  // A table at which the server stopped holds one such field.
  const auto holds = std::erase_if(
      table.fields, [](const auto& entry) { return entry.first.kind == ValueKind::kCycle; });
  table.is_cut = at_cut() || holds > 0;
  settle_table(table);
  return true;
}

bool Parser::value(Value& value, int depth) {
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

std::optional<Value> Parser::all() {
  Value found;
  if (!value(found, 0)) return std::nullopt;
  if (at_cut()) {
    found.approximate = true;
    rest_ = {};
  }
  return rest_.empty() ? std::optional(std::move(found)) : std::nullopt;
}

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
