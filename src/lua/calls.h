#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "lua/lexer.h"

// What a script asks the server, found in its tokens: which commands it calls, and whether `redis`
// reaches a place where that cannot be known. substitute.cc replaces calls of TIME by this, and
// script/script.cc asks what a script may do. In doubt, the answer is that it may.

namespace rlctl::lua {

/// The uses of `redis` in a script, and of "local call = redis.call", by the numbers of their
/// tokens.
class Calls {
 public:
  /// The tokens must outlive this.
  explicit Calls(const std::vector<Token>& tokens);

  std::size_t size() const { return tokens_.size(); }
  /// The last token for any number beyond it.
  const Token& at(std::size_t i) const;
  bool is(std::size_t i, std::string_view symbol) const { return at(i).is(symbol); }
  /// Whether the token names a variable, not a field or a method.
  bool is_name(std::size_t i) const;
  /// Whether an expression in front of the token ends there, and is the last of its statement.
  bool ends_statement(std::size_t i) const;

  /// Whether the token leads to the server: `redis`, what may hold it, or an alias of its call(),
  /// except where the alias is declared.
  bool is_redis(std::size_t i) const;
  /// Whether a use of `redis` is one of its fields, by name, or an alias.
  bool is_field(std::size_t i) const;
  /// For a field or an alias: the number of tokens of redis.call, redis.pcall or the alias; 0 for
  /// any other field.
  std::size_t callee_size(std::size_t i) const;
  /// For such a callee: the command that it is called with, as written; empty if the command is not
  /// a plain string.
  std::string_view command(std::size_t i) const;

 private:
  void find_aliases();

  const std::vector<Token>& tokens_;
  std::set<std::string_view> aliases_;
  std::set<std::size_t> declarations_;  ///< where aliases are declared: the name, and `redis`
};

/// A token of a call, to be replaced.
struct Place {
  const Token* token = nullptr;
  bool is_last = false;  ///< it is the `call` of redis.call, or an alias
};

/// The tokens of redis.call in each redis.call('TIME'); std::nullopt if TIME might be called in
/// another way.
std::optional<std::vector<Place>> direct_calls_of_time(const Calls& calls);

/// Whether this holds of a name or of a word in a string, in lower case: of what may name a command
/// or an option of one, which a comment does not. True if the source is not Lua.
using HoldsOfWord = std::function<bool(std::string_view)>;
bool any_word(std::string_view source, const HoldsOfWord& holds);
/// The same of the words of a text: its letters and digits.
bool any_word_in_text(std::string_view text, const HoldsOfWord& holds);

/// Whether a script may call TIME: it does so, or calls commands whose names are not known, or
/// contains that word.
bool may_call_time(std::string_view source);

/// Whether a script may read a TTL: with TTL, EXPIRETIME and the like, or with EXPIRE and LT, which
/// compares. (With GT, a TTL that time has shortened is replaced all the more.) False only if each
/// call names its command; a word such as LT may come from an argument all the same.
bool may_read_ttl(std::string_view source);

}  // namespace rlctl::lua
