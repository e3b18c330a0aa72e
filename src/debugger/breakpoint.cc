#include "debugger/breakpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::debugger {
namespace {

/// The index of the brace that ends the expression at the beginning of `text`; npos if none does.
std::size_t end_of_expression(std::string_view text) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth < 0) {
      return i;
    }
  }
  return text.npos;
}

}  // namespace

HitCondition::HitCondition(std::string_view text) {
  // What is typed, and the sign that it means.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kSigns{
      {{"", ">="},
       {">=", ">="},
       {">", ">"},
       {"==", "=="},
       {"=", "=="},
       {"<", "<"},
       {"<=", "<="},
       {"%", "%"}}};
  std::string squeezed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(squeezed),
               [](char c) { return c != ' '; });
  const auto digits = std::min(squeezed.find_first_of("0123456789"), squeezed.size());
  const auto* sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& one) {
    return one.first == squeezed.substr(0, digits);
  });
  const auto number = to_number<std::int64_t>(std::string_view(squeezed).substr(digits));
  if (sign == kSigns.end() || !number || *number < 1) {
    throw UsageError(
        fmt::format("{} is not a hit count: 5, >=5, >5, ==5, <5, <=5, or %5 for every fifth",
                    quoted_and_masked(text)));
  }
  sign_ = sign->second;
  number_ = *number;
}

bool HitCondition::accepts(std::int64_t hit) const {
  if (sign_ == ">=") return hit >= number_;
  if (sign_ == ">") return hit > number_;
  if (sign_ == "==") return hit == number_;
  if (sign_ == "<") return hit < number_;
  if (sign_ == "<=") return hit <= number_;
  return hit % number_ == 0;
}

LogMessage::LogMessage(std::string_view text) {
  for (;;) {
    const auto open = text.find('{');
    texts_.emplace_back(text.substr(0, open));
    if (open == text.npos) return;
    text.remove_prefix(open + 1);
    const auto end = end_of_expression(text);
    if (end == text.npos) throw UsageError("'{' without '}'");
    auto& expression = expressions_.emplace_back(text.substr(0, end));
    if (expression.find_first_not_of(" \t\n") == expression.npos)
      throw UsageError("no expression in '{}'");
    text.remove_prefix(end + 1);
  }
}

std::string LogMessage::text(const std::vector<lua::Value>& values) const {
  std::string out = texts_.front();
  for (std::size_t i = 0; i < expressions_.size(); ++i) {
    const auto value = i < values.size() ? values[i] : lua::Value{};
    out += value.kind == lua::Value::Kind::kString ? value.text : lua::text_of(value);
    out += texts_[i + 1];
  }
  return out;
}

}  // namespace rlctl::debugger
