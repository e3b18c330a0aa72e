#include "lua/expression.h"

#include <fmt/format.h>

#include <lua5.1/lua.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/text.h"
#include "lua/lexer.h"
#include "lua/sandbox.h"

namespace rlctl::lua {
namespace {

using Json = nlohmann::json;
using Kind = Token::Kind;
using redis::ReplyType;

constexpr std::size_t kLongestExpression = 500;  // bytes
constexpr std::int64_t kMostInstructions = 1'000'000;
/// Lua 5.1 does not collect garbage when it runs out of memory, and a reply may be large.
constexpr int kMostGarbage = 4 << 10;  // KiB
constexpr std::size_t kMostBytesShown = 60;
constexpr auto kAllElements = std::numeric_limits<std::size_t>::max();

/// Signs of other languages, or of Lua's statements, and what to write instead.
constexpr std::pair<std::string_view, std::string_view> kOtherSigns[] = {
    {"!=", "~="},
    {"=", "=="},
    {"&", "and"},
    {"|", "or"},
    {"!", "not"},
    {"?", "a condition with and, or"},
    {"{", "the name without braces"},
    {"function", "an expression without functions"}};
constexpr std::string_view kArithmetic[] = {"+", "-", "*", "/", "%", "^", ".."};
constexpr std::string_view kComparisons[] = {"==", "~=", "<", "<=", ">", ">="};
constexpr std::string_view kConstants[] = {"true", "false", "nil"};

bool is_one_of(const Token& token, std::span<const std::string_view> signs) {
  return std::ranges::any_of(signs, [&](auto sign) { return token.is(sign); });
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// A comparison in an expression.
struct Comparison {
  std::size_t column;  ///< the column of its sign
  std::string sign;
  std::string left, right = {};  ///< as written
};

// ---- Values ----

/// "'1' (a string)"
std::string described(lua_State* state, int index) {
  switch (lua_type(state, index)) {
    case LUA_TNIL:
      return "nil";
    case LUA_TBOOLEAN:
      return lua_toboolean(state, index) != 0 ? "true" : "false";
    case LUA_TNUMBER:
      return fmt::format("{:.14g} (a number)", lua_tonumber(state, index));
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(state, index, &size);
      return fmt::format("'{}' (a string)", escape({text, size}, kMostBytesShown));
    }
    default:
      return fmt::format("a {}", luaL_typename(state, index));
  }
}

bool is_text_of_number(lua_State* state, int index) {
  return lua_type(state, index) == LUA_TSTRING && lua_isnumber(state, index) != 0;
}

void push_text(lua_State* state, std::string_view text) {
  lua_pushlstring(state, text.data(), text.size());
}

/// An error of Lua in the line of the expression that called this function.
int raise_with_line(lua_State* state, const std::string& message) {
  luaL_where(state, 1);
  push_text(state, message);
  lua_concat(state, 2);
  return lua_error(state);
}

/// In the registry, the key of the metatable of arrays: its address.
const char kArrays = 0;

/// The __index of arrays, for an element that does not exist. `err` of an array is nil, so that an
/// expression can tell it from an error.
int missing_element(lua_State* state) {
  const bool is_index = lua_type(state, 2) == LUA_TNUMBER && lua_tonumber(state, 2) >= 1 &&
                        std::floor(lua_tonumber(state, 2)) == lua_tonumber(state, 2);
  lua_pushliteral(state, "err");
  if (is_index || lua_rawequal(state, 2, -1) != 0) return 0;
  return raise_with_line(state, "an array has elements from 1, but not " + described(state, 2));
}

/// The __index of strings, which have the functions of `string` only.
int member_of_string(lua_State* state) {
  lua_pushvalue(state, 2);
  lua_gettable(state, lua_upvalueindex(1));
  if (!lua_isnil(state, -1)) return 1;
  return raise_with_line(state, described(state, 1) + " is not an array");
}

/// Pushes a table for a number of elements that `push` pushes, by their index.
template <typename Push>
void push_array(lua_State* state, std::size_t size, Push push) {
  lua_createtable(state, static_cast<int>(size), 0);
  for (std::size_t i = 0; i < size; ++i) {
    push(i);
    lua_rawseti(state, -2, static_cast<int>(i + 1));
  }
  lua_pushlightuserdata(state, const_cast<char*>(&kArrays));
  lua_rawget(state, LUA_REGISTRYINDEX);
  lua_setmetatable(state, -2);
}

/// Pushes an array without what follows its first `most` elements.
void push_reply(lua_State* state, redis::ReplyView reply, std::size_t most = kAllElements) {
  luaL_checkstack(state, LUA_MINSTACK, "r");
  switch (reply.type()) {
    case ReplyType::kNil:
      return lua_pushnil(state);
    case ReplyType::kInteger:
      return lua_pushnumber(state, as_double(reply.integer()));
    case ReplyType::kArray: {
      auto size = std::min(reply.size(), most);
      while (size > 0 && reply[size - 1].is_nil()) --size;
      return push_array(state, size, [&](std::size_t i) { push_reply(state, reply[i]); });
    }
    case ReplyType::kError:
      lua_createtable(state, 0, 1);
      push_text(state, reply.text());
      return lua_setfield(state, -2, "err");
    default:
      push_text(state, reply.text());
  }
}

void push_json(lua_State* state, const Json& json) {
  luaL_checkstack(state, LUA_MINSTACK, "json");
  if (json.is_boolean()) {
    lua_pushboolean(state, json.get<bool>() ? 1 : 0);
  } else if (json.is_number()) {
    lua_pushnumber(state, json.get<double>());
  } else if (json.is_string()) {
    push_text(state, json.get_ref<const std::string&>());
  } else if (json.is_array()) {
    auto size = json.size();
    while (size > 0 && json[size - 1].is_null()) --size;
    push_array(state, size, [&](std::size_t i) { push_json(state, json[i]); });
  } else if (json.is_object()) {
    lua_createtable(state, 0, static_cast<int>(json.size()));
    for (const auto& [name, value] : json.items()) {
      push_text(state, name);
      push_json(state, value);
      lua_rawset(state, -3);
    }
  } else {
    lua_pushnil(state);
  }
}

/// json(text)
int read_json_text(lua_State* state) {
  lua_settop(state, 1);
  if (lua_isnil(state, 1)) return 1;
  std::size_t size = 0;
  const char* text = lua_type(state, 1) == LUA_TSTRING ? lua_tolstring(state, 1, &size) : nullptr;
  if (text == nullptr)
    return raise_with_line(state, "json() reads a string, not " + described(state, 1));
  Json json;
  std::string_view excess;
  try {
    json = parse_json({text, size});
    if (json.is_discarded()) excess = json_excess({text, size});
  } catch (const std::exception&) {
    Sandbox::stop(state, std::current_exception());
  }
  if (json.is_discarded()) {
    return raise_with_line(
        state,
        described(state, 1) +
            (excess.empty() ? " is not JSON" : " has more than 100 levels or 100000 values"));
  }
  push_json(state, json);
  return 1;
}

// ---- Operators ----

/// Returns why the values at the indices 2 and 3 of the stack cannot be compared, or an empty text.
std::string misfit(lua_State* state, const Comparison& comparison) {
  const int left = lua_type(state, 2), right = lua_type(state, 3);
  const bool is_equality = comparison.sign == "==" || comparison.sign == "~=";
  if (is_equality && (left == LUA_TNIL || right == LUA_TNIL)) return "";
  const bool are_ordered_numbers =
      !is_equality && is_text_of_number(state, 2) && is_text_of_number(state, 3);
  const auto is_finite = [&](int index) {
    return lua_type(state, index) != LUA_TNUMBER || std::isfinite(lua_tonumber(state, index));
  };
  const bool is_comparable =
      left == LUA_TNUMBER || left == LUA_TSTRING || (left == LUA_TBOOLEAN && is_equality);
  if (left == right && is_comparable && !are_ordered_numbers && is_finite(2) && is_finite(3)) {
    return "";
  }
  return fmt::format("it compares {} with {}", described(state, 2), described(state, 3));
}

/// The comparison with numbers in place of texts that are numbers; empty if there is none.
std::string hint_at(lua_State* state, const Comparison& comparison) {
  bool has_text_of_reply = false;
  const auto as_number = [&](int index, const std::string& text) {
    if (!is_text_of_number(state, index)) return text;
    if (text.starts_with('\'') || text.starts_with('"')) return text.substr(1, text.size() - 2);
    has_text_of_reply = true;
    return "tonumber(" + text + ")";
  };
  const auto left = as_number(2, comparison.left), right = as_number(3, comparison.right);
  if (left == comparison.left && right == comparison.right) return "";
  return fmt::format("{}write {} {} {}", has_text_of_reply ? "a bulk reply is a string: " : "",
                     left, comparison.sign, right);
}

/// _compare(n, left, right); its upvalue is the list of comparisons.
int compare(lua_State* state) {
  const auto& all =
      *static_cast<const std::vector<Comparison>*>(lua_touserdata(state, lua_upvalueindex(1)));
  const auto& comparison = all[static_cast<std::size_t>(lua_tointeger(state, 1))];
  lua_settop(state, 3);
  if (auto message = misfit(state, comparison); !message.empty()) {
    Sandbox::stop(state, std::make_exception_ptr(ExpressionError{
                             comparison.column, std::move(message), hint_at(state, comparison)}));
  }
  const auto& sign = comparison.sign;
  const bool swaps = sign[0] == '>';
  const int left = swaps ? 3 : 2, right = swaps ? 2 : 3;
  bool holds = false;
  if (sign == "==" || sign == "~=") {
    holds = (lua_rawequal(state, 2, 3) != 0) == (sign == "==");
  } else if (sign.size() == 1) {
    holds = lua_lessthan(state, left, right) != 0;
  } else {
    holds = lua_lessthan(state, right, left) == 0;  // no number is NaN
  }
  lua_pushboolean(state, holds ? 1 : 0);
  return 1;
}

/// _not(value)
int negate(lua_State* state) {
  lua_settop(state, 1);
  if (!lua_isnil(state, 1) && !lua_isboolean(state, 1)) {
    return raise_with_line(state,
                           fmt::format("'not' of {} is false in Lua; compare it, as in r[1] == 0",
                                       described(state, 1)));
  }
  lua_pushboolean(state, lua_toboolean(state, 1) == 0 ? 1 : 0);
  return 1;
}

/// _condition(value)
int condition(lua_State* state) {
  lua_settop(state, 1);
  if (lua_isnil(state, 1) || lua_isboolean(state, 1)) return 1;
  return raise_with_line(state,
                         fmt::format("{} before 'and' is true in Lua; compare it, as in r[1] == 1",
                                     described(state, 1)));
}

}  // namespace

/// An expression after it was compiled.
struct Expression::Program {
  std::string source;
  std::vector<std::string> variables = {};
  bool reads_reply = false, is_condition = false;
  std::size_t elements = 0;               ///< how many elements of r it reads at most
  std::vector<std::size_t> columns = {};  ///< [n]: of line n + 1 of the Lua source
  std::vector<Comparison> comparisons = {};
  Sandbox sandbox{{.instructions = kMostInstructions}};
  int function = LUA_NOREF;  ///< in the registry

