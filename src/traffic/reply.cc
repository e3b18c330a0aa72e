#include "traffic/reply.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/text.h"
#include "lua/lexer.h"
#include "redis/error.h"

namespace rlctl::traffic {
namespace {

using limiter::Decision;
using redis::ReplyType;
using std::chrono::microseconds;

/// Bounds the depth of the parser's recursion.
constexpr std::size_t kLongestExpression = 500;  // bytes

using Json = nlohmann::json;
/// nil, a condition, a number, a text, an array, or an array or object of JSON. (A long double
/// holds every std::int64_t.)
using Value = std::variant<std::monostate, bool, long double, std::string_view, redis::ReplyView,
                           const Json*>;

/// The sign of other languages, and what to write instead.
constexpr std::pair<std::string_view, std::string_view> kOtherSigns[] = {
    {"=", "=="},
    {"&", "and"},
    {"|", "or"},
    {"!", "not"},
    {"?", "a condition with and, or"},
    {".", "r[1] for an element, json(r).name for JSON"},
    {"{", "the name without braces"}};

/// Whole numbers are exact.
std::optional<long double> text_as_number(std::string_view text) {
  if (const auto whole = to_number<std::int64_t>(text)) return static_cast<long double>(*whole);
  const auto number = to_number<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return *number;
}

Value value_of_reply(redis::ReplyView reply) {
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

/// Refers to the JSON.
Value value_of_json(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return json.get<long double>();
    case Json::value_t::string:
      return std::string_view(json.get_ref<const std::string&>());
    default:
      return &json;
  }
}

template <typename Operator>
Value combine(long double left, long double right) {
  return Operator{}(left, right);
}

}  // namespace

struct ReplyExpression::Node {
  enum class Operation {
    kReply,
    kElement,
    kLength,
    kJson,    ///< the text `left`, parsed
    kMember,  ///< of an object of JSON; its name is the constant
    kConstant,
    kPlaceholder,
    kArithmetic,
    kOrder,  ///< from here on, the value is a condition
    kEqual,
    kUnequal,
    kNot,
    kAnd,
    kOr,
  };
  Operation operation;
  std::size_t column;  ///< of its beginning, from 1
  const Node* left = nullptr;
  const Node* right = nullptr;
  Value (*combine)(long double, long double) = nullptr;  ///< kArithmetic, kOrder
  std::size_t index = 0;                                 ///< kElement: from 0
  Value constant = {};                                   ///< its text is in the tree's source
  const Placeholder* placeholder = nullptr;

  bool is_condition() const {
    return operation >= Operation::kOrder || std::holds_alternative<bool>(constant);
  }
};

struct ReplyExpression::Tree {
  std::string source;
  std::deque<Node> nodes = {};  ///< operands before operators; the last is the whole
};

// --- Parsing -------------------------------------------------------------------------------------

/// A parser by precedence, which appends each operator after its operands.
class ReplyExpression::Parser {
 public:
  explicit Parser(Tree& tree) : text_(tree.source), lua_(text_), nodes_(tree.nodes) {
    if (text_.size() > kLongestExpression) {
      throw UsageError(fmt::format("an expression has {} characters, the limit is {}", text_.size(),
                                   kLongestExpression),
                       "shorten it, or let the script return its decision");
    }
    const auto comment = text_.find("--");
    if (comment != text_.npos) throw_at(comment + 1, "'--' begins a comment", "; write - -");
    // Lua's sign is as long, so each column stays the same.
    for (auto at = lua_.find("!="); at != lua_.npos; at = lua_.find("!=", at)) lua_[at] = '~';
    auto lexed = lua::lex(lua_);
    if (!lexed) throw_no_token();
    tokens_ = std::move(lexed->tokens);
  }

  void parse() {
    binary(0);
    if (token().kind != Kind::kEnd) throw_expected("an operator");
  }

 private:
  using Kind = lua::Token::Kind;
  using Operation = Node::Operation;

