#pragma once

// How the reply of a script that rlctl does not know becomes a decision. The options of such a
// script (--allowed-when, --denied-error, --delay and so on) are parsed into a ReplyReading, which
// is a part of its ForeignLimiter (script.h); read_reply() applies it to each reply of a burst, and
// of `debug`.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limiter/limit.h"
#include "redis/reply.h"
#include "traffic/template.h"

namespace rlctl::traffic {

/// A reply that an expression cannot read.
struct UnreadableReply {
  std::size_t column;         ///< of the operand in the expression, from 1
  std::string_view expected;  ///< "a number"
};

/// An expression over a script's reply `r`: "r[1] > 0 and r[2] <= limit".
///
///   r, r[1], r[2][1]      the reply, or an element of an array, from 1
///   #r                    the length of an array
///   json(r).ok, json(r[2])["a b"][1]
///                         a value in a text that is JSON
///   5, 0.5, 'text', nil, true, false
///   limit, cost, now_ms   each placeholder that is a number, without its braces
///   - * / +               numbers
///   < <= > >=             numbers
///   == !=                 numbers; texts, if both are; nil equals nil only
///   not, and, or          conditions
///
/// Its tokens are those of Lua, without comments, and with != for ~=. Operators bind as in Lua:
/// unary ones first, then * and /, + and -, comparisons, `and`, `or`. Text that is a number is one
/// where a number is needed. An element that does not exist is nil, and so is arithmetic with nil.
/// As a condition, nil and 0 are false and other numbers are true; comparing with a condition
/// (true, false, or a comparison) compares the two as conditions.
class ReplyExpression {
 public:
  /// Throws UsageError, which names the column of the mistake.
  explicit ReplyExpression(std::string_view text);

  /// Its value is true or false rather than a number or a text.
  bool is_condition() const;
  /// Whether it contains r: without it, every reply has the same value.
  bool reads_reply() const;
  /// Whether it contains a part of the limit, so that there must be one.
  bool uses_limit() const;
  /// Its value as a condition. Throws UnreadableReply, like number(). Neither allocates, except for
  /// JSON.
  bool holds(redis::ReplyView reply, const TemplateValues& values) const;
  /// None for nil. Only if it is not a condition.
  std::optional<long double> number(redis::ReplyView reply, const TemplateValues& values) const;
  /// Throws what Placeholder::require_usable() throws.
  void require_usable(const limiter::Limit& limit, bool has_leases = false,
                      std::chrono::microseconds hold = {}) const;
  /// As written.
  const std::string& source() const noexcept;

 private:
  struct Node;
  struct Tree;
  class Parser;
  class Evaluation;

  std::shared_ptr<const Tree> tree_;
};

/// An expression that is a time, and its unit: "r[3] s".
struct WaitExpression {
  ReplyExpression expression;
  std::chrono::microseconds unit;
};

/// Throws UsageError if the unit (s, ms or us) is missing, or if the expression is a condition.
WaitExpression parse_wait_expression(std::string_view text);
/// A word that an error reply begins with. Throws UsageError.
std::string parse_error_code(std::string_view text);
/// Throws UsageError if it is a condition.
ReplyExpression parse_number_expression(std::string_view text);
/// "s", "ms" or "us". Throws UsageError.
std::chrono::microseconds parse_wait_unit(std::string_view name);

/// A condition that has a name. It is about the reply or, if that is an array, its first element. A
/// number may be text. true is 1; false, which Redis sends as nil, is 0.
struct NamedCondition {
  std::string_view name;           ///< as typed
  std::string_view expression;     ///< a ReplyExpression, whose r is the first element of an array
  std::string_view expected = {};  ///< the replies that it accepts: the end of a sentence
  std::string_view opposite = {};  ///< the condition to try if the replies look inverted
  bool is_always = false;          ///< the reply does not matter
};

/// All rows, the default first.
std::span<const NamedCondition> named_conditions();

/// Which replies of a script mean that the request is allowed.
struct AllowedWhen {
  const NamedCondition* named = nullptr;  ///< null: an expression of the user
  ReplyExpression expression;             ///< a condition, or a number that is not 0
};

/// A name or an expression: "nonzero", "r[1] > 0". Throws UsageError.
AllowedWhen parse_allowed_when(std::string_view text);

/// How the reply of a foreign script becomes a decision.
struct ReplyReading {
  AllowedWhen allowed_when = parse_allowed_when(named_conditions().front().name);
  /// The error replies with this code deny.
  std::optional<std::string> denied_error = {};
  /// Of an allowed request; nil is 0.
  std::optional<WaitExpression> delay = {};
  std::optional<ReplyExpression> remaining = {};
  /// Of a denial; negative: waiting does not help.
  std::optional<WaitExpression> retry_after = {};
  std::optional<WaitExpression> reset_after = {};
};

/// Whether it contains a part of the limit, so that there must be one.
bool uses_limit(const ReplyReading& reading);
/// Whether the reply is an error that means denied.
bool is_denial(redis::ReplyView reply, const ReplyReading& reading);
/// Throws UsageError if an expression cannot be evaluated with this limit.
void require_usable(const ReplyReading& reading, const limiter::Limit& limit,
                    bool has_leases = false, std::chrono::microseconds hold = {});

/// Reads a decision from a reply, which is not an error unless is_denial(), to the request with
/// these values. What is not told is kNotTold or kTimeNotTold. A negative `remaining` or
/// `reset_after` is 0. Throws redis::Error (kRejected), with a message that begins with `script`,
/// for a reply that does not fit the reading: also for a wait that is a time since 1970, and for a
/// negative delay.
limiter::Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                             const TemplateValues& values, std::string_view script);

/// A reply in one line of at most 300 bytes, for a message: 7, 'OK', nil, [1, 'x'].
std::string reply_text(redis::ReplyView reply);

}  // namespace rlctl::traffic