  [[noreturn]] void refuse(std::size_t column, std::string_view what, std::string_view advice = {},
                           const std::string& hint = {}) const {
    throw UsageError(fmt::format("'{}': {} at column {}{}", escape(source), what, column, advice),
                     hint);
  }
  /// An error of Lua, "e:12: attempt to ...".
  ExpressionError error_of(std::string_view message) const {
    auto rest = message;
    const auto chunk = take_until(rest, ":"), line = take_until(rest, ":");
    if (chunk != "e") return {columns.front(), std::string(message)};
    const auto place = static_cast<std::size_t>(bounded_value(line, std::ssize(columns)));
    std::string text(without_blanks(rest));
    // "')' expected (to close '(' at line 3) near 'x'"
    const auto closes = text.find(" (to close");
    if (closes != text.npos) text.erase(closes, text.find(") near", closes) + 1 - closes);
    return {
        columns[std::clamp<std::size_t>(place, 1, columns.size()) - 1], text,
        text.ends_with("(a nil value)") ? "a missing element is nil: write r[4] and r[4] + 1" : ""};
  }
  bool is_global(const std::string& name) {
    std::string error;
    return sandbox.run([&](lua_State* state) { lua_getglobal(state, name.c_str()); }, error);
  }
  void compile(const std::string& lua);
};

/// Compiles what Rewriter has written.
void Expression::Program::compile(const std::string& lua) {
  std::string error;
  const bool is_compiled = sandbox.run(
      [&](lua_State* state) {
        lua_pushlightuserdata(state, const_cast<char*>(&kArrays));
        lua_createtable(state, 0, 1);
        lua_pushcfunction(state, missing_element);
        lua_setfield(state, -2, "__index");
        lua_rawset(state, LUA_REGISTRYINDEX);

        lua_pushliteral(state, "");
        lua_getmetatable(state, -1);
        lua_getfield(state, -1, "__index");
        lua_pushcclosure(state, member_of_string, 1);
        lua_setfield(state, -2, "__index");

        if (!Sandbox::compile(state, lua, "=e")) lua_error(state);
        lua_pushlightuserdata(state, &comparisons);
        lua_pushcclosure(state, compare, 1);
        lua_pushcfunction(state, negate);
        lua_pushcfunction(state, condition);
        lua_pushcfunction(state, read_json_text);
        lua_call(state, 4, 1);
        function = luaL_ref(state, LUA_REGISTRYINDEX);
      },
      error);
  if (is_compiled) return;
  const auto mistake = error_of(error);
  refuse(mistake.column, mistake.message);
}

// ---- Rewriting ----

/// Writes the tokens of an expression as Lua whose lines have columns, with calls for comparisons
/// and `not`. An operand of `and` and `or`, or of a bracket, has at most one comparison, which
/// binds less than all else in it; so the call has the text before and after the sign as its
/// arguments.
class Expression::Rewriter {
 public:
  Rewriter(Program& program, FindVariable find) : program_(program), find_(find) {
    const std::string_view source = program.source;
    if (source.size() > kLongestExpression) {
      throw UsageError(fmt::format("an expression has {} characters, the limit is {}",
                                   source.size(), kLongestExpression),
                       "shorten it, or let the script return its decision");
    }
    auto lexed = lex(source);
    if (!lexed) throw_no_token();
    tokens_ = std::move(lexed->tokens);
    std::size_t end = 0;
    for (const auto& token : tokens_) {
      if (!without_blanks(source.substr(end, token.offset - end)).empty()) {
        program_.refuse(source.find_first_not_of(" \t\r\n\v\f", end) + 1, "a comment begins",
                        "; write - - for a minus sign twice");
      }
      end = token.offset + token.text.size();
    }
  }

