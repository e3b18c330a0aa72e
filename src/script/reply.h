#pragma once

// How the reply of a script that rlctl does not know becomes a decision. The options of such a
// script (allowed, denied_error, delay and so on) are parsed into a ReplyReading, which
// is a part of its ForeignLimiter (script.h); read_reply() applies it to each reply of a burst, and
// of `debug`.

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "limiter/limit.h"
#include "lua/expression.h"
#include "redis/reply.h"
#include "script/template.h"

namespace rlctl::script {

/// An expression in Lua over a script's reply (lua/expression.h), whose variables are the
/// placeholders that are numbers: "r[1] == 1 and r[2] <= limit".
class ReplyExpression {
 public:
  /// Throws UsageError, which names the column of the mistake.
  explicit ReplyExpression(std::string_view text);

  /// It is certainly true or false rather than a number.
  bool is_condition() const { return expression_.is_condition(); }
  /// Whether it contains r: without it, every reply has the same value.
  bool reads_reply() const { return expression_.reads_reply(); }
  /// Whether it contains a part of the limit, so that there must be one.
  bool uses_limit() const;
  /// Whether it contains the time of the request.
  bool uses_time() const;
  /// Its value, which must be true or false. Throws lua::ExpressionError, like number().
  bool holds(redis::ReplyView reply, const TemplateValues& values) const;
  /// Its value, which must be a number, or nil (std::nullopt).
  std::optional<double> number(redis::ReplyView reply, const TemplateValues& values) const;
  /// Throws what Placeholder::require_usable() throws.
  void require_usable(const limiter::Limit& limit, bool has_leases = false,
                      std::chrono::microseconds hold = {}) const;
  /// As written.
  const std::string& source() const noexcept { return expression_.source(); }

 private:
  std::vector<double> numbers(const TemplateValues& values) const;

  lua::Expression expression_;
  std::vector<const Placeholder*> placeholders_;  ///< its variables
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
  std::string_view name;      ///< as typed
  std::string_view expected;  ///< the replies that it accepts: the end of a sentence
  std::string_view opposite;  ///< the condition to try if the replies look inverted; may be empty
  /// Whether the reply allows; none if it is not one of those expected. Null: the reply does not
  /// matter.
  std::optional<bool> (*holds)(redis::ReplyView reply, const limiter::Limit& limit);
  bool uses_limit = false;

  bool is_always() const { return holds == nullptr; }
};

/// All rows, the default first.
std::span<const NamedCondition> named_conditions();

/// Which replies of a script mean that the request is allowed.
struct AllowedWhen {
  const NamedCondition* named = nullptr;           ///< null: an expression
  std::optional<ReplyExpression> expression = {};  ///< if the condition has no name
};

/// A name or an expression: "nonzero", "r[1] > 0". Throws UsageError.
AllowedWhen parse_allowed_when(std::string_view text);

/// Where the values of a script's words stand, by the names of the words.
using WordOrigins = std::map<std::string_view, ValueOrigin>;
/// The word itself if no value is given.
ValueOrigin origin_of(const WordOrigins& origins, std::string_view word);

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
  WordOrigins origins = {};
};

/// Whether it contains a part of the limit, so that there must be one.
bool uses_limit(const ReplyReading& reading);
/// Whether the reply is an error that means denied.
bool is_denial(redis::ReplyView reply, const ReplyReading& reading);
/// Throws UsageError if an expression cannot be evaluated with this limit.
void require_usable(const ReplyReading& reading, const limiter::Limit& limit,
                    bool has_leases = false, std::chrono::microseconds hold = {});

/// A reply that was read, and the values of its request, whose texts may be gone.
struct SeenReply {
  redis::Reply reply;
  TemplateValues values;
};

/// Reads a decision from a reply, which is not an error unless is_denial(), to the request with
/// these values. What is not told is kNotTold or kTimeNotTold. A negative `remaining` or
/// `reset_after` is 0. Throws redis::Error (kRejected), with a message that begins with the origin
/// of the word and names `script`, for a reply that does not fit the reading: also for a wait that
/// is a time since 1970, and for a negative delay. An expression in its hint was tried on this
/// reply and on those `seen` before.
limiter::Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                             const TemplateValues& values, std::string_view script,
                             std::span<const SeenReply> seen = {});

/// The reply or its first element, and the value of that, both as in an expression: "r[1]" and 0,
/// nil or "OK"; the value is empty if it is hard to write.
std::array<std::string, 2> verdict_of(redis::ReplyView reply);

/// A reply in one line of at most 300 bytes, for a message: 7, 'OK', nil, [1, 'x'].
std::string reply_text(redis::ReplyView reply);

}  // namespace rlctl::script
