#include "traffic/reply_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::traffic {
namespace {

using redis::ReplyType;

/// Bounds the depth of the parser's recursion.
constexpr std::size_t kLongestExpression = 500;  // bytes

constexpr std::string_view kNumberExpected = "a number", kArrayExpected = "an array",
                           kDivisorExpected = "a divisor other than 0",
                           kFiniteExpected = "a finite result";

struct OtherSign {
  std::string_view sign, instead;
};
/// What other languages write.
constexpr OtherSign kOtherSigns[] = {{"~=", "!="},
                                     {"<>", "!="},
                                     {"=", "=="},
                                     {"&&", "and"},
                                     {"||", "or"},
                                     {"!", "not"},
                                     {"?", "a condition with and, or"},
                                     {".", "r[1] for an element, 0.5 for a half"},
                                     {"{", "the name without braces"}};
/// Longer ones first: "<" is a prefix of "<=".
constexpr std::string_view kLongSigns[] = {"==", "!=", "<=", ">=", "~=", "<>", "&&", "||"};

bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word_part(char c) {
  return is_word_start(c) || is_digit(c);
}

struct ParsedNumber {
  long double value;
  std::size_t length;
};

/// The number at the beginning of a text. Whole numbers are exact.
std::optional<ParsedNumber> leading_number(std::string_view text) {
  const auto* begin = text.data();
  const auto* end = begin + text.size();
  std::int64_t whole = 0;
  double number = 0;
  const auto [whole_end, whole_error] = std::from_chars(begin, end, whole);
  const auto [number_end, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  const auto length = static_cast<std::size_t>(number_end - begin);
  const bool is_whole = whole_error == std::errc{} && whole_end == number_end;
  return ParsedNumber{is_whole ? static_cast<long double>(whole) : number, length};
}

std::optional<long double> text_as_number(std::string_view text) {
  const auto number = leading_number(text);
  if (!number || number->length != text.size()) return std::nullopt;
  return number->value;
}

ReplyExpression::Value value_of_reply(redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kNil:
      return {};
    case ReplyType::kInteger:
      return static_cast<long double>(reply.integer());
    case ReplyType::kArray:
      return reply;
    default:
      return reply.text();
  }
}

enum class TokenKind { kEnd, kNumber, kText, kWord, kSign };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text = {};  ///< of a kText without its quotes
  std::size_t column = 1;
  long double number = 0;
};

}  // namespace

// --- Parsing -------------------------------------------------------------------------------------

/// A parser by precedence, which appends each operator after its operands.
class ReplyExpression::Parser {
 public:
  Parser(std::string_view text, std::size_t length, std::vector<Node>& nodes)
      : text_(text), source_(text.substr(0, length)), nodes_(nodes) {
    if (source_.size() > kLongestExpression) {
      throw UsageError(fmt::format("an expression has {} characters, the limit is {}",
                                   source_.size(), kLongestExpression));
    }
  }

  void parse() {
    advance();
    binary(0);
    if (token_.kind != TokenKind::kEnd) throw_expected("an operator");
  }

 private:
  static std::span<const BinaryOperator> binary_operators() {
    static constexpr std::array kAll = std::to_array<BinaryOperator>({
        {"or", 1, Operation::kOr},
        {"and", 2, Operation::kAnd},
        {"==", 3, Operation::kEqual},
        {"!=", 3, Operation::kUnequal},
        {"<", 3, Operation::kLess},
        {"<=", 3, Operation::kAtMost},
        {">", 3, Operation::kGreater},
        {">=", 3, Operation::kAtLeast},
        {"+", 4, Operation::kAdd},
        {"-", 4, Operation::kSubtract},
        {"*", 5, Operation::kMultiply},
        {"/", 5, Operation::kDivide},
    });
    return kAll;
  }
  static constexpr int kComparison = 3;