  struct BinaryOperator {
    std::string_view sign;
    int precedence;
    Operation operation;
    Value (*combine)(long double, long double);  ///< of numbers; null: takes conditions
  };
  static constexpr int kComparison = 3;
  static constexpr BinaryOperator kBinaryOperators[] = {
      {"or", 1, Operation::kOr, nullptr},
      {"and", 2, Operation::kAnd, nullptr},
      {"==", kComparison, Operation::kEqual, nullptr},
      {"~=", kComparison, Operation::kUnequal, nullptr},
      {"<", kComparison, Operation::kOrder, combine<std::less<>>},
      {"<=", kComparison, Operation::kOrder, combine<std::less_equal<>>},
      {">", kComparison, Operation::kOrder, combine<std::greater<>>},
      {">=", kComparison, Operation::kOrder, combine<std::greater_equal<>>},
      {"+", 4, Operation::kArithmetic, combine<std::plus<>>},
      {"-", 4, Operation::kArithmetic, combine<std::minus<>>},
      {"*", 5, Operation::kArithmetic, combine<std::multiplies<>>},
      {"/", 5, Operation::kArithmetic, combine<std::divides<>>},
  };

  const lua::Token& token() const { return tokens_[at_]; }
  std::size_t column() const { return token().offset + 1; }
  bool is_reply() const { return token().kind == Kind::kName && token().text == "r"; }
  bool take(std::string_view sign) {
    if (!token().is(sign)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) throw_expected(fmt::format("'{}'", sign));
  }

  [[noreturn]] void throw_at(std::size_t column, std::string_view what,
                             std::string_view advice = {}, const std::string& hint = {}) const {
    throw UsageError(fmt::format("'{}': {} at column {}{}", escape(text_), what, column, advice),
                     hint);
  }
  [[noreturn]] void throw_unexpected(std::size_t column, std::string_view sign,
                                     std::string_view expected) const {
    for (const auto& [other, instead] : kOtherSigns) {
      if (sign != other) continue;
      throw_at(column, fmt::format("'{}' is not an operator", sign),
               fmt::format("; write {}", instead));
    }
    throw_at(column, fmt::format("expected {}", expected));
  }
  [[noreturn]] void throw_expected(std::string_view what) const {
    throw_unexpected(column(), token().text, what);
  }
  /// The mistake is what follows the longest beginning that consists of tokens.
  [[noreturn]] void throw_no_token() const {
    const std::string_view lua = lua_;
    auto length = lua.size();
    while (!lua::lex(lua.substr(0, length))) --length;
    const auto sign = lua.substr(length, 1);
    if (sign == "'" || sign == "\"") throw_at(length + 1, "unterminated text");
    throw_unexpected(length + 1, sign, "an operator or a value");
  }

  const Node* add(const Node& node) { return &nodes_.emplace_back(node); }
  void require_number(const Node& operand) const {
    if (operand.is_condition()) {
      throw_at(operand.column, "expected a number, not a condition,");
    }
  }

  const BinaryOperator* binary_operator() const {
    const auto* found = std::find_if(std::begin(kBinaryOperators), std::end(kBinaryOperators),
                                     [this](const auto& row) { return token().is(row.sign); });
    return found == std::end(kBinaryOperators) ? nullptr : found;
  }

  const Node* binary(int least) {
    const bool begins_with_not = token().is("not");
    const auto begin = column();
    const auto* left = unary();
    for (const auto* row = binary_operator(); row != nullptr && row->precedence >= least;
         row = binary_operator()) {
      ++at_;
      const auto* right = binary(row->precedence + 1);
      // Lua reads "not a == b" as "(not a) == b", Python as "not (a == b)".
      if (begins_with_not && row->precedence == kComparison) {
        throw_at(begin, "the comparison after 'not'", " needs parentheses", "write not (a == b)");
      }
      if (row->combine != nullptr) {
        require_number(*left);
        require_number(*right);
      }
      left = add({row->operation, left->column, left, right, row->combine});
    }
    return left;
  }

