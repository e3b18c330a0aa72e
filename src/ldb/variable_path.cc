#include "ldb/variable_path.h"

#include <charconv>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

#include "ldb/lua_lexer.h"

namespace rlctl::ldb {
namespace {

using TokenKind = LuaToken::Kind;
using Tokens = std::span<const LuaToken>;

/// A string without escapes, in quotes.
std::optional<Value> string_key(std::string_view text) {
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'')) return std::nullopt;
  if (text.find('\\') != text.npos) return std::nullopt;
  return Value{.kind = Value::Kind::kString, .text = std::string(text.substr(1, text.size() - 2))};
}

std::optional<Value> number_key(std::string_view text, bool is_negative) {
  Value key{.kind = Value::Kind::kNumber};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key.number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (is_negative) key.number = -key.number;
  return key;
}

/// What stands in brackets.
std::optional<VariablePath::Step> step_in(Tokens inner) {
  using Step = VariablePath::Step;
  const bool is_negative = inner.size() == 2 && inner[0].is("-");
  if (inner.size() != 1 && !is_negative) return std::nullopt;
  const auto& token = inner.back();
  if (token.kind == TokenKind::kName && !is_negative)
    return Step{.variable = std::string(token.text)};
  std::optional<Value> key;
  if (token.kind == TokenKind::kNumber) key = number_key(token.text, is_negative);
  if (token.kind == TokenKind::kString && !is_negative) key = string_key(token.text);
  if (!key) return std::nullopt;
  return Step{.key = *std::move(key)};
}

/// Takes a step off the front.
std::optional<VariablePath::Step> take_step(Tokens& rest) {
  if (rest[0].is(".") && rest.size() > 1 && rest[1].kind == TokenKind::kName) {
    VariablePath::Step step{
        .key = {.kind = Value::Kind::kString, .text = std::string(rest[1].text)}};
    rest = rest.subspan(2);
    return step;
  }
  if (!rest[0].is("[")) return std::nullopt;
  std::size_t end = 1;
  while (end < rest.size() && !rest[end].is("]")) ++end;
  if (end >= rest.size()) return std::nullopt;
  auto step = step_in(rest.subspan(1, end - 1));
  rest = rest.subspan(end + 1);
  return step;
}

}  // namespace

std::optional<VariablePath> parse_path(std::string_view expression) {
  const auto tokens = lex_lua(expression);
  if (!tokens || tokens->tokens.front().kind != TokenKind::kName) return std::nullopt;
  VariablePath path{.root = std::string(tokens->tokens.front().text)};
  auto rest = Tokens(tokens->tokens).subspan(1);
  while (rest.front().kind != TokenKind::kEnd) {
    auto step = take_step(rest);
    if (!step) return std::nullopt;
    path.steps.push_back(*std::move(step));
  }
  return path;
}

std::optional<Value> field_of(const Value& table, const Value& key) {
  if (table.kind != Value::Kind::kTable) return std::nullopt;
  for (const auto& [known, value] : table.fields) {
    const bool both_numbers =
        known.kind == Value::Kind::kNumber && key.kind == Value::Kind::kNumber;
    if (both_numbers ? known.number == key.number : known == key) return value;
  }
  if (table.is_cut) return std::nullopt;
  return Value{};
}

}  // namespace rlctl::ldb