  [[noreturn]] void throw_at(const std::string& what, std::size_t column,
                             const std::string& hint = {}, std::string_view proposal = {}) const {
    throw UsageError(fmt::format("'{}': {} at column {}{}", escape(text_), what, column, proposal),
                     hint);
  }
  [[noreturn]] void throw_expected(std::string_view what) const {
    for (const auto& [sign, instead] : kOtherSigns) {
      if (token_.kind != TokenKind::kSign || token_.text != sign) continue;
      throw_at(fmt::format("'{}' is not an operator", sign), token_.column, {},
               fmt::format("; write {}", instead));
    }
    throw_at(fmt::format("expected {}", what), token_.column);
  }

  void take(TokenKind kind, std::size_t length) {
    token_.kind = kind;
    token_.text = source_.substr(at_, length);
    at_ += length;
  }
  void advance() {
    at_ = std::min(source_.find_first_not_of(" \t", at_), source_.size());
    token_ = {.column = at_ + 1};
    const auto rest = source_.substr(at_);
    if (rest.empty()) return;
    if (rest.front() == '\'' || rest.front() == '"') return take_text(rest);
    if (is_word_start(rest.front())) {
      const auto end = std::find_if_not(rest.begin(), rest.end(), is_word_part);
      return take(TokenKind::kWord, static_cast<std::size_t>(end - rest.begin()));
    }
    if (is_digit(rest.front())) {
      const auto number = leading_number(rest);
      if (!number) throw_expected("a smaller number");
      token_.number = number->value;
      return take(TokenKind::kNumber, number->length);
    }
    const auto* found = std::find_if(std::begin(kLongSigns), std::end(kLongSigns),
                                     [rest](auto sign) { return rest.starts_with(sign); });
    take(TokenKind::kSign, found != std::end(kLongSigns) ? found->size() : 1);
  }
  void take_text(std::string_view rest) {
    const auto end = rest.find(rest.front(), 1);
    if (end == rest.npos) throw_at("unterminated text", token_.column);
    token_.kind = TokenKind::kText;
    token_.text = rest.substr(1, end - 1);
    at_ += end + 1;
  }
  bool is_sign(std::string_view sign) const {
    return token_.kind == TokenKind::kSign && token_.text == sign;
  }
  bool is_word(std::string_view word) const {
    return token_.kind == TokenKind::kWord && token_.text == word;
  }
  void expect(std::string_view sign) {
    if (!is_sign(sign)) throw_expected(fmt::format("'{}'", sign));
    advance();
  }

  std::size_t add(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }
  void require_number(std::size_t operand) const {
    if (!ReplyExpression::is_condition(nodes_[operand].operation)) return;
    throw_at("expected a number, not a condition,", nodes_[operand].column);
  }

  const BinaryOperator* binary_operator() const {
    if (token_.kind != TokenKind::kSign && token_.kind != TokenKind::kWord) return nullptr;
    for (const auto& row : binary_operators()) {
      if (row.sign == token_.text) return &row;
    }
    return nullptr;
  }

  /// `column`: of the 'not' before the comparison, which ends before the current token.
  [[noreturn]] void throw_ambiguous(std::size_t column) const {
    constexpr std::string_view kNot = "not";
    auto rest = source_.substr(0, token_.column - 1).substr(column - 1 + kNot.size());
    rest = rest.substr(rest.find_first_not_of(" \t"));
    rest = rest.substr(0, rest.find_last_not_of(" \t") + 1);
    throw UsageError(fmt::format("'{}': the comparison after 'not' at column {} needs parentheses",
                                 escape(text_), column),
                     fmt::format("write not ({})", escape(rest)));
  }

