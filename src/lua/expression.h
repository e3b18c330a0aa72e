#pragma once

// Expressions in Lua over the reply of a script: "r[1] == 1", "r[3] or 0".
//
//   - r is the reply: a number; a string, of a bulk or a status reply; nil; or an array, whose
//     elements are r[1], r[2] and so on. An error in an array is a table with a string `err`. #r is
//     the position of the last element that is not nil.
//   - json(r) is the value that a string of JSON has. null is nil, and json(nil) is nil.
//   - The caller's variables, such as limit and now_ms, are numbers.
//   - tonumber, math, string and so on are the globals of a Sandbox.
//
// The language is Lua 5.1, without functions, tables and comments. Some mistakes that Lua accepts
// are errors, since a limiter that denies everything looks perfect:
//
//   - Comparing values of two types: '1' == 1 is false in Lua. Only nil may be compared, by == and
//     ~=, with any value.
//   - `not` of a number or a string, one of them before `and` and a comparison, and a condition
//     that is one: 0 and '' are true in Lua.
//   - Ordering two strings that are numbers: '10' < '9' is true in Lua.
//   - Comparing a number that is not finite.
//   - r[1] of a string, r.name of an array, and r[0]: nil in Lua.
//
// A number is a double: integers beyond 2^53 are rounded. An evaluation runs for a million
// instructions at most; the parent of a worker (base/worker.h) bounds its time.
//
// How it works: Rewriter checks the tokens and writes them as the source of a Lua function, in
// which a comparison `a == b` is the call _compare(n, a, b), and `not a` is _not(a). Lua says of an
// error only its line, so each operand and each operator begins a line, whose column is remembered.
// An error in arithmetic has the column of its last operator.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reply.h"

namespace rlctl::lua {

/// An expression has no value for a reply.
struct ExpressionError {
  std::size_t column;   ///< in the expression, from 1
  std::string message;  ///< a clause: "it compares '1' (a string) with 1 (a number)"
  std::string hint = {};
};

class Expression {
 public:
  /// Why a name is not a variable.
  struct NotVariable {
    std::string message;      ///< "'key' is text, not a number,"
    std::string advice = {};  ///< the end of the message: "; did you mean 'limit'?"
    std::string hint = {};
  };
  using FindVariable = std::optional<NotVariable> (*)(std::string_view name);

  /// Names other than r, json and the globals of Lua must be variables. Throws UsageError, which
  /// names the column of the mistake.
  Expression(std::string_view source, FindVariable find);

  /// As written.
  const std::string& source() const noexcept;
  /// The variables that it contains.
  const std::vector<std::string>& variables() const noexcept;
  /// Whether it contains r: without it, every reply has the same value.
  bool reads_reply() const noexcept;
  /// It is a comparison or begins with `not`, so that it is certainly not a number.
  bool is_condition() const noexcept;

  /// Its value, which must be true or false. `values` are those of variables(). Throws
  /// ExpressionError. Like number(), not for two threads at once, even of two copies.
  bool holds(redis::ReplyView reply, std::span<const double> values) const;
  /// Its value, which must be a finite number or nil (std::nullopt). Throws ExpressionError.
  std::optional<double> number(redis::ReplyView reply, std::span<const double> values) const;

 private:
  struct Program;
  class Rewriter;
  template <typename Read>
  void evaluate(redis::ReplyView reply, std::span<const double> values, Read read) const;

  std::shared_ptr<Program> program_;
};

}  // namespace rlctl::lua