  const Node* unary() {
    const auto begin = column();
    if (take("not")) return add({Operation::kNot, begin, unary()});
    if (take("#")) return add({Operation::kLength, begin, is_json() ? json() : reply()});
    if (!take("-")) return primary();
    const auto* zero = add({.operation = Operation::kConstant, .column = begin, .constant = 0.0L});
    const auto* operand = unary();
    require_number(*operand);
    return add({Operation::kArithmetic, begin, zero, operand, combine<std::minus<>>});
  }

  const Node* primary() {
    if (is_reply()) return reply();
    if (is_json()) return json();
    if (take("(")) {
      const auto* inner = binary(0);
      expect(")");
      return inner;
    }
    Node node{Operation::kConstant, column()};
    if (token().kind == Kind::kNumber) {
      const auto value = text_as_number(token().text);
      if (!value) throw_expected("a finite decimal number");
      node.constant = *value;
    } else if (token().kind == Kind::kString) {
      node.constant = text();
    } else if (token().kind == Kind::kName) {
      node.operation = Operation::kPlaceholder;
      node.placeholder = placeholder();
    } else if (token().is("true") || token().is("false")) {
      node.constant = token().is("true");
    } else if (!token().is("nil")) {
      throw_expected("a value");
    }
    ++at_;
    return add(node);
  }

  const Node* reply() {
    if (!is_reply()) throw_expected("'r'");
    const auto begin = column();
    ++at_;
    const auto* left = add({Operation::kReply, begin});
    while (take("[")) left = element(left);
    return left;
  }

  /// The rest of "[1]".
  const Node* element(const Node* left) {
    const auto index = to_number<std::size_t>(token().text);
    if (index.value_or(0) == 0) throw_expected("the number of an element, from 1,");
    ++at_;
    expect("]");
    return add({.operation = Operation::kElement,
                .column = left->column,
                .left = left,
                .index = *index - 1});
  }

  const Node* member(const Node* left, std::string_view name) {
    ++at_;
    return add(
        {.operation = Operation::kMember, .column = left->column, .left = left, .constant = name});
  }

  bool is_json() const { return token().text == "json" && tokens_[at_ + 1].is("("); }

  /// json(r), and the way to a value in it: json(r).ok, json(r[2])["limits"][1].
  const Node* json() {
    const auto begin = column();
    ++at_;
    expect("(");
    const auto* left = add({.operation = Operation::kJson, .column = begin, .left = reply()});
    expect(")");
    while (true) {
      if (take(".")) {
        if (token().kind != Kind::kName) throw_expected("the name of a member");
        left = member(left, text_.substr(token().offset, token().text.size()));
      } else if (take("[")) {
        if (token().kind != Kind::kString) {
          left = element(left);
          continue;
        }
        left = member(left, text());
        expect("]");
      } else {
        return left;
      }
    }
  }

  std::string_view text() const {
    const auto quoted = text_.substr(token().offset, token().text.size());
    if (quoted.front() == '[' || quoted.find('\\') != quoted.npos) {
      throw_expected("text in quotes, without backslashes,");
    }
    return quoted.substr(1, quoted.size() - 2);
  }

  const Placeholder* placeholder() const {
    const auto name = token().text;
    const auto* found = find_placeholder(name);
    if (found == nullptr) {
      const auto likely = likely_placeholder(name);
      throw_at(column(), fmt::format("unknown name '{}'", name),
               likely.empty() ? "" : fmt::format("; did you mean '{}'?", likely),
               "r is the reply; a number is " + placeholder_names(true));
    }
    if (std::holds_alternative<Placeholder::Text>(found->value)) {
      throw_at(column(), fmt::format("'{}' is text, not a number,", name));
    }
    return found;
  }