  std::size_t binary(int least) {
    const bool begins_with_not = is_word("not");
    const auto begin = token_.column;
    auto left = unary();
    for (const auto* row = binary_operator(); row != nullptr && row->precedence >= least;
         row = binary_operator()) {
      advance();
      const auto right = binary(row->precedence + 1);
      // Lua reads "not a == b" as "(not a) == b", Python as "not (a == b)".
      if (begins_with_not && row->precedence == kComparison) throw_ambiguous(begin);
      const bool takes_conditions = row->precedence < kComparison ||
                                    row->operation == Operation::kEqual ||
                                    row->operation == Operation::kUnequal;
      if (!takes_conditions) {
        require_number(left);
        require_number(right);
      }
      left = add({.operation = row->operation,
                  .column = nodes_[left].column,
                  .left = left,
                  .right = right});
    }
    return left;
  }

  std::size_t unary() {
    const auto column = token_.column;
    if (is_word("not")) {
      advance();
      return add({.operation = Operation::kNot, .column = column, .left = unary()});
    }
    if (is_sign("-")) {
      advance();
      const auto operand = unary();
      require_number(operand);
      return add({.operation = Operation::kNegate, .column = column, .left = operand});
    }
    if (is_sign("#")) {
      advance();
      return add({.operation = Operation::kLength, .column = column, .left = reply()});
    }
    return primary();
  }

  std::size_t primary() {
    const auto column = token_.column;
    if (is_word("r")) return reply();
    if (is_sign("(")) {
      advance();
      const auto inner = binary(0);
      expect(")");
      return inner;
    }
    switch (token_.kind) {
      case TokenKind::kNumber:
        return constant(
            {.operation = Operation::kConstant, .column = column, .constant = token_.number});
      case TokenKind::kText:
        return constant({.operation = Operation::kConstant,
                         .column = column,
                         .constant = std::string(token_.text)});
      case TokenKind::kWord:
        return word();
      default:
        throw_expected("a value");
    }
  }
  std::size_t constant(Node node) {
    advance();
    return add(std::move(node));
  }

  std::size_t reply() {
    if (!is_word("r")) throw_expected("'r'");
    const auto column = token_.column;
    advance();
    auto left = add({.operation = Operation::kReply, .column = column});
    while (is_sign("[")) {
      advance();
      const auto index = token_.number;
      if (token_.kind != TokenKind::kNumber || index < 1 || index != std::floor(index) ||
          index > kMaxElements) {
        throw_expected("the number of an element, from 1,");
      }
      advance();
      expect("]");
      left = add({.operation = Operation::kElement,
                  .column = column,
                  .left = left,
                  .index = static_cast<std::size_t>(index) - 1});
    }
    return left;
  }

  std::size_t word() {
    const auto column = token_.column;
    if (is_word("nil")) return constant({.operation = Operation::kConstant, .column = column});
    if (is_word("true")) return constant({.operation = Operation::kTrue, .column = column});
    if (is_word("false")) return constant({.operation = Operation::kFalse, .column = column});
    if (binary_operator() != nullptr) throw_expected("a value");
    const auto* found = find_placeholder(token_.text);
    if (found == nullptr) throw_unknown();
    if (std::holds_alternative<Placeholder::Text>(found->value)) {
      throw_at(fmt::format("'{}' is text, not a number,", found->name), column);
    }
    return constant({.operation = Operation::kPlaceholder, .column = column, .placeholder = found});
  }
  [[noreturn]] void throw_unknown() const {
    const auto likely = likely_placeholder(token_.text);
    throw_at(fmt::format("unknown name '{}'", token_.text), token_.column,
             "r is the reply; a number is " + placeholder_names(true),
             likely.empty() ? "" : fmt::format("; did you mean '{}'?", likely));
  }

  static constexpr long double kMaxElements = 1e6;

  std::string_view text_;    ///< for messages
  std::string_view source_;  ///< the expression, with which the text begins
  std::vector<Node>& nodes_;
  std::size_t at_ = 0;  ///< after token_
  Token token_;
};

ReplyExpression::ReplyExpression(std::string_view text, std::size_t length) : source_(text) {
  Parser(source_, length, nodes_).parse();
}

bool ReplyExpression::reads_reply() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return node.operation == Operation::kReply; });
}

