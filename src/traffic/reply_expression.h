#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
///   5, 0.5, 'text', nil, true, false
///   limit, cost, now_ms   each placeholder that is a number, without its braces
///   - * / +               numbers
///   < <= > >=             numbers
///   == !=                 numbers; texts, if both are; nil equals nil only
///   not, and, or          conditions
///
/// Operators bind as in Lua: unary ones first, then * and /, + and -, comparisons, `and`, `or`. A
/// text that is a number is one where a number is needed. An element that does not exist is nil,
/// and so is arithmetic with nil. As a condition, nil and 0 are false and other numbers are true;
/// comparing with a condition (true, false, or a comparison) compares the two as conditions.
class ReplyExpression {
 public:
  /// In the types of RESP2. (A long double holds every std::int64_t.)
  using Value = std::variant<std::monostate, long double, std::string_view, redis::ReplyView>;

  /// Throws UsageError, which names the column of the mistake.
  explicit ReplyExpression(std::string_view text) : ReplyExpression(text, text.size()) {}
  /// The expression is the first `length` bytes of the text, which messages quote as a whole.
  ReplyExpression(std::string_view text, std::size_t length);

  /// Its value is true or false rather than a number or a text.
  bool is_condition() const;
  /// Whether it contains r: without it, every reply has the same value.
  bool reads_reply() const;
  /// Whether it contains a part of the limit, so that there must be one.
  bool uses_limit() const;
  /// Its value as a condition. Throws UnreadableReply, like number(). Neither allocates.
  bool holds(redis::ReplyView reply, const TemplateValues& values) const;
  /// None for nil. Only if it is not a condition.
  std::optional<long double> number(redis::ReplyView reply, const TemplateValues& values) const;
  /// Throws what Placeholder::require_usable() throws.
  void require_usable(const limiter::Limit& limit) const;
  /// As written.
  const std::string& source() const noexcept { return source_; }

 private:
  enum class Operation {
    kReply,
    kElement,
    kLength,
    kConstant,
    kPlaceholder,
    kNegate,
    kMultiply,
    kDivide,
    kAdd,
    kSubtract,
    kLess,
    kAtMost,
    kGreater,
    kAtLeast,
    kEqual,
    kUnequal,
    kNot,
    kAnd,
    kOr,
    kTrue,
    kFalse,
  };
  struct Node {
    Operation operation;
    std::size_t column;               ///< of its beginning, from 1
    std::size_t left = 0, right = 0;  ///< its operands in nodes_
    std::size_t index = 0;            ///< of an element, from 0
    std::variant<std::monostate, long double, std::string> constant = {};  ///< monostate: nil
    const Placeholder* placeholder = nullptr;
  };
  struct BinaryOperator {
    std::string_view sign;
    int precedence;
    Operation operation;
  };
  struct Question {
    redis::ReplyView reply;
    const TemplateValues& values;
  };
  class Parser;

  static bool is_condition(Operation operation);
  bool holds(std::size_t at, const Question& asked) const;
  bool are_equal(const Node& node, const Question& asked) const;
  bool are_ordered(const Node& node, const Question& asked) const;
  Value value(std::size_t at, const Question& asked) const;
  Value element(const Node& node, const Question& asked) const;
  Value arithmetic(const Node& node, const Question& asked) const;
  /// The number that a value is; none for nil.
  std::optional<long double> number(std::size_t at, const Question& asked) const;
  /// A number for which nil will not do.
  long double some_number(std::size_t at, const Question& asked) const;

  std::string source_;
  std::vector<Node> nodes_;  ///< operands before operators; the last is the whole
};

/// An expression that is a time, and its unit: "r[3] s".
struct WaitExpression {
  ReplyExpression expression;
  std::chrono::microseconds unit;
};

/// Throws UsageError if the unit (s, ms or us) is missing, or if the expression is a condition.
WaitExpression parse_wait_expression(std::string_view text);
/// Throws UsageError if it is a condition.
ReplyExpression parse_number_expression(std::string_view text);
/// "s", "ms" or "us". Throws UsageError.
std::chrono::microseconds parse_delay_unit(std::string_view name);

}  // namespace rlctl::traffic