  std::string_view text_;
  std::string lua_;  ///< the text with ~= for !=
  std::deque<Node>& nodes_;
  std::vector<lua::Token> tokens_;
  std::size_t at_ = 0;  ///< in tokens_
};

ReplyExpression::ReplyExpression(std::string_view text) {
  const auto tree = std::make_shared<Tree>(Tree{std::string(text)});
  Parser(*tree).parse();
  tree_ = tree;
}

const std::string& ReplyExpression::source() const noexcept {
  return tree_->source;
}

bool ReplyExpression::reads_reply() const {
  return std::any_of(tree_->nodes.begin(), tree_->nodes.end(),
                     [](const Node& node) { return node.operation == Node::Operation::kReply; });
}

bool ReplyExpression::uses_limit() const {
  return std::any_of(tree_->nodes.begin(), tree_->nodes.end(), [](const Node& node) {
    return node.placeholder != nullptr && node.placeholder->uses_limit();
  });
}

bool ReplyExpression::is_condition() const {
  return tree_->nodes.back().is_condition();
}

void ReplyExpression::require_usable(const limiter::Limit& limit, bool has_leases,
                                     microseconds hold) const {
  for (const auto& node : tree_->nodes) {
    if (node.placeholder != nullptr) node.placeholder->require_usable(limit, has_leases, hold);
  }
}

// --- Evaluation ----------------------------------------------------------------------------------

class ReplyExpression::Evaluation {
 public:
  Evaluation(redis::ReplyView reply, const TemplateValues& values)
      : reply_(reply), values_(values) {}

  bool holds(const Node& node) const { return holds(value(node), node); }
  std::optional<long double> number(const Node& node) const { return number(value(node), node); }

 private:
  // A node's value as a condition, a number or an array. Throw UnreadableReply.

  static bool holds(const Value& value, const Node& node) {
    if (const auto* condition = std::get_if<bool>(&value)) return *condition;
    return number(value, node).value_or(0) != 0;
  }
  /// None for nil.
  static std::optional<long double> number(const Value& value, const Node& node) {
    if (is_nil(value)) return std::nullopt;
    if (const auto* number = std::get_if<long double>(&value)) return *number;
    if (const auto* text = std::get_if<std::string_view>(&value)) {
      if (const auto number = text_as_number(*text)) return number;
    }
    throw UnreadableReply{node.column, kNumberExpected};
  }
  static redis::ReplyView array(const Value& value, const Node& node) {
    if (const auto* array = std::get_if<redis::ReplyView>(&value)) return *array;
    throw UnreadableReply{node.column, "an array"};
  }

  static bool is_nil(const Value& value) { return std::holds_alternative<std::monostate>(value); }

  Value value(const Node& node) const {
    using Operation = Node::Operation;
    switch (node.operation) {
      case Operation::kReply:
        return value_of_reply(reply_);
      case Operation::kElement:
        return element(node);
      case Operation::kLength:
        return length(node);
      case Operation::kJson:
        return json(node);
      case Operation::kMember:
        return member(node);
      case Operation::kConstant:
        return node.constant;
      case Operation::kPlaceholder:
        return node.placeholder->number(values_);
      case Operation::kArithmetic:
      case Operation::kOrder:
        return combined(node);
      case Operation::kEqual:
        return are_equal(*node.left, *node.right);
      case Operation::kUnequal:
        return !are_equal(*node.left, *node.right);
      case Operation::kNot:
        return !holds(*node.left);
      case Operation::kAnd:
        return holds(*node.left) && holds(*node.right);
      case Operation::kOr:
        return holds(*node.left) || holds(*node.right);
    }
    return {};
  }

  Value element(const Node& node) const {
    const auto whole = value(*node.left);
    if (is_nil(whole)) return {};
    if (const auto* const* json = std::get_if<const Json*>(&whole)) {
      if (!(*json)->is_array()) throw UnreadableReply{node.column, "an array"};
      return node.index < (*json)->size() ? value_of_json((**json)[node.index]) : Value{};
    }
    const auto elements = array(whole, node);
    return node.index < elements.size() ? value_of_reply(elements[node.index]) : Value{};
  }

  Value length(const Node& node) const {
    const auto whole = value(*node.left);
    if (const auto* const* json = std::get_if<const Json*>(&whole)) {
      return static_cast<long double>((*json)->size());
    }
    return static_cast<long double>(array(whole, *node.left).size());
  }