  std::string lua() {
    program_.columns.push_back(column());
    begin_operand();
    while (!frames_.empty()) {
      if (expects_value_) {
        value();
      } else {
        after_value();
      }
    }
    return fmt::format(
        "local _compare,_not,_condition,json=... return function(r{}{})return({})end",
        program_.variables.empty() ? "" : ",", fmt::join(program_.variables, ","), out_);
  }

 private:
  /// The expression, or a bracket in it.
  struct Frame {
    std::string_view closer = "";
    bool is_call = false;
    bool is_one_operand = true;    ///< without `and`, `or` and commas
    std::size_t column = 1;        ///< the column of the value that was written last
    std::size_t begin = 0;         ///< of the operand, in out_
    std::size_t offset = 0;        ///< of the operand, in the source
    bool begins_with_not = false;  ///< the operand
    bool has_comparison = false;   ///< the operand
    std::size_t comparison = 0;    ///< the operand's, if it has one
    std::size_t nots = 0;          ///< calls of _not() that are open
    /// Where operands of `and` begin and end in out_ that are no conditions by themselves, since
    /// the last `or` or comma.
    std::vector<std::pair<std::size_t, std::size_t>> values = {};
  };

  const Token& token() const { return tokens_[at_]; }
  std::size_t column() const { return token().offset + 1; }
  Frame& frame() { return frames_.back(); }

