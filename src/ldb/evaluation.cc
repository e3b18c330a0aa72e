#include "ldb/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "embedded_ldb.h"
#include "ldb/probes.h"
#include "lua/lexer.h"
#include "lua/substitute.h"

namespace rlctl::ldb {
namespace {

using TokenKind = lua::Token::Kind;
using Tokens = std::span<const lua::Token>;

/// The byte of an escape, which is taken off `rest` without its backslash: n, 065.
std::optional<char> take_escape(std::string_view& rest) {
  constexpr std::string_view kLetters = "abfnrtv", kBytes = "\a\b\f\n\r\t\v";
  constexpr std::size_t kMostDigits = 3;
  if (rest.empty()) return std::nullopt;
  std::size_t digits = 0;
  while (digits < std::min(kMostDigits, rest.size()) && is_digit(rest[digits])) ++digits;
  const auto code = to_number<int>(rest.substr(0, digits));
  if (digits > 0 && code.value_or(256) > 255) return std::nullopt;
  const auto letter = kLetters.find(rest[0]);
  const char other = letter == kLetters.npos ? rest[0] : kBytes[letter];
  rest.remove_prefix(std::max(digits, std::size_t{1}));
  return digits > 0 ? static_cast<char>(*code) : other;
}

/// A string in quotes.
std::optional<Value> string_key(std::string_view text) {
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'')) return std::nullopt;
  Value key{.kind = Value::Kind::kString};
  for (auto rest = text.substr(1, text.size() - 2); !rest.empty();) {
    std::optional<char> byte = rest[0];
    rest.remove_prefix(1);
    if (byte == '\\') byte = take_escape(rest);
    if (!byte) return std::nullopt;
    key.text += *byte;
  }
  return key;
}

std::optional<Value> number_key(std::string_view text, bool is_negative) {
  const auto number = to_number<double>(text);
  if (!number) return std::nullopt;
  return Value{.kind = Value::Kind::kNumber, .number = is_negative ? -*number : *number};
}

/// Parses the content of brackets.
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
  if (token.is("true") || token.is("false")) {
    key = Value{.kind = Value::Kind::kBoolean, .boolean = token.is("true")};
  }
  if (!key) return std::nullopt;
  return Step{.key = *std::move(key)};
}

/// Takes the first step off `rest`.
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
  const auto tokens = lua::lex(expression);
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