  Value json(const Node& node) const {
    const auto whole = value(*node.left);
    if (is_nil(whole)) return {};
    const auto* text = std::get_if<std::string_view>(&whole);
    if (text == nullptr) throw UnreadableReply{node.column, "JSON"};
    auto& document = documents_.emplace_back(parse_json(*text));
    if (document.is_discarded()) {
      throw UnreadableReply{node.column, json_excess(*text).empty()
                                             ? "JSON"
                                             : "JSON of at most 100 levels and 100000 values"};
    }
    return value_of_json(document);
  }

  Value member(const Node& node) const {
    const auto whole = value(*node.left);
    if (is_nil(whole)) return {};
    const auto* const* json = std::get_if<const Json*>(&whole);
    if (json == nullptr || !(*json)->is_object()) {
      throw UnreadableReply{node.column, "an object of JSON"};
    }
    const auto found = (*json)->find(std::string(std::get<std::string_view>(node.constant)));
    return found == (*json)->end() ? Value{} : value_of_json(*found);
  }

  Value combined(const Node& node) const {
    const auto left = number(*node.left), right = number(*node.right);
    if (left && right) {
      const auto result = node.combine(*left, *right);
      const auto* number = std::get_if<long double>(&result);
      if (number == nullptr || std::isfinite(*number)) return result;
      throw UnreadableReply{node.column, "a finite result"};
    }
    if (!node.is_condition()) return {};
    throw UnreadableReply{(left ? node.right : node.left)->column, kNumberExpected};
  }

  bool are_equal(const Node& left, const Node& right) const {
    const auto one = value(left), other = value(right);
    if (left.is_condition() || right.is_condition()) return holds(one, left) == holds(other, right);
    if (is_nil(one) || is_nil(other)) return is_nil(one) && is_nil(other);
    const auto* text = std::get_if<std::string_view>(&one);
    const auto* other_text = std::get_if<std::string_view>(&other);
    if (text != nullptr && other_text != nullptr) return *text == *other_text;
    // For a number, "r == 'OK'" is false rather than an error.
    if (is_word(left) && std::holds_alternative<long double>(other)) return false;
    if (is_word(right) && std::holds_alternative<long double>(one)) return false;
    const auto first = number(one, left), second = number(other, right);
    return first == second;
  }
  /// A constant text that is not a number.
  static bool is_word(const Node& node) {
    const auto* text = std::get_if<std::string_view>(&node.constant);
    return text != nullptr && !text_as_number(*text);
  }

  static constexpr std::string_view kNumberExpected = "a number";

