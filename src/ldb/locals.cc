#include "ldb/locals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "ldb/session.h"
#include "lua/lexer.h"

namespace rlctl::ldb {
namespace {

using TokenKind = lua::Token::Kind;
using Tokens = std::span<const lua::Token>;

/// A string without escapes, in quotes.
std::optional<Value> string_key(std::string_view text) {
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'')) return std::nullopt;
  if (text.find('\\') != text.npos) return std::nullopt;
  return Value{.kind = Value::Kind::kString, .text = std::string(text.substr(1, text.size() - 2))};
}

std::optional<Value> number_key(std::string_view text, bool is_negative) {
  const auto number = to_number<double>(text);
  if (!number) return std::nullopt;
  return Value{.kind = Value::Kind::kNumber, .number = is_negative ? -*number : *number};
}

/// Parses the content of brackets.
std::optional<VariablePath::Step> step_in(Tokens inner) {
  using Step = VariablePath::Step;
  const bool is_negative = inner.size() == 2 && inner[0].is("-");
  if (inner.size() != 1 && !is_negative) return std::nullopt;
  const auto& token = inner.back();
  if (token.kind == TokenKind::kName && !is_negative)
    return Step{.variable = std::string(token.text)};
  std::optional<Value> key;
  if (token.kind == TokenKind::kNumber) key = number_key(token.text, is_negative);
  if (token.kind == TokenKind::kString && !is_negative) key = string_key(token.text);
  if (!key) return std::nullopt;
  return Step{.key = *std::move(key)};
}

/// Takes the first step off `rest`.
std::optional<VariablePath::Step> take_step(Tokens& rest) {
  if (rest[0].is(".") && rest.size() > 1 && rest[1].kind == TokenKind::kName) {
    VariablePath::Step step{
        .key = {.kind = Value::Kind::kString, .text = std::string(rest[1].text)}};
    rest = rest.subspan(2);
    return step;
  }
  if (!rest[0].is("[")) return std::nullopt;
  std::size_t end = 1;
  while (end < rest.size() && !rest[end].is("]")) ++end;
  if (end >= rest.size()) return std::nullopt;
  auto step = step_in(rest.subspan(1, end - 1));
  rest = rest.subspan(end + 1);
  return step;
}

}  // namespace

std::optional<VariablePath> parse_path(std::string_view expression) {
  const auto tokens = lua::lex(expression);
  if (!tokens || tokens->tokens.front().kind != TokenKind::kName) return std::nullopt;
  VariablePath path{.root = std::string(tokens->tokens.front().text)};
  auto rest = Tokens(tokens->tokens).subspan(1);
  while (rest.front().kind != TokenKind::kEnd) {
    auto step = take_step(rest);
    if (!step) return std::nullopt;
    path.steps.push_back(*std::move(step));
  }
  return path;
}

std::optional<Value> field_of(const Value& table, const Value& key) {
  if (table.kind != Value::Kind::kTable) return std::nullopt;
  for (const auto& [known, value] : table.fields) {
    const bool both_numbers =
        known.kind == Value::Kind::kNumber && key.kind == Value::Kind::kNumber;
    if (both_numbers ? known.number == key.number : known == key) return value;
  }
  if (table.is_cut) return std::nullopt;
  return Value{};
}