bool ReplyExpression::uses_limit() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.placeholder != nullptr && node.placeholder->uses_limit;
  });
}

bool ReplyExpression::is_condition() const {
  return is_condition(nodes_.back().operation);
}

bool ReplyExpression::is_condition(Operation operation) {
  return operation >= Operation::kLess;
}

void ReplyExpression::require_usable(const limiter::Limit& limit) const {
  for (const auto& node : nodes_) {
    if (node.placeholder != nullptr) node.placeholder->require_usable(limit);
  }
}

// --- Evaluation ----------------------------------------------------------------------------------

bool ReplyExpression::holds(redis::ReplyView reply, const TemplateValues& values) const {
  return holds(nodes_.size() - 1, {reply, values});
}

std::optional<long double> ReplyExpression::number(redis::ReplyView reply,
                                                   const TemplateValues& values) const {
  return number(nodes_.size() - 1, {reply, values});
}

bool ReplyExpression::holds(std::size_t at, const Question& asked) const {
  const Node& node = nodes_[at];
  switch (node.operation) {
    case Operation::kTrue:
      return true;
    case Operation::kFalse:
      return false;
    case Operation::kNot:
      return !holds(node.left, asked);
    case Operation::kAnd:
      return holds(node.left, asked) && holds(node.right, asked);
    case Operation::kOr:
      return holds(node.left, asked) || holds(node.right, asked);
    case Operation::kEqual:
      return are_equal(node, asked);
    case Operation::kUnequal:
      return !are_equal(node, asked);
    default:
      return is_condition(node.operation) ? are_ordered(node, asked)
                                          : number(at, asked).value_or(0) != 0;
  }
}

bool ReplyExpression::are_ordered(const Node& node, const Question& asked) const {
  const auto left = some_number(node.left, asked), right = some_number(node.right, asked);
  switch (node.operation) {
    case Operation::kLess:
      return left < right;
    case Operation::kAtMost:
      return left <= right;
    case Operation::kGreater:
      return left > right;
    default:
      return left >= right;
  }
}

bool ReplyExpression::are_equal(const Node& node, const Question& asked) const {
  if (is_condition(nodes_[node.left].operation) || is_condition(nodes_[node.right].operation)) {
    return holds(node.left, asked) == holds(node.right, asked);
  }
  const auto left = value(node.left, asked), right = value(node.right, asked);
  const auto is_nil = [](const Value& value) { return value.index() == 0; };
  if (is_nil(left) || is_nil(right)) return is_nil(left) && is_nil(right);
  const auto* one = std::get_if<std::string_view>(&left);
  const auto* other = std::get_if<std::string_view>(&right);
  if (one != nullptr && other != nullptr) return *one == *other;
  // For a number, "r == 'OK'" is false rather than an error.
  const auto is_other_text = [this](std::size_t at) {
    const auto* text = std::get_if<std::string>(&nodes_[at].constant);
    return text != nullptr && !text_as_number(*text);
  };
  if (is_other_text(node.left) && std::holds_alternative<long double>(right)) return false;
  if (is_other_text(node.right) && std::holds_alternative<long double>(left)) return false;
  const auto first = number(node.left, asked), second = number(node.right, asked);
  return first == second;
}

ReplyExpression::Value ReplyExpression::value(std::size_t at, const Question& asked) const {
  const Node& node = nodes_[at];
  switch (node.operation) {
    case Operation::kReply:
      return value_of_reply(asked.reply);
    case Operation::kElement:
      return element(node, asked);
    case Operation::kLength: {
      const auto array = value(node.left, asked);
      const auto* elements = std::get_if<redis::ReplyView>(&array);
      if (elements == nullptr) throw UnreadableReply{nodes_[node.left].column, kArrayExpected};
      return static_cast<long double>(elements->size());
    }
    case Operation::kConstant:
      if (const auto* text = std::get_if<std::string>(&node.constant)) return *text;
      if (const auto* number = std::get_if<long double>(&node.constant)) return *number;
      return {};
    case Operation::kPlaceholder:
      return node.placeholder->number(asked.values);
    default:
      return arithmetic(node, asked);
  }
}

