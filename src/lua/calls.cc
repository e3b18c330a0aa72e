#include "lua/calls.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"

namespace rlctl::lua {

Calls::Calls(const std::vector<Token>& tokens) : tokens_(tokens) {
  find_aliases();
}

const Token& Calls::at(std::size_t i) const {
  return tokens_[std::min(i, tokens_.size() - 1)];
}

bool Calls::is_name(std::size_t i) const {
  return at(i).kind == Token::Kind::kName && !is(i - 1, ".") && !is(i - 1, ":");
}

bool Calls::ends_statement(std::size_t i) const {
  // A name before a string literal is called with it.
  const bool goes_on = is(i, "and") || is(i, "or") || at(i).kind == Token::Kind::kString;
  return !goes_on && (at(i).kind != Token::Kind::kSymbol || is(i, ";"));
}

bool Calls::is_redis(std::size_t i) const {
  static const std::set<std::string_view> kNames{"redis",   "server", "_G",
                                                 "getfenv", "load",   "loadstring"};
  if (!is_name(i) || declarations_.contains(i)) return false;
  return kNames.contains(at(i).text) || aliases_.contains(at(i).text);
}

bool Calls::is_field(std::size_t i) const {
  if (aliases_.contains(at(i).text)) return true;
  const bool is_table = at(i).text == "redis" || at(i).text == "server";
  return is_table && is(i + 1, ".") && at(i + 2).kind == Token::Kind::kName;
}

std::size_t Calls::callee_size(std::size_t i) const {
  if (aliases_.contains(at(i).text)) return 1;
  return at(i + 2).text == "call" || at(i + 2).text == "pcall" ? 3 : 0;
}

std::string_view Calls::command(std::size_t i) const {
  const auto open = i + callee_size(i);
  const auto& text = at(open + 1).text;
  const bool is_literal = is(open, "(") && at(open + 1).kind == Token::Kind::kString &&
                          text.front() != '[' && text.find('\\') == text.npos &&
                          (is(open + 2, ",") || is(open + 2, ")"));
  return is_literal ? text.substr(1, text.size() - 2) : "";
}

/// Finds each local that is only called, and set to redis.call or redis.pcall where it is declared.
void Calls::find_aliases() {
  std::map<std::string_view, int> not_called;  // a name's uses, of which a declaration is one
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (is_name(i) && (!is(i + 1, "(") || is(i - 1, "function"))) ++not_called[at(i).text];
  }
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const bool is_declaration = is(i, "local") && is_name(i + 1) && is(i + 2, "=") &&
                                at(i + 3).text == "redis" && is_field(i + 3) &&
                                callee_size(i + 3) > 0 && ends_statement(i + 6);
    if (!is_declaration || not_called[at(i + 1).text] > 1) continue;
    aliases_.insert(at(i + 1).text);
    declarations_.insert({i + 1, i + 3});
  }
}

std::optional<std::vector<Place>> direct_calls_of_time(const Calls& calls) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls.is_redis(i)) continue;
    if (!calls.is_field(i) || calls.at(i).text == "server") return std::nullopt;
    const auto size = calls.callee_size(i);
    if (size == 0) continue;
    const auto command = calls.command(i);
    if (command.empty()) return std::nullopt;
    if (command.size() != 4 || !contains_in_any_case(command, "time")) continue;
    if (!calls.is(i + size + 2, ")")) continue;
    for (std::size_t j = 0; j < size; ++j) places.push_back({&calls.at(i + j), j + 1 == size});
  }
  return places;
}

bool any_word_in_text(std::string_view text, const HoldsOfWord& holds) {
  std::string word;
  for (const char c : text) {
    if (is_alphanumeric(c)) {
      word += lower_case(c);
    } else if (holds(std::exchange(word, {}))) {
      return true;
    }
  }
  return holds(word);
}

bool any_word(std::string_view source, const HoldsOfWord& holds) {
  const auto lexed = lex(source);
  return !lexed || std::ranges::any_of(lexed->tokens, [&](const Token& token) {
    if (token.kind == Token::Kind::kName) return holds(lower_case(token.text));
    return token.kind == Token::Kind::kString && any_word_in_text(token.text, holds);
  });
}

bool may_call_time(std::string_view source) {
  const auto lexed = lex(source);
  const auto direct = lexed ? direct_calls_of_time(Calls(lexed->tokens)) : std::nullopt;
  if (!direct || !direct->empty()) return true;
  return any_word(source, [](std::string_view word) { return word == "time"; });
}

bool may_read_ttl(std::string_view source) {
  static const std::set<std::string_view> kReading{"ttl", "pttl", "expiretime", "pexpiretime"};
  const auto lexed = lex(source);
  if (!lexed) return true;
  const Calls calls(lexed->tokens);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& token = calls.at(i);
    const auto word = token.kind == Token::Kind::kString ? lower_case(token.text) : "";
    if (word == "'lt'" || word == "\"lt\"" || word == "[[lt]]") return true;
    if (!calls.is_redis(i)) continue;
    if (!calls.is_field(i)) return true;
    if (calls.callee_size(i) == 0) continue;
    const auto command = calls.command(i);
    if (command.empty() || kReading.contains(lower_case(command))) return true;
  }
  return false;
}

}  // namespace rlctl::lua
