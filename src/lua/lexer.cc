#include "lua/lexer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/text.h"

namespace rlctl::lua {
namespace {

constexpr std::array<std::string_view, 21> kKeywords{
    "and",   "break", "do",  "else", "elseif", "end",    "false", "for",  "function", "if",   "in",
    "local", "nil",   "not", "or",   "repeat", "return", "then",  "true", "until",    "while"};

// A symbol comes before those that it begins with.
constexpr std::array<std::string_view, 26> kSymbols{
    "...", "..", "==", "~=", "<=", ">=", "+", "-", "*", "/", "%", "^", "#",
    "<",   ">",  "=",  "(",  ")",  "{",  "}", "[", "]", ";", ":", ",", "."};

constexpr char kNone = '\0';

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}
  bool run() {
    found.line_offsets.push_back(0);
    position_ = shebang_line(source_).size();
    if (position_ > 0 && ended()) return false;  // the server wants a line end there
    while (skip_to_token()) {
      Token token{Token::Kind::kEnd, {}, position_, line(), line()};
      if (ended()) {
        found.tokens.push_back(token);
        return true;
      }
      const auto kind = this->token();
      if (!kind) return false;
      token.kind = *kind;
      token.text = source_.substr(token.offset, position_ - token.offset);
      token.last_line = line();
      found.tokens.push_back(token);
    }
    return false;
  }

  Tokens found;

 private:
  char at(std::size_t position) const {
    return position < source_.size() ? source_[position] : kNone;
  }
  bool ended() const { return position_ >= source_.size(); }
  int line() const { return static_cast<int>(found.line_offsets.size()); }

  // Skips a byte, or a line end, which may be two.
  void skip_character() {
    const char first = at(position_++);
    if (!is_line_end(first)) return;
    if (!ended() && is_line_end(at(position_)) && at(position_) != first) ++position_;
    found.line_offsets.push_back(position_);
  }

  bool skip_to_token() {
    while (!ended()) {
      const char c = at(position_);
      if (is_line_end(c) || is_blank(c)) {
        skip_character();
      } else if (c == '-' && at(position_ + 1) == '-') {
        if (!skip_comment()) return false;
      } else {
        return true;
      }
    }
    return true;
  }

  bool skip_comment() {
    position_ += 2;
    if (const auto level = bracket_level()) return long_text(*level);
    const auto begin = position_;
    while (!ended() && !is_line_end(at(position_))) ++position_;
    found.comments.push_back(
        {source_.substr(begin, position_ - begin), line(), found.tokens.size()});
    return true;
  }

  std::optional<Token::Kind> token() {
    using Kind = Token::Kind;
    const char c = at(position_);
    if (is_name_letter(c)) {
      const auto begin = position_;
      while (is_name_letter(at(position_)) || is_digit(at(position_))) ++position_;
      return is_keyword(source_.substr(begin, position_ - begin)) ? Kind::kKeyword : Kind::kName;
    }
    if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) {
      number();
      return Kind::kNumber;
    }
    if (c == '"' || c == '\'') return quoted() ? std::optional(Kind::kString) : std::nullopt;
    if (const auto level = bracket_level()) {
      return long_text(*level) ? std::optional(Kind::kString) : std::nullopt;
    }
    if (c == '[' && at(position_ + 1) == '=') return std::nullopt;
    return symbol() ? std::optional(Kind::kSymbol) : std::nullopt;
  }

  // Skips what Lua reads as a number before it checks whether it is one.
  void number() {
    while (is_digit(at(position_)) || at(position_) == '.') ++position_;
    if (at(position_) == 'e' || at(position_) == 'E') {
      ++position_;
      if (at(position_) == '+' || at(position_) == '-') ++position_;
    }
    while (is_digit(at(position_)) || is_name_letter(at(position_))) ++position_;
  }

  bool quoted() {
    const char quote = at(position_++);
    while (!ended()) {
      const char c = at(position_);
      if (c == quote) {
        ++position_;
        return true;
      }
      if (is_line_end(c)) return false;
      ++position_;
      if (c == '\\' && !ended()) skip_character();
    }
    return false;
  }

  bool symbol() {
    for (const auto symbol : kSymbols) {
      if (source_.compare(position_, symbol.size(), symbol) == 0) {
        position_ += symbol.size();
        return true;
      }
    }
    return false;
  }

  // The number of '=' in the opening long bracket at this position; std::nullopt if there is none.
  std::optional<std::size_t> bracket_level() const {
    std::size_t end = position_ + 1;
    while (at(end) == '=') ++end;
    if (at(position_) != '[' || at(end) != '[') return std::nullopt;
    return end - position_ - 1;
  }

  bool long_text(std::size_t level) {
    position_ += level + 2;
    const std::string end = "]" + std::string(level, '=') + "]";
    while (!ended()) {
      if (source_.compare(position_, end.size(), end) == 0) {
        position_ += end.size();
        return true;
      }
      skip_character();
    }
    return false;
  }

  std::string_view source_;
  std::size_t position_ = 0;
};

}  // namespace

bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view shebang_line(std::string_view source) {
  return source.starts_with("#!") ? source.substr(0, source.find('\n')) : std::string_view();
}

std::optional<Tokens> lex(std::string_view source) {
  Lexer lexer(source);
  if (!lexer.run()) return std::nullopt;
  return std::move(lexer.found);
}

bool is_keyword(std::string_view name) noexcept {
  return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
}

std::vector<std::string_view> source_lines(std::string_view source) {
  std::vector<std::string_view> lines;
  while (!source.empty()) {
    const auto shebang = lines.empty() ? shebang_line(source) : std::string_view{};
    const auto end = std::min(source.find_first_of("\r\n", shebang.size()), source.size());
    const bool has_return = shebang.ends_with('\r') && end < source.size();
    lines.push_back(source.substr(0, has_return ? end - 1 : end));
    source.remove_prefix(end);
    if (source.empty()) break;
    const bool is_pair =
        source.size() > 1 && (source[1] == '\r' || source[1] == '\n') && source[1] != source[0];
    source.remove_prefix(is_pair ? 2 : 1);
  }
  return lines;
}

}  // namespace rlctl::lua