ReplyExpression::Value ReplyExpression::element(const Node& node, const Question& asked) const {
  const auto array = value(node.left, asked);
  if (array.index() == 0) return {};
  const auto* elements = std::get_if<redis::ReplyView>(&array);
  if (elements == nullptr) throw UnreadableReply{node.column, kArrayExpected};
  if (node.index >= elements->size()) return {};
  return value_of_reply((*elements)[node.index]);
}

ReplyExpression::Value ReplyExpression::arithmetic(const Node& node, const Question& asked) const {
  const auto left = number(node.left, asked);
  if (node.operation == Operation::kNegate) return left ? Value(-*left) : Value();
  const auto right = number(node.right, asked);
  if (!left || !right) return {};
  const bool divides = node.operation == Operation::kDivide;
  if (divides && *right == 0) throw UnreadableReply{nodes_[node.right].column, kDivisorExpected};
  const auto result = node.operation == Operation::kAdd        ? *left + *right
                      : node.operation == Operation::kSubtract ? *left - *right
                      : divides                                ? *left / *right
                                                               : *left * *right;
  if (!std::isfinite(result)) throw UnreadableReply{node.column, kFiniteExpected};
  return result;
}

std::optional<long double> ReplyExpression::number(std::size_t at, const Question& asked) const {
  const auto known = value(at, asked);
  if (known.index() == 0) return std::nullopt;
  if (const auto* number = std::get_if<long double>(&known)) return *number;
  if (const auto* text = std::get_if<std::string_view>(&known)) {
    if (const auto number = text_as_number(*text)) return *number;
  }
  throw UnreadableReply{nodes_[at].column, kNumberExpected};
}

long double ReplyExpression::some_number(std::size_t at, const Question& asked) const {
  if (const auto known = number(at, asked)) return *known;
  throw UnreadableReply{nodes_[at].column, kNumberExpected};
}

// --- Numbers and times ---------------------------------------------------------------------------

namespace {

void require_number(const ReplyExpression& expression) {
  if (!expression.is_condition()) return;
  throw UsageError(fmt::format("'{}' is a condition, not a number", escape(expression.source())));
}

}  // namespace

ReplyExpression parse_number_expression(std::string_view text) {
  ReplyExpression expression(text);
  require_number(expression);
  return expression;
}

std::chrono::microseconds parse_delay_unit(std::string_view name) {
  if (name == "s") return std::chrono::seconds(1);
  if (name == "ms") return std::chrono::milliseconds(1);
  if (name == "us") return std::chrono::microseconds(1);
  throw UsageError(fmt::format("the unit of a wait is s, ms or us, not '{}'", escape(name)));
}

WaitExpression parse_wait_expression(std::string_view text) {
  const auto end = text.find_last_not_of(" \t") + 1;
  auto begin = end;
  while (begin > 0 && is_word_part(text[begin - 1])) --begin;
  // The unit may follow a number without a blank.
  if (begin < end && is_digit(text[begin])) {
    for (begin = end; is_word_start(text[begin - 1]);) --begin;
  }
  const auto last = text.substr(begin, end - begin);
  const bool has_unit = !last.empty() && last != "r" && find_placeholder(last) == nullptr;
  if (has_unit && text.find_first_not_of(" \t") == begin) {
    throw UsageError(fmt::format("'{}': there is no expression before the unit", escape(text)));
  }
  ReplyExpression expression(text, has_unit ? begin : text.size());
  require_number(expression);
  if (has_unit) return {.expression = std::move(expression), .unit = parse_delay_unit(last)};
  throw UsageError(
      fmt::format("'{0}' has no unit; write '{0} s', '{0} ms' or '{0} us'", escape(text)));
}

}  // namespace rlctl::traffic
