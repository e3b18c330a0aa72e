#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

// The tokens and lines of a Lua 5.1 source, as the server's own Lua would read them. Everything
// that reads Lua without running it begins here: calls.cc and substitute.cc, the
// debugger, which also reads what its user types (ldb/evaluation.cc), script/script.cc, and
// expression.cc. It accepts any bytes, and never throws.

namespace rlctl::lua {

/// A token of Lua 5.1.
struct Token {
  enum class Kind {
    kName,
    kKeyword,
    kNumber,
    kString,  ///< text includes its quotes or long brackets
    kSymbol,  ///< "=", "...", "["
    kEnd,     ///< end of the source
  };

  Kind kind = Kind::kEnd;
  std::string_view text = {};  ///< as written in the source
  std::size_t offset = 0;      ///< where its first byte is
  int line = 1;                ///< the line of its first byte
  int last_line = 1;           ///< the line of its last byte, which differs for some strings

  bool is(std::string_view symbol_or_keyword) const noexcept {
    return (kind == Kind::kSymbol || kind == Kind::kKeyword) && text == symbol_or_keyword;
  }
};

/// A comment of one line: "-- text".
struct Comment {
  std::string_view text = {};  ///< without the two dashes
  int line = 1;
  std::size_t next = 0;  ///< the token that follows, by its index
};

/// A source as tokens.
struct Tokens {
  std::vector<Token> tokens = {};              ///< the last one is kEnd
  std::vector<Comment> comments = {};          ///< without those in long brackets
  std::vector<std::size_t> line_offsets = {};  ///< [n]: where line n + 1 begins
};

/// Splits a source into tokens. Lines are counted as Lua does: LF, CR, CR LF and LF CR each end
/// one, also in strings and comments. A first line "#!..." is skipped, as in the server, but
/// counted. Returns std::nullopt if some text is not a token. The token texts point into `source`.
std::optional<Tokens> lex(std::string_view source);

bool is_keyword(std::string_view name) noexcept;

/// Whether this is LF or CR.
bool is_line_end(char c);
/// Whether a Lua name can begin with this: a letter or an underscore.
bool is_name_letter(char c);

/// A first line "#!...", up to the first "\n": as in the server, a "\r" does not end it. Empty if
/// the source does not begin with "#!".
std::string_view shebang_line(std::string_view source);

/// The lines of a Lua source without their line ends, the first at [0], as Lua counts them: "\n",
/// "\r", "\r\n" and "\n\r" each end one. A first line "#!..." ends at a "\n" or "\n\r", and is
/// returned without a "\r" in front of that. They are views of `source`. A final line end adds no
/// empty line.
std::vector<std::string_view> source_lines(std::string_view source);

}  // namespace rlctl::lua