namespace {

using Outcome = Evaluation::Outcome;
using ValueKind = Value::Kind;

// The code that the server runs. `E` writes values in the format of probe.lua, in few bytes: some
// servers accept no more than 1024 at a time. `p` is the prelude, `c` the code; the answer is "R",
// "E" or "C" (values, an error, a compile error), followed by values after semicolons.
constexpr std::string_view kEncoder =
    "local q=0 local function E(v,d)local k=type(v)if k=='table'then if d>9 then return'c'end "
    "local r,i='{',1 for a,b in next,v do q=q+1 if q>999 then return r..'~0;}'end "
    "if a==i then i=i+1 else r=r..E(a,d+1)..'='end r=r..E(b,d+1)..';'end return r..'}'end "
    "return k=='number'and('d%.17g'):format(v)or k=='string'and's'..v:gsub('[^%w_./-]',"
    "function(c)return('%%%02X'):format(c:byte())end)or k=='boolean'and(v and't'or'f')or "
    "k=='nil'and'n'or'o'..k end ";
constexpr std::string_view kCompileExpression =
    "local f,e=loadstring(p..'return '..c,'=eval')"
    "if not f then f=loadstring(p..c,'=eval')end ";
constexpr std::string_view kCompileStatements = "local f,e=loadstring(p..c,'=eval')";
constexpr std::string_view kRun =
    "if not f then return'C;'..E(e,0)end return(function(o,...)local r=o and'R'or'E'"
    "for i=1,select('#',...)do r=r..';'..E((select(i,...)),0)end return r end)(pcall(f))";

/// A Lua literal of `text`, with blanks at which a long command can be split.
std::string quoted(std::string_view text) {
  constexpr std::size_t kPiece = 800, kEscapedPiece = 200;  // four bytes each at most
  const auto literal = [](std::string_view piece) {
    std::string out;
    append_text(out, {.kind = ValueKind::kString, .text = std::string(piece)});
    return out;
  };
  std::string pieces;
  int count = 0;
  do {
    auto piece = literal(text.substr(0, kPiece));
    const auto size = piece.size() > kPiece + 100 ? kEscapedPiece : kPiece;
    if (size == kEscapedPiece) piece = literal(text.substr(0, size));
    text.remove_prefix(std::min(size, text.size()));
    pieces.append(count == 0 ? "" : ", ").append(piece);
    ++count;
  } while (!text.empty());
  // Not with "..": Lua allows no more than 200 in one expression.
  return count == 1 ? pieces : "table.concat{" + pieces + "}";
}

bool begins_statement(std::string_view code) {
  constexpr std::array<std::string_view, 9> kWords{"return", "local", "if",    "for",     "while",
                                                   "repeat", "do",    "break", "function"};
  const auto tokens = lua::lex(code);
  if (!tokens) return false;
  const auto& first = tokens->tokens.front();
  const auto& second = tokens->tokens[std::min(std::size_t{1}, tokens->tokens.size() - 1)];
  // An expression may begin with an anonymous function.
  if (first.is("function") && second.is("(")) return false;
  return first.kind == lua::Token::Kind::kKeyword &&
         std::find(kWords.begin(), kWords.end(), first.text) != kWords.end();
}

/// "eval:1: unexpected symbol" without its place; Redis 6 also has "=eval: 1: ...".
std::string without_place(std::string_view message) {
  for (const std::string_view chunk : {"eval:", "ldb_eval:", "=eval: "}) {
    const auto at = message.find(chunk);
    if (at != 0) continue;
    auto end = chunk.size();
    while (end < message.size() && std::isdigit(static_cast<unsigned char>(message[end])) != 0) {
      ++end;
    }
    if (message.substr(end, 2) == ": ") return std::string(message.substr(end + 2));
  }
  return std::string(message);
}

/// Errors of Redis commands are tables since 7.0.
std::string error_message(const Value& error) {
  if (error.kind == ValueKind::kString) return without_place(error.text);
  if (error.kind == ValueKind::kTable) {
    for (const auto& [key, field] : error.fields) {
      if (key.kind == ValueKind::kString && key.text == "err" && field.kind == ValueKind::kString) {
        return without_place(field.text);
      }
    }
  }
  return text_of(error);
}

std::optional<Evaluation> parse_answer(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Evaluation result;
  const char form = text.front();
  text.remove_prefix(1);
  int depth = 0;
  while (!text.empty()) {
    text.remove_prefix(1);  // ';'
    std::size_t end = 0;
    for (; end < text.size() && (text[end] != ';' || depth > 0); ++end) {
      if (text[end] == '{') ++depth;
      if (text[end] == '}') --depth;
    }
    auto value = parse_told(text.substr(0, end));
    if (!value) return std::nullopt;
    result.values.push_back(*std::move(value));
    text.remove_prefix(end);
  }
  if (form == 'R') return result;
  if (result.values.empty()) return std::nullopt;
  result.outcome = form == 'C' ? Outcome::kCompileError : Outcome::kError;
  result.message = error_message(result.values.front());
  result.values.clear();
  return result;
}

/// Parses the server's own answer, without our encoder.
Evaluation plain_answer(const std::vector<std::string>& items) {
  for (std::string_view item : items) {
    if (item.starts_with(kValueItem))
      return {.values = {parse_printed(item.substr(kValueItem.size()))}};
    if (item.starts_with(kErrorItem)) {
      const auto text = item.substr(kErrorItem.size());
      return {.outcome = Outcome::kError,
              .message = without_place(text.substr(0, text.find_last_not_of(' ') + 1))};
    }
  }
  return {};
}

/// Parses the encoder's answer; none if it is not in that form.
std::optional<Evaluation> answer_of(const std::vector<std::string>& items) {
  for (std::string_view item : items) {
    if (!item.starts_with(kValueItem)) continue;
    const auto value = parse_printed(item.substr(kValueItem.size()));
    return value.kind == ValueKind::kString || value.kind == ValueKind::kRaw
               ? parse_answer(value.text)
               : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::set<std::string> names_in(std::string_view code) {
  std::set<std::string> names;
  const auto tokens = lua::lex(code);
  if (!tokens) return names;
  int braces = 0;
  for (std::size_t i = 0; i + 1 < tokens->tokens.size(); ++i) {  // the last token is kEnd
    const auto& token = tokens->tokens[i];
    if (token.is("{")) ++braces;
    if (token.is("}")) --braces;
    if (token.kind != lua::Token::Kind::kName) continue;
    const bool is_key = braces > 0 && tokens->tokens[i + 1].is("=");
    const bool is_field = i > 0 && (tokens->tokens[i - 1].is(".") || tokens->tokens[i - 1].is(":"));
    if (!is_field && !is_key) names.emplace(token.text);
  }
  return names;
}

std::string assigned_in(std::string_view code) {
  const auto tokens = lua::lex(code);
  if (!tokens || tokens->tokens.front().kind != lua::Token::Kind::kName) return {};
  int depth = 0;
  for (const auto& token : tokens->tokens) {
    if (token.is("(") || token.is("{")) ++depth;
    if (token.is(")") || token.is("}")) --depth;
    if (depth == 0 && token.is("=")) return std::string(tokens->tokens.front().text);
  }
  return {};
}

bool may_be_endless(std::string_view code) {
  constexpr std::array<std::string_view, 7> kWords{"while",      "repeat", "for", "function",
                                                   "loadstring", "load",   "rep"};
  const auto tokens = lua::lex(code);
  return tokens &&
         std::any_of(tokens->tokens.begin(), tokens->tokens.end(), [&](const auto& token) {
           const bool is_word =
               token.kind == lua::Token::Kind::kKeyword || token.kind == lua::Token::Kind::kName;
           return is_word && std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
         });
}

bool calls_functions(std::string_view expression) {
  const auto source = lua::lex(expression);
  if (!source) return true;
  // A call is an operand followed by its arguments; `function` begins an operand that can be
  // called.
  bool is_operand = false;
  for (const auto& token : source->tokens) {
    const bool is_string = token.kind == TokenKind::kString;
    const bool begins_arguments = is_string || token.is("(") || token.is("{") || token.is(":");
    if ((is_operand && begins_arguments) || token.is("function")) return true;
    is_operand = is_string || token.kind == TokenKind::kName || token.is(")") || token.is("]");
  }
  return false;
}

Evaluation evaluate(Session& session, std::string_view prelude, std::string_view code,
                    std::chrono::microseconds limit) {
  const bool is_statement = begins_statement(code);
  std::string text(kEncoder);
  text.append("local p,c=").append(quoted(prelude)).append(",").append(quoted(code)).append(" ");
  text.append(is_statement ? kCompileStatements : kCompileExpression).append(kRun);
  try {
    const auto message = session.ask({"eval", text}, limit);
    if (session.ended()) return {.outcome = Outcome::kCutOff, .message = session.why()};
    if (auto answer = answer_of(message.items)) return *std::move(answer);
    return plain_answer(message.items);
  } catch (const UsageError&) {
    // The code is too long.
  }
  // Fall back to the server's own evaluation.
  try {
    std::string shorter(prelude);
    if (!prelude.empty() && !is_statement) shorter += "return ";
    const auto message = session.ask({"eval", shorter.append(code)}, limit);
    if (session.ended()) return {.outcome = Outcome::kCutOff, .message = session.why()};
    return plain_answer(message.items);
  } catch (const UsageError&) {
    return {.outcome = Outcome::kError,
            .message = fmt::format("{} bytes of code{} are more than the debugger takes",
                                   prelude.size() + code.size(),
                                   prelude.empty() ? "" : " and copies of variables")};
  }
}

LocalWatch::Activation LocalWatch::owner_of(const ProbeReading::Variable& variable) const {
  return {script_->locals[variable.local].function, variable.activation};
}

/// Forgets variables that a probe of their function does not report: they have gone or are hidden
/// by another of the same name; each iteration of a loop has new ones.
void LocalWatch::forget_gone(const ProbeReading& reading) {
  const auto function = script_->probes[reading.probe].function;
  std::int64_t activation = 0;
  for (const auto& variable : reading.variables) {
    if (owner_of(variable).first == function) activation = variable.activation;
  }
  const auto frame = frames_.find({function, activation});
  if (frame == frames_.end()) return;
  std::erase_if(frame->second, [&](const auto& known) {
    const auto& name = script_->locals[known.first].name;
    return std::none_of(reading.variables.begin(), reading.variables.end(), [&](const auto& told) {
      return told.local == known.first || script_->locals[told.local].name == name;
    });
  });
}

std::vector<LocalChange> LocalWatch::changes(const ProbeReading& reading) {
  forget_gone(reading);
  std::vector<LocalChange> result;
  for (const auto& variable : reading.variables) {
    auto& frame = frames_[owner_of(variable)];
    const auto [known, is_new] = frame.try_emplace(variable.local, variable.value);
    if (!is_new && known->second == variable.value) continue;
    known->second = variable.value;
    result.push_back({script_->locals[variable.local], variable.value});
  }
  return result;
}

namespace {

/// "<value> NAME = VALUE"; none for Lua's own variables: "(for index)", `arg`.
std::optional<LocalChange> parse_local(std::string_view item, int line) {
  constexpr std::string_view kValue = "<value> ", kEquals = " = ";
  if (!item.starts_with(kValue)) return std::nullopt;
  item.remove_prefix(kValue.size());
  const auto equals = item.find(kEquals);
  if (equals == item.npos) return std::nullopt;
  const auto name = item.substr(0, equals), value = item.substr(equals + kEquals.size());
  if (name.starts_with('(') || (name == "arg" && value == "nil")) return std::nullopt;
  return LocalChange{.local = {.name = std::string(name), .declared_at = line},
                     .value = parse_printed(value)};
}

}  // namespace

std::vector<LocalChange> PrintedLocals::changes(const std::vector<std::string>& items,
                                                std::size_t depth, int line) {
  frames_.resize(std::max(depth, std::size_t{1}));
  auto& known = frames_.back();
  Frame now;
  for (const auto& item : items) {
    if (auto local = parse_local(item, line)) now.push_back(*std::move(local));
  }
  std::vector<LocalChange> result;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool is_known = i < known.size() && known[i].local.name == now[i].local.name;
    if (is_known) now[i].local = known[i].local;
    if (!is_known || !(known[i].value == now[i].value)) result.push_back(now[i]);
  }
  known = std::move(now);
  return result;
}

namespace {

/// Whether the server's debugger can have printed `value` as `printed`.
bool may_print_as(const Value& value, const Value& printed) {
  switch (value.kind) {
    case Value::Kind::kNil:
    case Value::Kind::kBoolean:
    case Value::Kind::kString:
      return value == printed;
    case Value::Kind::kNumber:
      return printed.kind == Value::Kind::kNumber &&
             fmt::format("{:g}", value.number) == fmt::format("{:g}", printed.number);
    default:
      return printed.kind != Value::Kind::kNil && printed.kind != Value::Kind::kBoolean &&
             printed.kind != Value::Kind::kNumber && printed.kind != Value::Kind::kString;
  }
}

}  // namespace

void VisibleLocals::hear(const ProbedScript& script, const ProbeReading& reading) {
  if (!watch_) watch_.emplace(script);
  readings_[script.probes[reading.probe].function] = reading;
  last_reading_ = reading;
  heard_ = true;
  told_.insert(script.probes[reading.probe].function);
}

std::size_t VisibleLocals::function_at(const ProbedScript& script, int line) const {
  const auto around = script.function_around(line);
  if (!last_reading_) return around;
  const auto& probe = script.probes[last_reading_->probe];
  if (probe.line == line) return probe.function;
  // At an `end`, either this function returns or the enclosing one has just created it; the latter
  // reported nothing.
  const auto& lines = script.functions[probe.function];
  return lines.first == line || lines.last == line ? probe.function : around;
}

const ProbeReading* VisibleLocals::reading_here() const {
  const auto found = readings_.find(function_);
  return found == readings_.end() ? nullptr : &found->second;
}

void VisibleLocals::take_printed(const std::vector<std::string>& items) {
  for (const auto& printed : PrintedLocals().changes(items, 1, 0)) {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (it->local.name != printed.local.name) continue;
      const bool is_own = it->local.function == function_;
      if (is_own && !may_print_as(it->value, printed.value)) it->value = printed.value;
      break;
    }
  }
}

/// Variables may have come, gone and changed since the reading: the server knows the function's
/// own.
void VisibleLocals::replace_outdated(Walk& walk) {
  const auto& declared = walk.script().locals;
  const auto known = std::exchange(locals_, {});
  std::copy_if(known.begin(), known.end(), std::back_inserter(locals_),
               [this](const auto& one) { return one.local.function != function_; });
  const auto items = walk.session().ask({"print"}).items;
  for (const auto& printed : PrintedLocals().changes(items, 1, 0)) {
    const auto& name = printed.local.name;
    // The text that runs has variables of ours, too.
    const auto local = std::find_if(declared.begin(), declared.end(), [&](const Local& one) {
      return one.name == name && one.function == function_;
    });
    if (local == declared.end()) continue;
    const auto exact = std::find_if(known.begin(), known.end(), [&](const auto& one) {
      return one.local.name == name && may_print_as(one.value, printed.value);
    });
    locals_.push_back({*local, exact == known.end() ? printed.value : exact->value});
  }
}

void VisibleLocals::look(Walk& walk, bool in_midst) {
  locals_.clear();
  function_ = function_at(walk.script(), walk.line());
  const bool was_here = std::exchange(line_, walk.line()) == walk.line();
  const bool is_told = std::exchange(heard_, false) || !was_here;
  if (!walk.has_probes()) {
    printed_items_ = walk.session().ask({"print"}).items;
    locals_ = PrintedLocals().changes(printed_items_, 1, walk.line());
    return;
  }
  const auto* reading = reading_here();
  const bool is_outdated = was_muted_ && !told_.contains(function_);
  if (reading == nullptr && !is_outdated) return;
  if (reading != nullptr) {
    for (const auto& variable : reading->variables) {
      locals_.push_back({walk.script().locals[variable.local], variable.value});
    }
  }
  if (is_outdated) {
    replace_outdated(walk);
  } else if (in_midst || !is_told) {
    take_printed(walk.session().ask({"print"}).items);
  }
}

std::vector<LocalChange> VisibleLocals::changes(Walk& walk) {
  if (!walk.has_probes()) {
    constexpr std::size_t kDeepest = 1000;
    const auto depth = walk.script().may_have_functions() ? std::min(walk.frames().size(), kDeepest)
                                                          : std::size_t{1};
    return walk.ended() ? std::vector<LocalChange>()
                        : printed_.changes(printed_items_, depth, walk.line());
  }
  const auto* reading = reading_here();
  return reading == nullptr || !watch_ ? std::vector<LocalChange>() : watch_->changes(*reading);
}

const VisibleLocal* VisibleLocals::find(std::string_view name) const noexcept {
  for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
    if (it->local.name == name) return &*it;
  }
  return nullptr;
}