  [[noreturn]] void throw_unexpected(std::size_t column, std::string_view text,
                                     std::string_view expected) const {
    for (const auto& [sign, instead] : kOtherSigns) {
      if (text != sign) continue;
      program_.refuse(column, fmt::format("'{}' is not allowed", sign),
                      fmt::format("; write {}", instead));
    }
    program_.refuse(column, fmt::format("expected {}", expected));
  }
  [[noreturn]] void throw_expected(std::string_view what) const {
    throw_unexpected(column(), token().text, what);
  }
  /// The mistake is what follows the longest beginning that consists of tokens.
  [[noreturn]] void throw_no_token() const {
    const std::string_view source = program_.source;
    auto length = source.size();
    while (!lex(source.substr(0, length))) --length;
    const auto rest = source.substr(length);
    if (rest.starts_with('\'') || rest.starts_with('"')) {
      program_.refuse(length + 1, "unterminated text");
    }
    throw_unexpected(length + 1, rest.substr(0, rest.starts_with("!=") ? 2 : 1),
                     "an operator or a value");
  }

  /// Errors of Lua in what follows have this column.
  void begin_line(std::size_t column) {
    out_ += '\n';
    program_.columns.push_back(column);
  }
  void write_token() {
    out_.append(" ").append(token().text);
    program_.columns.insert(program_.columns.end(),
                            static_cast<std::size_t>(token().last_line - token().line), column());
    ++at_;
  }
  void begin_operand() {
    if (frames_.empty()) frames_.emplace_back();
    frame().begin = out_.size();
    frame().offset = token().offset;
    frame().begins_with_not = token().is("not");
    frame().has_comparison = false;
    expects_value_ = true;
  }
  void close_nots() { out_.append(std::exchange(frame().nots, 0), ')'); }
  void end_operand() {
    close_nots();
    if (frame().has_comparison || frame().begins_with_not) require_conditions();
    if (!frame().has_comparison) return;
    out_ += ')';
    auto& comparison = program_.comparisons[frame().comparison];
    const auto begin = comparison.column - 1 + comparison.sign.size();
    comparison.right =
        without_blanks(std::string_view(program_.source).substr(begin, token().offset - begin));
  }