std::optional<Assignment> parse_assignment(std::string_view code) {
  const auto tokens = lua::lex(code);
  if (!tokens || tokens->tokens.front().kind != TokenKind::kName) return std::nullopt;
  auto rest = Tokens(tokens->tokens).subspan(1);
  for (auto behind = rest; behind.front().kind != TokenKind::kEnd && take_step(behind);) {
    rest = behind;
  }
  const auto end = rest.front().offset;
  const bool has_sign = rest.front().is("=");
  return Assignment{.variable = std::string(code.substr(0, end)),
                    .expression = std::string(code.substr(has_sign ? end + 1 : end)),
                    .has_sign = has_sign};
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

namespace {

using Outcome = Evaluation::Outcome;

/// Lua source for the string `text`, with blanks at which a long command can be split.
std::string quoted(std::string_view text) {
  constexpr std::size_t kPiece = 800, kEscapedPiece = 200;  // four bytes each at most
  std::string pieces;
  int count = 0;
  do {
    auto piece = string_literal(text.substr(0, kPiece));
    const auto size = piece.size() > kPiece + 100 ? kEscapedPiece : kPiece;
    if (size == kEscapedPiece) piece = string_literal(text.substr(0, size));
    text.remove_prefix(std::min(size, text.size()));
    pieces.append(count == 0 ? "" : ", ").append(piece);
    ++count;
  } while (!text.empty());
  // Not with "..": Lua allows no more than 200 in one expression.
  return count == 1 ? pieces : "table.concat{" + pieces + "}";
}

bool begins_statement(std::string_view code) {
  static const std::set<std::string_view> kWords{"return", "local", "if",    "for",     "while",
                                                 "repeat", "do",    "break", "function"};
  const auto tokens = lua::lex(code);
  if (!tokens) return false;
  const auto& first = tokens->tokens.front();
  const auto& second = tokens->tokens[std::min(std::size_t{1}, tokens->tokens.size() - 1)];
  // An expression may begin with an anonymous function.
  if (first.is("function") && second.is("(")) return false;
  return kWords.contains(first.text);
}

/// "eval:1: unexpected symbol" without its place; Redis 6 also has "=eval: 1: ...".
std::string without_place(std::string_view message) {
  for (const std::string_view chunk : {"eval:", "ldb_eval:", "=eval: "}) {
    if (!message.starts_with(chunk)) continue;
    auto rest = message.substr(chunk.size());
    take_digits(rest);
    if (rest.starts_with(": ")) return std::string(rest.substr(2));
  }
  return std::string(message);
}

/// The message of what was raised. Since Redis 7.0, errors of commands are tables.
std::string error_message(const Value& error) {
  const auto field = field_of(error, {.kind = Value::Kind::kString, .text = "err"});
  const auto& text = field ? *field : error;
  return text.kind == Value::Kind::kString ? without_place(text.text) : text_of(error);
}

std::optional<Evaluation> parse_answer(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Evaluation result;
  const char form = text.front();
  text.remove_prefix(1);
  int depth = 0;
  while (!text.empty()) {
    text.remove_prefix(1);  // ';'
    std::size_t end = 0;
    for (; end < text.size() && (text[end] != ';' || depth > 0); ++end) {
      if (text[end] == '{') ++depth;
      if (text[end] == '}') --depth;
    }
    auto value = parse_value(text.substr(0, end));
    if (!value) return std::nullopt;
    result.values.push_back(*std::move(value));
    text.remove_prefix(end);
  }
  if (form == 'R') return result;
  if (result.values.empty()) return std::nullopt;
  result.outcome = form == 'C' ? Outcome::kCompileError : Outcome::kError;
  result.message = error_message(result.values.front());
  result.values.clear();
  return result;
}

/// Parses evaluate.lua's answer, which some servers quote; std::nullopt if nothing was run.
std::optional<Evaluation> answer_of(const std::vector<std::string>& items) {
  Evaluation failed{.outcome = Outcome::kError};
  for (std::string_view item : items) {
    if (item.starts_with(kValueItem)) {
      const auto text = without_quotes(item.substr(kValueItem.size()));
      if (text == "N") return std::nullopt;
      if (auto answer = parse_answer(text)) return answer;
    } else if (item.starts_with(kErrorItem)) {
      item.remove_prefix(kErrorItem.size());
      failed.message = without_place(item.substr(0, item.find_last_not_of(' ') + 1));
    }
  }
  return failed;
}

}  // namespace

std::set<std::string> names_in(std::string_view code) {
  std::set<std::string> names;
  const auto tokens = lua::lex(code);
  if (!tokens) return names;
  int braces = 0;
  for (std::size_t i = 0; i + 1 < tokens->tokens.size(); ++i) {  // the last token is kEnd
    const auto& token = tokens->tokens[i];
    if (token.is("{")) ++braces;
    if (token.is("}")) --braces;
    if (token.kind != TokenKind::kName) continue;
    const bool is_key = braces > 0 && tokens->tokens[i + 1].is("=");
    const bool is_field = i > 0 && (tokens->tokens[i - 1].is(".") || tokens->tokens[i - 1].is(":"));
    if (!is_field && !is_key) names.emplace(token.text);
  }
  return names;
}

std::string assigned_in(std::string_view code) {
  const auto tokens = lua::lex(code);
  if (!tokens || tokens->tokens.front().kind != TokenKind::kName) return {};
  int depth = 0;
  for (const auto& token : tokens->tokens) {
    if (token.is("(") || token.is("{")) ++depth;
    if (token.is(")") || token.is("}")) --depth;
    if (depth == 0 && token.is("=")) return std::string(tokens->tokens.front().text);
  }
  return {};
}

bool may_be_endless(std::string_view code) {
  // A string's token has quotes around these words.
  static const std::set<std::string_view> kWords{"while",      "repeat", "for", "function",
                                                 "loadstring", "load",   "rep"};
  const auto tokens = lua::lex(code);
  return tokens && std::any_of(tokens->tokens.begin(), tokens->tokens.end(),
                               [](const auto& token) { return kWords.contains(token.text); });
}

Evaluation evaluate(Session& session, std::string_view prelude, std::string_view code,
                    std::chrono::microseconds limit, std::optional<std::chrono::microseconds> now) {
  static const auto kRun =
      fmt::format("return(function(...) {}end)", lua::one_line(embedded::k_evaluate.text));
  static const auto kEncoder =
      fmt::format("function(...) {}end", lua::one_line(embedded::k_encode.text));
  const std::array helpers{std::string("getmetatable(KEYS)"),  // of a script with probes
                           fmt::format("{{nil, {}, {}}}", kEncoder, now ? redis_at(*now) : "nil")};
  const bool is_statement = begins_statement(code);
  try {
    for (const auto& each : helpers) {
      const auto text = fmt::format("{}({}, {}, {}, {})", kRun, each, quoted(prelude), quoted(code),
                                    is_statement);
      const auto message = session.ask({"eval", text}, limit);
      if (session.ended()) return {.outcome = Outcome::kCutOff, .message = session.why()};
      if (auto answer = answer_of(message.items)) return *std::move(answer);
    }
  } catch (const UsageError&) {
    return {.outcome = Outcome::kError,
            .message = fmt::format("{} bytes of code{} are more than the debugger takes",
                                   prelude.size() + code.size(),
                                   prelude.empty() ? "" : " and copies of variables")};
  }
  return {.outcome = Outcome::kError, .message = "the debugger cannot evaluate it"};
}

}  // namespace rlctl::ldb