  redis::ReplyView reply_;
  const TemplateValues& values_;
  mutable std::deque<Json> documents_;  ///< which values refer to
};

bool ReplyExpression::holds(redis::ReplyView reply, const TemplateValues& values) const {
  return Evaluation(reply, values).holds(tree_->nodes.back());
}

std::optional<long double> ReplyExpression::number(redis::ReplyView reply,
                                                   const TemplateValues& values) const {
  return Evaluation(reply, values).number(tree_->nodes.back());
}

// --- Numbers and times ---------------------------------------------------------------------------

ReplyExpression parse_number_expression(std::string_view text) {
  ReplyExpression expression(text);
  if (!expression.is_condition()) return expression;
  throw UsageError(fmt::format("'{}' is a condition, not a number", escape(text)));
}

std::chrono::microseconds parse_wait_unit(std::string_view name) {
  if (name == "s") return std::chrono::seconds(1);
  if (name == "ms") return std::chrono::milliseconds(1);
  if (name == "us") return std::chrono::microseconds(1);
  throw UsageError(fmt::format("the unit of a wait is s, ms or us, not '{}'", escape(name)));
}

WaitExpression parse_wait_expression(std::string_view text) {
  const auto without_blanks = [](std::string_view part) {
    return part.substr(0, part.find_last_not_of(" \t") + 1);
  };
  text = without_blanks(text);
  auto begin = text.size();
  while (begin > 0 && lua::is_name_letter(text[begin - 1])) --begin;
  const auto unit = text.substr(begin);
  const bool has_unit = !unit.empty() && unit != "r" && find_placeholder(unit) == nullptr;
  auto expression =
      parse_number_expression(has_unit ? without_blanks(text.substr(0, begin)) : text);
  if (has_unit) return {.expression = std::move(expression), .unit = parse_wait_unit(unit)};
  throw UsageError(
      fmt::format("'{0}' has no unit; write '{0} s', '{0} ms' or '{0} us'", escape(text)));
}

// --- Readings ------------------------------------------------------------------------------------

namespace {

constexpr std::array kNamed{
    NamedCondition{"nonzero", "r", "a number, or true or false", "zero"},
    NamedCondition{"zero", "not r", "a number, or true or false", "nonzero"},
    NamedCondition{"nil", "r == nil", "nil or anything else", "nonzero"},
    NamedCondition{"<=limit", "r <= limit", "a count"},
    NamedCondition{.name = "always", .expression = "true", .is_always = true},
};

// The most that a message shows of a reply: the elements, the bytes of each text before it is
// escaped, and the bytes of the whole line.
constexpr std::size_t kMaxElements = 8;
constexpr std::size_t kMaxBytes = 60;
constexpr std::size_t kLongestLine = 300;

std::vector<const ReplyExpression*> expressions_of(const ReplyReading& reading) {
  std::vector all{&reading.allowed_when.expression};
  if (reading.remaining) all.push_back(&*reading.remaining);
  for (const auto* wait : {&reading.delay, &reading.retry_after, &reading.reset_after}) {
    if (*wait) all.push_back(&(*wait)->expression);
  }
  return all;
}

/// In whole microseconds; none if it is too long for a wait.
std::optional<microseconds> wait_of(long double count, microseconds unit) {
  constexpr auto kLongestWait = static_cast<long double>(limiter::kLongestRefill.count());
  const auto wait = count * static_cast<long double>(unit.count());
  if (!(std::abs(wait) <= kLongestWait)) return std::nullopt;
  return microseconds(std::llround(wait));
}

/// Nothing is waited for as long.
constexpr microseconds kNotAWait = std::chrono::hours{24 * 365 * 20};

/// Whether a wait is rather a time since 1970, close to the time of the request.
bool is_time(microseconds wait, microseconds now) {
  return wait > kNotAWait && now > kNotAWait && wait > now - kNotAWait && wait < now + kNotAWait;
}

/// The expression with `clock` in place of each time of the request, whatever its unit is.
std::string with_clock(std::string_view source, std::string_view clock) {
  const auto is_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  constexpr std::array<std::string_view, 4> kClocks{"now", "now_s", "now_ms", "now_us"};
  std::string text;
  for (std::size_t i = 0; i < source.size();) {
    auto end = i;
    while (end < source.size() && is_of_word(source[end])) ++end;
    const auto word = source.substr(i, std::max<std::size_t>(end - i, 1));
    const bool is_field =
        i > 0 && std::string_view(".'\"").find(source[i - 1]) != std::string_view::npos;
    text += !is_field && std::ranges::find(kClocks, word) != kClocks.end() ? clock : word;
    i += word.size();
  }
  return text;
}

/// Reads a decision from one reply. Throws redis::Error.
class DecisionReader {
 public:
  DecisionReader(redis::ReplyView reply, const ReplyReading& reading, const TemplateValues& values,
                 std::string_view script)
      : reply_(reply), reading_(reading), values_(values), script_(script) {}

