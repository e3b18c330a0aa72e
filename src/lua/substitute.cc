#include "lua/substitute.h"

#include "base/text.h"
#include "embedded_substitutes.h"
#include "lua/calls.h"
#include "lua/compiled.h"
#include "lua/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace rlctl::lua {

namespace {

/// The chunks for TIME and for absolute expiry, each on one line: called with `redis`, the seconds
/// and the microseconds, they return what takes the place of `redis`.
std::span<const std::string> virtual_clock_chunks() {
  static const std::array kChunks{one_line(embedded::k_virtual_time.text),
                                  one_line(embedded::k_absolute_expiry.text)};
  return kChunks;
}

constexpr std::string_view kFlags = "flags=", kName = "name=";
constexpr std::string_view kBlanks = " \t\v\f\r";

/// https://redis.io/docs/latest/develop/programmability/lua-api/#script-flags
constexpr std::array<std::string_view, 5> kKnownFlags{"no-writes", "allow-oom", "allow-stale",
                                                      "no-cluster", "allow-cross-slot-keys"};

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

bool is_known_flag(std::string_view flag) {
  return std::find(kKnownFlags.begin(), kKnownFlags.end(), flag) != kKnownFlags.end();
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
  std::erase_if(shebang->flags, is_known_flag);
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
      if (is_known_flag(flag)) flags.append(flags.empty() ? "" : ",").append(flag);
    }
    if (!flags.empty()) kept.append(" ").append(kFlags).append(flags);
  }
  return kept.append(source.substr(line.size()));
}

std::string without_shebang(std::string_view source) {
  const auto line = shebang_line(source);
  if (line.empty()) return std::string(source);
  std::string comment = "--" + std::string(line.substr(2));
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

namespace {

/// Text in place of a part of a source.
struct Replacement {
  std::size_t offset = 0, size = 0;
  std::string with;
};

/// The source with replacements, which are in its order.
std::string replaced(std::string_view source, const std::vector<Replacement>& replacements) {
  std::string text;
  std::size_t rest = 0;
  for (const auto& [offset, size, with] : replacements) {
    text.append(source.substr(rest, offset - rest)).append(with);
    rest = offset + size;
  }
  return text.append(source.substr(rest));
}

/// Where the first line of Lua begins: after "#!...".
std::size_t code_begin(std::string_view source, const std::vector<std::size_t>& line_offsets) {
  return source.starts_with("#!") ? line_offsets[1] : 0;
}

/// "__rl", with as many underscores as it takes for it not to begin any name in the source.
std::string unused_name(const Tokens& tokens) {
  std::string name = "__rl";
  const auto is_taken = [&](const Token& token) {
    return token.kind == Token::Kind::kName && token.text.starts_with(name);
  };
  while (std::ranges::any_of(tokens.tokens, is_taken)) name += '_';
  return name;
}

/// Puts a call of a function around each `server`, if the source reads a global of that name. Some
/// may be variables of the source, so the function must return any other value unchanged. Where one
/// is declared and a call cannot stand, the result does not compile, or fails.
std::vector<Replacement> replaced_server(std::string_view source, const Calls& calls,
                                         const std::string& function) {
  std::vector<Replacement> replacements;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& token = calls.at(i);
    if (token.text != "server" || !calls.is_name(i)) continue;
    const bool is_declared =
        calls.is(i - 1, "local") || calls.is(i - 1, "function") || calls.is(i - 1, "for");
    if (is_declared || calls.is(i + 1, "=")) continue;
    replacements.push_back({token.offset, token.text.size(), function + "(server)"});
  }
  if (replacements.empty()) return {};
  const auto globals = read_globals(source);
  return globals && globals->contains("server") ? replacements : std::vector<Replacement>{};
}

/// The text, if it compiles: a function has at most 60 upvalues and 200 locals.
std::optional<std::string> if_compiles(std::string text) {
  if (!read_globals(text)) return std::nullopt;
  return text;
}

/// A call of a function with the chunk's code.
std::string called(std::string_view chunk, std::string_view arguments) {
  return fmt::format("(function(...) {}end)({})", chunk, arguments);
}

/// Lua that takes the last two elements off a list.
std::string last_two_of(std::string_view list) {
  static const auto kLastTwo = one_line(embedded::k_last_two.text);
  return called(kLastTwo, list);
}

/// Declares a local `redis`, made of `real`, and takes its arguments from `argv`.
std::string substituting_code(const Substitutes& substitutes) {
  auto code = "local redis=real local seconds,micros=" + last_two_of("argv") + " ";
  const auto chunks = virtual_clock_chunks();
  if (substitutes.time) code += "redis=" + called(chunks[0], "redis,seconds,micros") + " ";
  if (substitutes.expiry) code += "redis=" + called(chunks[1], "redis,seconds,micros") + " ";
  if (substitutes.other_keys) {
    static const auto kOtherKeys = one_line(embedded::k_other_keys.text);
    code += "local hash=argv[#argv] argv[#argv]=nil redis=" +
            called(kOtherKeys, "redis,keys,hash,seconds,micros") + " ";
  }
  return code;
}

/// A source with its substitutes.
class SubstitutedScript {
 public:
  SubstitutedScript(std::string_view source, const Tokens& tokens, const Substitutes& substitutes)
      : source_(source), tokens_(tokens), substitutes_(substitutes), name_(unused_name(tokens)) {
    const Calls calls(tokens.tokens);
    if (substitutes.time) {
      if (auto places = direct_calls_of_time(calls)) replace_time(*places);
    }
    replaces_redis_ =
        substitutes.other_keys || substitutes.expiry || (substitutes.time && replacements_.empty());
    auto server = replaced_server(source, calls, name_);
    replaces_server_ = replaces_redis_ && !server.empty();
    if (replaces_server_) replacements_ = std::move(server);
  }

  std::string text() const {
    auto replacements = replacements_;
    replacements.insert(replacements.begin(),
                        {code_begin(source_, tokens_.line_offsets), 0, prefix()});
    return replaced(source_, replacements);
  }

 private:
  /// redis.call('TIME') becomes a call of our own, which costs less than a table with another
  /// call().
  void replace_time(const std::vector<Place>& places) {
    for (const auto& [token, is_last] : places) {
      replacements_.push_back({token->offset, token->text.size(), is_last ? name_ : ""});
    }
  }

  /// Local variables in front of the source: `redis`, and one of our own. The semicolon keeps a
  /// source that begins with a parenthesis from being a part of the statement.
  std::string prefix() const {
    if (!replaces_redis_) {
      return fmt::format(
          "local {} do local seconds,micros={} {}=function() return {{seconds,micros}} end end; ",
          name_, last_two_of("ARGV"), name_);
    }
    const bool is_called = !replacements_.empty() && !replaces_server_;
    auto substitutes = substitutes_;
    if (is_called) substitutes.time = false;
    auto code =
        "local real,keys,argv=redis,KEYS,ARGV " + substituting_code(substitutes) + "return redis";
    if (replaces_server_) {
      code += ",function(server) return rawequal(server,real) and redis or server end";
    } else if (is_called) {
      code += ",function() return {seconds,micros} end";
    }
    return fmt::format("local redis{}{}=(function() {} end)(); ", replacements_.empty() ? "" : ",",
                       replacements_.empty() ? "" : name_, code);
  }

  std::string_view source_;
  const Tokens& tokens_;
  Substitutes substitutes_;
  std::string name_;  ///< the name of our own variable: a function for TIME or for `server`
  std::vector<Replacement> replacements_;  ///< in the order of the source
  bool replaces_redis_ = false;            ///< by a table with another call() and pcall()
  bool replaces_server_ = false;
};

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    part = part.substr(0, part.find("--"));
    if (!part.empty()) line.append(part).append(" ");
  }
  return line;
}

