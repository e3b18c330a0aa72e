#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace rlctl::ldb {

/// A token of Lua 5.1.
struct LuaToken {
  enum class Kind {
    kName,
    kKeyword,
    kNumber,
    kString,  ///< in quotes or long brackets, which are part of its text
    kSymbol,  ///< "=", "...", "["
    kEnd,     ///< of the source
  };

  Kind kind = Kind::kEnd;
  std::string_view text = {};  ///< as it stands in the source
  std::size_t offset = 0;      ///< of its first byte
  int line = 1;                ///< of its first byte
  int last_line = 1;           ///< of its last; another one for some strings

  [[nodiscard]] bool is(std::string_view symbol_or_keyword) const noexcept {
    return (kind == Kind::kSymbol || kind == Kind::kKeyword) && text == symbol_or_keyword;
  }
};

/// A source, taken apart.
struct LuaTokens {
  std::vector<LuaToken> tokens = {};           ///< the last one is kEnd
  std::vector<std::size_t> line_offsets = {};  ///< [n]: where line n + 1 begins
};

/// Lines are counted as Lua does: LF, CR, CR LF and LF CR end one each, also in strings and
/// comments. A first line "#!..." is skipped, as the server does, but counted. None where
/// there is something that is not a token. The texts point into `source`.
[[nodiscard]] std::optional<LuaTokens> lex_lua(std::string_view source);

[[nodiscard]] bool is_lua_keyword(std::string_view name) noexcept;

/// What a name in Lua begins with: a letter or an underscore.
[[nodiscard]] bool is_name_letter(char c);

/// The lines of a Lua source without their ends, [0] the first, as Lua counts them: "\n", "\r",
/// "\r\n" and "\n\r" each end one. Views of `source`. Nothing follows the last line end.
[[nodiscard]] std::vector<std::string_view> source_lines(std::string_view source);

}  // namespace rlctl::ldb