  /// Of `value and a == b`, the value must be nil or a condition, too: 0 would be true.
  void require_conditions() {
    for (; !frame().values.empty(); frame().values.pop_back()) {
      const auto [begin, end] = frame().values.back();
      out_.insert(end, ")");
      out_.insert(begin + (out_[begin] == '\n' ? 1 : 0), " _condition(");  // in the value's line
      frame().begin += std::string_view(" _condition()").size();
    }
  }

  void value() {
    if (!std::exchange(joins_line_, false)) begin_line(column());
    frame().column = program_.columns.back();
    if (token().is("not")) {
      out_ += " _not(";
      ++frame().nots;
      ++at_;
    } else if (token().is("-") || token().is("#")) {
      write_token();
      joins_line_ = true;
    } else if (token().is("(")) {
      open(")", false);
    } else {
      const bool is_name = token().kind == Kind::kName;
      const bool is_value = is_name || token().kind == Kind::kNumber ||
                            token().kind == Kind::kString || is_one_of(token(), kConstants);
      if (!is_value) throw_expected("a value");
      if (is_name) name();
      write_token();
      expects_value_ = false;
    }
  }

  void name() {
    const std::string name(token().text);
    auto& variables = program_.variables;
    if (name == "r") read_reply();
    if (name == "r" || name == "json" || std::ranges::find(variables, name) != variables.end()) {
      return;
    }
    const auto mistake = find_(name);
    if (!mistake) {
      variables.push_back(name);
    } else if (!program_.is_global(name)) {
      program_.refuse(column(), mistake->message, mistake->advice, mistake->hint);
    }
  }