  Decision decision() const {
    if (reply_.is_error()) {
      return {.remaining = limiter::kNotTold,
              .retry_after = limiter::kTimeNotTold,
              .reset_after = limiter::kTimeNotTold};
    }
    auto decision = verdict();
    if (decision.allowed && reading_.delay) {
      const auto delay = time_of("--delay", *reading_.delay).value_or(microseconds{0});
      if (delay < microseconds{0}) refuse_delay("a time of 0 or more");
      decision.delay = delay;
    }
    if (!decision.allowed && reading_.retry_after) {
      const auto time = time_of("--retry-after", *reading_.retry_after);
      if (time) decision.retry_after = *time < microseconds{0} ? limiter::kNever : *time;
    }
    if (reading_.remaining) {
      constexpr auto kMax = static_cast<long double>(limiter::kLargestProduct);
      const auto count = number_of("--remaining", *reading_.remaining);
      if (count) decision.remaining = std::llround(std::clamp(std::floor(*count), 0.0L, kMax));
    }
    if (reading_.reset_after) {
      const auto time = time_of("--reset-after", *reading_.reset_after);
      if (time) decision.reset_after = std::max(*time, microseconds{0});
    }
    return decision;
  }

 private:
  /// Whether the request is allowed.
  Decision verdict() const {
    const auto& [named, expression] = reading_.allowed_when;
    Decision decision{
        .allowed = true, .remaining = limiter::kNotTold, .reset_after = limiter::kTimeNotTold};
    if (named != nullptr && named->is_always) return decision;
    const auto subject = named != nullptr ? first() : reply_;
    try {
      decision.allowed = expression.holds(subject, values_);
    } catch (const UnreadableReply& unreadable) {
      if (named != nullptr) refuse_named();
      refuse("--allowed-when", expression, unreadable);
    }
    if (!decision.allowed) decision.retry_after = limiter::kTimeNotTold;
    return decision;
  }

  /// What a named condition is about.
  redis::ReplyView first() const {
    if (reply_.type() != ReplyType::kArray) return reply_;
    if (reply_.size() == 0) refuse_named();
    return reply_[0];
  }

  /// None for nil, like time_of().
  std::optional<long double> number_of(std::string_view option,
                                       const ReplyExpression& expression) const {
    try {
      return expression.number(reply_, values_);
    } catch (const UnreadableReply& unreadable) {
      refuse(option, expression, unreadable);
    }
  }
  std::optional<microseconds> time_of(std::string_view option, const WaitExpression& time) const {
    const auto count = number_of(option, time.expression);
    if (!count) return std::nullopt;
    const auto wait = wait_of(*count, time.unit);
    if (wait && is_time(*wait, values_.now)) {
      refuse(fmt::format("{} '{}' is then a time since 1970, not one to wait for", option,
                         escape(time.expression.source())),
             subtraction_hint(option, time));
    }
    if (wait) return wait;
    refuse(option, time.expression, {1, "a shorter time"});
  }

  /// Offers only an expression that makes a time to wait for of this reply.
  std::string subtraction_hint(std::string_view option, const WaitExpression& time) const {
    const std::string now(now_text(time.unit));
    const auto name = now.substr(0, now.find(' '));
    const auto& source = time.expression.source();
    for (const auto& text : {with_clock(source, name), source + " - " + name}) {
      const auto count = ReplyExpression(text).number(reply_, values_);
      const auto wait = count ? wait_of(*count, time.unit) : std::nullopt;
      if (!wait || microseconds(std::abs(wait->count())) > kNotAWait) continue;
      return fmt::format("subtract the time of the request: {} '{}{}'", option, escape(text),
                         now.substr(name.size()));
    }
    return fmt::format("subtract the time of the request in the unit of the reply: {}", name);
  }

