#include "lua/calls.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/text.h"
#include "embedded_substitutes.h"

namespace rlctl::lua {
namespace {

/// The commands that may make a key which is not their first argument: those of made_keys.lua.
const std::set<std::string_view>& commands_of_other_keys() {
  static const auto kNames = [] {
    std::set<std::string_view> names;
    const auto tokens = lex(embedded::k_made_keys.text).value_or(Tokens{}).tokens;
    auto token = std::find_if(tokens.begin(), tokens.end(),
                              [](const Token& each) { return each.text == "makes"; });
    for (; token != tokens.end() && !token->is("}"); ++token) {
      const bool is_row = token->kind == Token::Kind::kName && std::next(token)->is("=");
      if (is_row) names.insert(token->text);
    }
    return names;
  }();
  return kNames;
}

/// Follows the keys of a script's calls, token by token.
class DeclaredKeys {
 public:
  explicit DeclaredKeys(const std::vector<Token>& tokens) : calls_(tokens) { find_names(); }

  /// Whether each use of `redis` is a call of a command whose key is one of KEYS.
  bool suffice() const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (calls_.is_redis(i) && !is_harmless(i)) return false;
      if (is_name(i) && at(i).text == "KEYS" && may_change_keys(i)) return false;
    }
    return true;
  }

 private:
  const Token& at(std::size_t i) const { return calls_.at(i); }
  bool is(std::size_t i, std::string_view symbol) const { return calls_.is(i, symbol); }
  bool is_name(std::size_t i) const { return calls_.is_name(i); }
  /// KEYS[1]
  bool is_element(std::size_t i) const {
    return is_name(i) && at(i).text == "KEYS" && is(i + 1, "[") &&
           at(i + 2).kind == Token::Kind::kNumber && is(i + 3, "]");
  }

  /// Whether a use of KEYS may change what it holds, or is another variable. KEYS[1], #KEYS and
  /// unpack(KEYS) only read it.
  bool may_change_keys(std::size_t i) const {
    if (is(i - 1, "#") || (is(i - 1, "(") && at(i - 2).text == "unpack")) return false;
    if (!is_element(i)) return true;
    const bool begins = !is(i - 1, "(") && !is(i - 1, "=") && !is(i - 1, ",") && !is(i - 1, "{");
    return is(i + 4, "=") || (begins && is(i + 4, ","));
  }

  /// Finds the locals that hold an element of KEYS, and nothing else: "local a, b = KEYS[1],
  /// KEYS[2]".
  void find_names() {
    std::set<std::string_view> others;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!is(i, "local")) continue;
      std::vector<std::string_view> names;
      auto next = i + 1;
      for (; is_name(next); next += 2) {
        names.push_back(at(next).text);
        if (!is(next + 1, ",")) break;
      }
      ++next;
      bool are_keys = is(next, "=");
      for (std::size_t n = 0; are_keys && n < names.size(); ++n) {
        ++next;
        are_keys = is_element(next);
        next += 4;
        if (n + 1 < names.size()) are_keys = are_keys && is(next, ",");
      }
      are_keys = are_keys && calls_.ends_statement(next);
      for (const auto name : names) {
        if (!are_keys || !names_.insert(name).second) others.insert(name);
      }
    }
    for (std::size_t i = 1; i + 1 < calls_.size(); ++i) {
      // Set by an assignment, a loop or a call.
      if (!is_name(i) || is(i - 1, "local")) continue;
      const bool is_set = is(i + 1, "=") || is(i + 1, "in") || is(i - 1, "for");
      if (is_set && !is_declaration(i)) others.insert(at(i).text);
    }
    for (std::size_t i = 0; i + 1 < calls_.size(); ++i) {
      if (!is(i, "function")) continue;
      for (++i; i < calls_.size() && !is(i, ")"); ++i) {
        if (is_name(i)) others.insert(at(i).text);
      }
    }
    for (const auto name : others) names_.erase(name);
  }

  /// Whether the name is the last of "local a, b =".
  bool is_declaration(std::size_t i) const {
    while (i >= 2 && is(i - 1, ",") && is_name(i - 2)) i -= 2;
    return i >= 1 && is(i - 1, "local");
  }

  bool is_harmless(std::size_t i) const {
    if (!calls_.is_field(i)) return false;
    const auto size = calls_.callee_size(i);
    if (size == 0) return true;
    const auto command = calls_.command(i);
    if (command.empty()) return false;
    if (commands_of_other_keys().contains(lower_case(command))) return false;
    const auto comma = i + size + 2, key = comma + 1;
    if (is(comma, ")")) return true;
    const auto end = is_element(key) ? key + 4 : key + 1;
    const bool is_key = is_element(key) || (is_name(key) && names_.contains(at(key).text));
    return is_key && (is(end, ",") || is(end, ")"));
  }

  Calls calls_;
  std::set<std::string_view> names_;  ///< of locals
};

}  // namespace

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
  static const std::set<std::string_view> kNames{"redis", "server", "_G", "getfenv", "loadstring"};
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
    for (std::size_t j = 0; j < size; ++j) places.push_back({&calls.at(i + j), j == 0});
  }
  return places;
}

bool may_make_keys(std::string_view source) {
  const auto tokens = lex(source);
  return tokens && !DeclaredKeys(tokens->tokens).suffice();
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