VisibleLocals::Found VisibleLocals::find(const VariablePath& path) const {
  const auto* root = find(path.root);
  if (root == nullptr) return {};
  auto value = root->value;
  std::string so_far = path.root;
  for (const auto& step : path.steps) {
    const auto* variable = step.variable.empty() ? nullptr : find(step.variable);
    if (!step.variable.empty() && variable == nullptr) return {};
    auto field = field_of(value, variable == nullptr ? step.key : variable->value);
    if (value.kind == Value::Kind::kCycle)
      return {.why_not = so_far + " is a table that holds itself"};
    if (!field && value.kind == Value::Kind::kTable) {
      return {.why_not = so_far + " is too large to be told as a whole"};
    }
    if (!field) return {};
    so_far += step.key.kind == Value::Kind::kString ? "." + step.key.text : "[...]";
    value = *std::move(field);
  }
  return {.value = std::move(value)};
}

std::string VisibleLocals::copies_for(std::string_view code,
                                      const std::function<bool(std::string_view)>& absent) const {
  std::string names, values;
  const auto add = [&](std::string_view name, std::string_view value) {
    names.append(names.empty() ? "" : ",").append(name);
    values.append(values.empty() ? "" : ",").append(value);
  };
  for (const auto& name : names_in(code)) {
    std::string literal;
    const auto* local = find(name);
    if (local != nullptr && append_literal(literal, local->value)) {
      add(name, literal);
    } else if (local == nullptr && absent(name)) {
      add(name, "rawget(_G,'" + name + "')");
    }
  }
  return names.empty() ? "" : "local " + names + "=" + values + " ";
}

std::string VisibleLocals::why_not_copied(std::string_view code) const {
  for (const auto& name : names_in(code)) {
    std::string literal;
    const auto* local = find(name);
    if (local == nullptr || append_literal(literal, local->value)) continue;
    const bool is_table =
        local->value.kind == Value::Kind::kTable || local->value.kind == Value::Kind::kCycle;
    return fmt::format("'{}' is {} that cannot be copied here", name,
                       is_table ? "a table" : "a " + text_of(local->value));
  }
  return {};
}

}  // namespace rlctl::ldb