Substitutes needed_substitutes(std::string_view source, std::span<const std::string_view> words) {
  const auto mentions = [&](std::string_view word) {
    return contains_in_any_case(source, word) ||
           std::any_of(words.begin(), words.end(),
                       [word](std::string_view text) { return contains_in_any_case(text, word); });
  };
  const auto tokens = lex(source);
  const auto direct = tokens ? direct_calls_of_time(Calls(tokens->tokens)) : std::vector<Place>{};
  // Without `direct`, a command may have any name, also one that is put together.
  return {.time = !direct || !direct->empty(),
          .expiry = !direct || mentions("expireat") || mentions("exat") || mentions("pxat") ||
                    mentions("expiretime")};
}

std::optional<std::string> with_substitutes(std::string_view source,
                                            const Substitutes& substitutes) {
  if (!substitutes.any()) return std::string(source);
  const auto tokens = lex(source);
  if (!tokens) return std::nullopt;
  return if_compiles(SubstitutedScript(source, *tokens, substitutes).text());
}

std::optional<std::string> library_with_substitutes(std::string_view source,
                                                    const Substitutes& substitutes) {
  if (!substitutes.any()) return std::string(source);
  const auto tokens = lex(source);
  if (!tokens) return std::nullopt;
  // While the library is loaded, `redis` has no call(): each call of a function looks it up.
  static const auto kLibrary = one_line(embedded::k_library.text);
  const auto code = "local real,keys,argv=... " + substituting_code(substitutes) + "return redis";
  const auto name = unused_name(*tokens);
  auto replacements = replaced_server(source, Calls(tokens->tokens), name);
  replacements.insert(
      replacements.begin(),
      {code_begin(source, tokens->line_offsets), 0,
       fmt::format("local redis,{}={}; ", name,
                   called(kLibrary,
                          fmt::format("function() return redis end,function(...) {} end", code)))});
  return if_compiles(replaced(source, replacements));
}

std::string library_as_script(std::string_view source, std::string_view function) {
  static const auto kRegister = one_line(embedded::k_register.text);
  const auto tokens = lex(source);
  if (!tokens) return without_shebang(source);  // the server tells where it is not Lua
  std::vector<Replacement> replacements{
      {code_begin(source, tokens->line_offsets), 0,
       fmt::format("local {}=loadstring(\"{}\",\"@rl_shim\")(); ", kLibraryLocal, kRegister)}};
  const Calls calls(tokens->tokens);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls.is_redis(i) || !calls.is_field(i)) continue;
    if (calls.at(i + 2).text != "register_function") continue;
    replacements.push_back(
        {calls.at(i).offset, calls.at(i).text.size(), std::string(kLibraryLocal)});
  }
  return without_shebang(replaced(source, replacements)) + (source.ends_with('\n') ? "" : "\n") +
         fmt::format("return ({0}.functions['{1}'] or error('Function not found: {1}'))(KEYS,ARGV)",
                     kLibraryLocal, function);
}

}  // namespace rlctl::lua