  [[noreturn]] void refuse(const std::string& misfit, const std::string& hint) const {
    throw redis::Error(redis::Failure::kRejected,
                       fmt::format("{} replied {}, but {}", script_, reply_text(reply_), misfit),
                       {}, hint);
  }
  [[noreturn]] void refuse(std::string_view option, const ReplyExpression& expression,
                           const UnreadableReply& unreadable) const {
    refuse(fmt::format("{} '{}' expects {} at column {}", option, escape(expression.source()),
                       unreadable.expected, unreadable.column),
           "choose an expression that fits the script");
  }
  [[noreturn]] void refuse_delay(std::string_view expected) const {
    refuse("--delay", reading_.delay->expression, {1, expected});
  }
  /// "now_ms ms"
  static std::string_view now_text(microseconds unit) {
    if (unit == std::chrono::seconds{1}) return "now_s s";
    return unit == std::chrono::milliseconds{1} ? "now_ms ms" : "now_us us";
  }
  [[noreturn]] void refuse_named() const {
    const auto& named = *reading_.allowed_when.named;
    refuse(fmt::format("--allowed-when '{}' reads {}", named.name, named.expected),
           reply_.text().starts_with('{')
               ? "for JSON, use an expression: --allowed-when 'json(r).NAME'"
               : "it reads a reply or the first element of an array; choose what fits the script");
  }

  redis::ReplyView reply_;
  const ReplyReading& reading_;
  const TemplateValues& values_;
  std::string_view script_;
};

}  // namespace

std::span<const NamedCondition> named_conditions() {
  return kNamed;
}

AllowedWhen parse_allowed_when(std::string_view text) {
  std::vector<std::string_view> names;
  for (const auto& row : kNamed) {
    if (row.name == text) return {.named = &row, .expression = ReplyExpression(row.expression)};
    names.push_back(row.name);
  }
  const auto hint = fmt::format("it is {}, or an expression such as 'r[1] > 0'", one_of(names));
  const auto likely = did_you_mean(text, names);
  if (!likely.empty())
    throw UsageError(fmt::format("'{}' is not a condition{}", escape(text), likely), hint);
  try {
    ReplyExpression expression(text);
    if (expression.reads_reply()) return {.expression = std::move(expression)};
    throw UsageError(fmt::format("'{}' does not depend on the reply r", escape(text)));
  } catch (const UsageError& error) {
    throw UsageError(error.what(), error.hint().empty() ? hint : error.hint());
  }
}

std::string parse_error_code(std::string_view text) {
  const bool is_word = !text.empty() && text.find_first_of(" \t\r\n") == text.npos;
  if (!is_word) throw UsageError(fmt::format("'{}' is not the code of an error", escape(text)));
  if (text != "ERR") return std::string(text);
  throw UsageError("ERR is the code of any fault of a script, not of a denial",
                   "let the script reply with a code of its own: "
                   "return redis.error_reply('DENIED too many requests')");
}

bool is_denial(redis::ReplyView reply, const ReplyReading& reading) {
  if (!reply.is_error() || !reading.denied_error) return false;
  const auto text = reply.text();
  return text.substr(0, text.find(' ')) == *reading.denied_error;
}

void require_usable(const ReplyReading& reading, const limiter::Limit& limit, bool has_leases,
                    microseconds hold) {
  for (const auto* expression : expressions_of(reading)) {
    expression->require_usable(limit, has_leases, hold);
  }
}

bool uses_limit(const ReplyReading& reading) {
  const auto all = expressions_of(reading);
  return std::any_of(all.begin(), all.end(),
                     [](const auto* expression) { return expression->uses_limit(); });
}

Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                    const TemplateValues& values, std::string_view script) {
  return DecisionReader(reply, reading, values, script).decision();
}

std::string reply_text(redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kInteger:
      return fmt::to_string(reply.integer());
    case ReplyType::kNil:
      return "nil";
    case ReplyType::kArray: {
      constexpr std::string_view kRest = ", ...]";
      std::string out = "[";
      for (std::size_t i = 0; i < reply.size(); ++i) {
        auto element = reply[i].type() == ReplyType::kArray ? "[...]" : reply_text(reply[i]);
        if (i > 0) element.insert(0, ", ");
        const bool fits = out.size() + element.size() + kRest.size() <= kLongestLine;
        if (i == kMaxElements || !fits) return out.append(kRest);
        out += element;
      }
      return out + "]";
    }
    default:
      return "'" + escape(reply.text(), kMaxBytes) + "'";
  }
}

}  // namespace rlctl::traffic