  /// With a use of r other than r[1], r[2] and so on, an expression may read all elements.
  void read_reply() {
    program_.reads_reply = true;
    const auto is_next = [&](std::size_t distance, std::string_view sign) {
      return at_ + distance < tokens_.size() && tokens_[at_ + distance].is(sign);
    };
    const auto index = is_next(1, "[") && is_next(3, "]")
                           ? to_number<std::size_t>(tokens_[at_ + 2].text)
                           : std::nullopt;
    program_.elements = std::max(program_.elements, index.value_or(kAllElements));
  }

  void open(std::string_view closer, bool is_call) {
    write_token();
    frames_.push_back({.closer = closer, .is_call = is_call});
    begin_operand();
    if (!is_call || !token().is(")")) return;
    expects_value_ = false;  // no arguments
  }
  void close() {
    end_operand();
    frames_.pop_back();
    if (frames_.empty()) return;
    begin_line(frame().column);
    write_token();
  }

  void after_value() {
    const auto& next = tokens_[std::min(at_ + 1, tokens_.size() - 1)];
    const bool is_end = token().kind == Kind::kEnd;
    if ((token().is(".") || token().is(":")) && next.kind == Kind::kName) {
      write_token();
      write_token();
    } else if (token().is("[")) {
      open("]", false);
    } else if (token().is("(")) {
      open(")", true);
    } else if (token().kind == Kind::kString) {
      write_token();
    } else if (is_one_of(token(), kArithmetic)) {
      if (!token().is("^")) close_nots();
      begin_line(column());
      write_token();
      joins_line_ = expects_value_ = true;
    } else if (is_one_of(token(), kComparisons)) {
      comparison();
    } else if (token().is("and") || token().is("or") || (token().is(",") && frame().is_call)) {
      end_operand();
      frame().is_one_operand = false;
      if (!token().is("and")) {
        frame().values.clear();
      } else if (!frame().has_comparison && !frame().begins_with_not) {
        frame().values.emplace_back(frame().begin, out_.size());
      }
      begin_line(column());
      write_token();
      begin_operand();
    } else if (frame().closer.empty() ? is_end : token().is(frame().closer)) {
      if (is_end) {
        program_.is_condition =
            frame().is_one_operand && (frame().has_comparison || frame().begins_with_not);
      }
      close();
    } else {
      throw_expected(is_end || token().is(")") || token().is("]")
                         ? frame().closer.empty() ? "an operator"
                                                  : fmt::format("'{}'", frame().closer)
                         : "an operator");
    }
  }

  void comparison() {
    close_nots();
    if (frame().has_comparison) {
      program_.refuse(column(), "a comparison of a comparison", " needs parentheses");
    }
    if (frame().begins_with_not) {
      program_.refuse(frame().offset + 1, "the comparison after 'not'", " needs parentheses",
                      "write not (a == b)");
    }
    const auto left =
        std::string_view(program_.source).substr(frame().offset, token().offset - frame().offset);
    frame().has_comparison = true;
    frame().comparison = program_.comparisons.size();
    out_.insert(frame().begin, fmt::format(" _compare({},", program_.comparisons.size()));
    program_.comparisons.push_back(
        {column(), std::string(token().text), std::string(without_blanks(left))});
    out_ += ',';
    ++at_;
    expects_value_ = true;
  }

