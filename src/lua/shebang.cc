#include "lua/shebang.h"

#include <algorithm>
#include <array>

#include "lua/lexer.h"

namespace rlctl::lua {
namespace {

constexpr std::string_view kMark = "#!";
constexpr std::string_view kFlags = "flags=", kName = "name=";
constexpr std::string_view kBlanks = " \t\v\f\r";

/// https://redis.io/docs/latest/develop/programmability/lua-api/#script-flags
constexpr std::array<std::string_view, 5> kKnownFlags{"no-writes", "allow-oom", "allow-stale",
                                                      "no-cluster", "allow-cross-slot-keys"};

bool is_known(std::string_view flag) {
  return std::find(kKnownFlags.begin(), kKnownFlags.end(), flag) != kKnownFlags.end();
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The text of a string in quotes; empty for any other token.
std::string_view literal(const Token& token) {
  if (token.kind != Token::Kind::kString || token.text.front() == '[') return {};
  return token.text.substr(1, token.text.size() - 2);
}

}  // namespace

std::string_view shebang_line(std::string_view source) {
  if (!source.starts_with(kMark)) return {};
  return source.substr(0, source.find('\n'));
}

std::optional<Shebang> read_shebang(std::string_view source) {
  const auto line = shebang_line(source);
  if (line.empty()) return std::nullopt;
  Shebang shebang;
  for (auto word : split_at(line, kBlanks)) {
    if (word.starts_with(kName)) shebang.library = word.substr(kName.size());
    if (word.starts_with(kFlags)) shebang.flags = split_at(word.substr(kFlags.size()), ",");
  }
  return shebang;
}

std::vector<std::string_view> unknown_flags(std::string_view source) {
  auto shebang = read_shebang(source);
  if (!shebang) return {};
  std::erase_if(shebang->flags, is_known);
  return shebang->flags;
}

std::string without_unknown_flags(std::string_view source) {
  const auto line = shebang_line(source);
  std::string kept;
  for (const auto word : split_at(line, kBlanks)) {
    if (!word.starts_with(kFlags)) {
      kept.append(kept.empty() ? "" : " ").append(word);
      continue;
    }
    std::string flags;
    for (const auto flag : split_at(word.substr(kFlags.size()), ",")) {
      if (is_known(flag)) flags.append(flags.empty() ? "" : ",").append(flag);
    }
    if (!flags.empty()) kept.append(" ").append(kFlags).append(flags);
  }
  return kept.append(source.substr(line.size()));
}

std::string without_shebang(std::string_view source) {
  const auto line = shebang_line(source);
  if (line.empty()) return std::string(source);
  std::string comment = "--" + std::string(line.substr(kMark.size()));
  std::replace(comment.begin(), comment.end(), '\r', ' ');  // which would end a comment
  return comment.append(source.substr(line.size()));
}

std::vector<std::string_view> registered_functions(std::string_view source) {
  std::vector<std::string_view> names;
  const auto found = lex(source);
  if (!found) return names;
  const auto& tokens = found->tokens;
  const auto at = [&](std::size_t i) -> const Token& {
    return tokens[std::min(i, tokens.size() - 1)];
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text != "register_function") continue;
    auto next = i + 1;
    if (at(next).is("(")) ++next;
    if (at(next).is("{")) {
      while (next < tokens.size() && !(at(next).text == "function_name" && at(next + 1).is("="))) {
        ++next;
      }
      next += 2;
    }
    if (const auto name = literal(at(next)); !name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace rlctl::lua
