#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limiter/limit.h"
#include "redis/reply.h"
#include "traffic/reply_expression.h"
#include "traffic/template.h"

namespace rlctl::traffic {

/// A condition that has a name. It is about the reply or, if that is an array, its first element. A
/// number may be text. true is 1; false, which Redis sends as nil, is 0.
struct NamedCondition {
  enum class Wait {
    kNone,
    kOfDenial,   ///< the reply of a denial can be its retry_after
    kOfRequest,  ///< the reply can be the delay before the request proceeds
  };
  std::string_view name;           ///< as typed
  std::string_view expression;     ///< a ReplyExpression, whose r is the first element of an array
  std::string_view expected;       ///< the replies that it accepts: the end of a sentence
  Wait wait = Wait::kNone;         ///< with a delay unit
  std::string_view opposite = {};  ///< the condition to try if the replies look inverted
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
  /// The unit of a reply that is a wait: see NamedCondition::wait.
  std::optional<std::chrono::microseconds> delay_unit = {};
  std::optional<ReplyExpression> remaining = {};
  /// Of a denial; negative: waiting does not help.
  std::optional<WaitExpression> retry_after = {};
  std::optional<WaitExpression> reset_after = {};
};

/// Whether it contains a part of the limit, so that there must be one.
bool uses_limit(const ReplyReading& reading);
/// Throws UsageError if it has a delay unit, but its replies cannot be waits, or if retry_after is
/// told twice.
void require_usable(const ReplyReading& reading);
/// Throws UsageError if an expression cannot be evaluated with this limit, too.
void require_usable(const ReplyReading& reading, const limiter::Limit& limit);

/// Reads a decision from a reply, which is not an error, to the request with these values. What is
/// not told is kNotTold or kTimeNotTold. A negative `remaining` or `reset_after` is 0. Throws
/// redis::Error (kRejected), with a message that begins with `script`, for a reply that does not
/// fit the reading.
limiter::Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                             const TemplateValues& values, std::string_view script);

/// A reply in one line of at most 300 bytes, for a message: 7, 'OK', nil, [1, 'x'].
std::string reply_text(redis::ReplyView reply);

}  // namespace rlctl::traffic