  Program& program_;
  FindVariable find_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;  ///< in tokens_
  std::string out_;
  std::vector<Frame> frames_;
  bool expects_value_ = true;
  bool joins_line_ = false;  ///< the next value is written in the line of the operator before it
};

Expression::Expression(std::string_view source, FindVariable find)
    : program_(std::make_shared<Program>()) {
  program_->source = source;
  program_->compile(Rewriter(*program_, find).lua());
}

// ---- Evaluation ----

template <typename Read>
void Expression::evaluate(redis::ReplyView reply, std::span<const double> values, Read read) const {
  auto& program = *program_;
  std::string error;
  try {
    const bool has_value = program.sandbox.run(
        [&](lua_State* state) {
          if (lua_gc(state, LUA_GCCOUNT, 0) > kMostGarbage) lua_gc(state, LUA_GCCOLLECT, 0);
          luaL_checkstack(state, static_cast<int>(values.size()) + LUA_MINSTACK, "r");
          lua_rawgeti(state, LUA_REGISTRYINDEX, program.function);
          if (program.reads_reply) {
            push_reply(state, reply, program.elements);
          } else {
            lua_pushnil(state);
          }
          for (const double value : values) lua_pushnumber(state, value);
          lua_call(state, static_cast<int>(values.size()) + 1, 1);
          read(state);
        },
        error);
    if (has_value) return;
  } catch (const RanTooLong& too_long) {
    throw ExpressionError{program.columns.front(), fmt::format("it {}", too_long.what())};
  } catch (const NotImplementedHere& missing) {
    throw ExpressionError{program.columns.front(), missing.what()};
  }
  throw program.error_of(error);
}

bool Expression::holds(redis::ReplyView reply, std::span<const double> values) const {
  bool holds = false;
  evaluate(reply, values, [&](lua_State* state) {
    holds = lua_toboolean(state, -1) != 0;
    if (lua_isboolean(state, -1)) return;
    const auto& source = program_->source;
    const bool is_simple = source.find_first_of(" \t+-*/%^") == source.npos;
    const auto operand = is_simple ? source : "(" + source + ")";
    std::string hint;
    if (is_text_of_number(state, -1)) {
      hint = fmt::format("a bulk reply is a string: write tonumber({}) == 1", source);
    } else if (lua_type(state, -1) == LUA_TNUMBER) {
      hint = fmt::format("in Lua 0 is true: write {} == 1", operand);
    } else if (lua_isnil(state, -1)) {
      hint = fmt::format("compare it: {} ~= nil", operand);
    }
    Sandbox::stop(state, std::make_exception_ptr(ExpressionError{
                             program_->columns.front(),
                             fmt::format("it gives {}, not true or false", described(state, -1)),
                             std::move(hint)}));
  });
  return holds;
}

std::optional<double> Expression::number(redis::ReplyView reply,
                                         std::span<const double> values) const {
  std::optional<double> number;
  evaluate(reply, values, [&](lua_State* state) {
    if (lua_isnil(state, -1)) return;
    number = lua_tonumber(state, -1);
    if (lua_type(state, -1) == LUA_TNUMBER && std::isfinite(*number)) return;
    Sandbox::stop(
        state,
        std::make_exception_ptr(ExpressionError{
            program_->columns.front(),
            fmt::format("it gives {}, not a finite number", described(state, -1)),
            is_text_of_number(state, -1)
                ? fmt::format("a bulk reply is a string: write tonumber({})", program_->source)
                : ""}));
  });
  return number;
}

const std::string& Expression::source() const noexcept {
  return program_->source;
}
const std::vector<std::string>& Expression::variables() const noexcept {
  return program_->variables;
}
bool Expression::reads_reply() const noexcept {
  return program_->reads_reply;
}
bool Expression::is_condition() const noexcept {
  return program_->is_condition;
}

}  // namespace rlctl::lua
