#include "ldb/redis_debugger.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "base/wait.h"
#include "lua/lexer.h"

namespace rlctl::ldb {
namespace {

using debugger::Call;
using debugger::Halt;
using debugger::Lack;
using Outcome = lua::Evaluation::Outcome;

constexpr std::string_view kMessageItem = "<debug> ", kVariableItem = "<value> ";
/// How Valkey 9 begins an error of code to evaluate.
constexpr std::string_view kCompileErrorItem = "Error compiling code: ";

/// Redis keeps this many breakpoints.
constexpr std::size_t kMaxBreakpoints = 64;
/// A script that runs as long as this without a stop may never end.
constexpr std::chrono::seconds kLongestRun{5};
/// An evaluation that takes longer cannot be stopped, except by the end of its server.
constexpr std::chrono::seconds kLongestEvaluation{2};

/// The rest of an item after its prefix.
std::optional<std::string_view> after(std::string_view item, std::string_view prefix) {
  if (!item.starts_with(prefix)) return std::nullopt;
  return item.substr(prefix.size());
}

/// "-ERR text  " as "text", "-WRONGTYPE text" without the dash.
std::string error_text(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  for (const std::string_view start : {"-", "ERR "}) {
    if (text.starts_with(start)) text.remove_prefix(start.size());
  }
  return std::string(text);
}

/// The error that an item tells.
std::optional<std::string> error_in(std::string_view item) {
  for (const auto prefix : {kErrorItem, kCompileErrorItem}) {
    if (const auto error = after(item, prefix)) return error_text(*error);
  }
  return std::nullopt;
}

/// The words of a call without the number of those that are left out, which Redis miscounts:
/// "MGET a b ... (2 more)".
std::vector<std::string> words_of_call(std::string_view text) {
  constexpr std::string_view kDots = " ... (", kEnd = " more)";
  const auto at = text.rfind(kDots);
  if (at != text.npos && text.ends_with(kEnd)) text = text.substr(0, at + 4);
  std::vector<std::string> words;
  for (auto blank = text.find(' '); blank != text.npos; blank = text.find(' ')) {
    words.emplace_back(text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  words.emplace_back(text);
  return words;
}

/// What the items of a message tell: without a stop, and the results of code.
struct Told {
  Halt halt = {};
  std::vector<std::string> values = {};
};

/// Adds an error to the last call, unless that one has a reply. Valkey 9 tells an error as a reply
/// first.
void add_error(Halt& halt, std::string error) {
  auto* call = halt.calls.empty() ? nullptr : &halt.calls.back();
  if (call != nullptr && call->reply.find(error) != std::string::npos) call->reply.clear();
  if (call == nullptr || call->error || !call->reply.empty()) {
    halt.errors.push_back(std::move(error));
  } else {
    call->error = std::move(error);
  }
}

void add(Told& told, std::string_view item) {
  auto& halt = told.halt;
  if (const auto call = after(item, kCallItem)) {
    halt.calls.push_back({.words = words_of_call(*call)});
  } else if (auto error = error_in(item)) {
    add_error(halt, *std::move(error));
  } else if (const auto message = after(item, kMessageItem)) {
    halt.messages.push_back({.text = std::string(*message)});
  } else if (const auto value = after(item, kValueItem)) {
    told.values.emplace_back(*value);
  } else if (const auto reply = after(item, kReplyItem); reply && !halt.calls.empty()) {
    // An error that the script catches is told twice: as an error, and as a reply.
    if (!halt.calls.back().error) halt.calls.back().reply = *reply;
  } else {
    halt.errors.emplace_back(reply.value_or(item));
  }
}

Told told_by(const Message& message) {
  Told told;
  for (const auto& item : message.items) add(told, item);
  return told;
}

/// The error of code, or of a call: its own, or that of the last call.
std::optional<std::string> error_of(const Halt& told) {
  if (!told.errors.empty()) return told.errors.front();
  return told.calls.empty() ? std::nullopt : told.calls.back().error;
}

/// The number in "->#12  local a = 1".
int line_in(std::string_view listed) {
  int line = 0;
  listed.remove_prefix(std::min(listed.find_first_of("0123456789"), listed.size()));
  std::from_chars(listed.data(), listed.data() + listed.size(), line);
  return line;
}

/// Whether code may not terminate or may run long: it contains a loop or a function, loads code
/// from a string, or repeats a string.
bool may_be_endless(std::string_view code) {
  // A string's token has quotes around these words.
  static constexpr std::string_view kWords[] = {"while",      "repeat", "for", "function",
                                                "loadstring", "load",   "rep"};
  const auto tokens = lua::lex(code);
  return tokens && std::ranges::any_of(tokens->tokens, [](const auto& token) {
           return std::ranges::find(kWords, token.text) != std::end(kWords);
         });
}

/// Whether a text of Redis's debugger has a number, outside of strings, with as many digits as it
/// shows at most.
bool may_be_rounded(std::string_view text) {
  constexpr int kMaxDigits = 6;
  bool is_quoted = false;
  int digits = 0;
  for (std::size_t i = 0; i < text.size() && digits < kMaxDigits; ++i) {
    if (text[i] == '\\') {
      ++i;  // what follows is a part of the string
      continue;
    }
    if (text[i] == '"') is_quoted = !is_quoted;
    if (is_quoted || text[i] == '.') continue;
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (text[i] == 'e' && digits > 0) return true;
    // Zeros at the start of a number are no digits of its value.
    if (!is_digit || text[i] != '0' || digits > 0) digits = is_digit ? digits + 1 : 0;
  }
  return digits >= kMaxDigits;
}

}  // namespace

// ---- What Redis's debugger prints ----

void RedisDebugger::note_if_rounded(std::string_view text) {
  if (has_rounded_ || !may_be_rounded(text)) return;
  has_rounded_ = true;
  lacks_.emplace_back("rounds numbers to six digits");
}

lua::Value RedisDebugger::shown(std::string text) {
  note_if_rounded(text);
  return {.kind = lua::Value::Kind::kOpaque, .text = std::move(text)};
}

// ---- Moving ----

/// Makes a halt of what a message tells; if the script has ended, reads how.
Halt RedisDebugger::arrive(const Message& message) {
  using Why = Halt::Why;
  // In the order of Stop::Reason.
  static constexpr std::array kWhys{Why::kStepped, Why::kBreakpoint, Why::kCalledFor,
                                    Why::kStopped};
  auto halt = told_by(message).halt;
  halt.messages.insert(halt.messages.begin(), messages_.begin(), messages_.end());
  messages_.clear();
  for (const auto& one : halt.messages) note_if_rounded(one.text);
  if (message.stop) {
    line_ = message.stop->line;
    last_line_ = line_;
    halt.why = kWhys.at(static_cast<std::size_t>(message.stop->reason));
  } else {
    read_result();
    halt.why = Why::kEnded;
  }
  halt.line = line_;
  return halt;
}

/// Reads how the session has ended.
void RedisDebugger::read_result() {
  result_ = {.ending = session_->ending(), .message = session_->why()};
  if (result_.ending != Ending::kReturned && session_->reply()) {
    auto error = explain_error(*session_->reply(), debuggee_.source, last_line_);
    result_.message = std::move(error.message);
    result_.error_line = error.line;
  }
  result_.reply = session_->take_reply();
}

Halt RedisDebugger::start() {
  session_.emplace(options_.open_session());
  line_ = 0;
  last_line_ = 0;
  messages_.clear();
  auto halt = arrive(session_->start(debuggee_));
  if (!running()) return halt;
  halt.why = Halt::Why::kStarted;
  ask({"maxlen", "0"});
  for (const auto& [line, ignored] : breakpoints_) ask({"break", std::to_string(line)});
  return halt;
}

Halt RedisDebugger::step() {
  return arrive(session_->step());
}

Halt RedisDebugger::go_on() {
  const auto end = Clock::now() + kLongestRun;
  last_line_.reset();
  // A server looks at its clock after a run only; one of rlctl's own does so a hundred times a
  // second. Valkey 9 never does: there, rlctl steps.
  const bool steps = session_->is_valkey_9();
  const auto pause = steps ? Stop::Reason::kStep : Stop::Reason::kTimeout;
  Message all;
  for (bool goes_on = running(); goes_on;) {
    auto message = steps ? session_->step() : session_->run();
    for (auto& item : message.items) {
      if (!steps || item.starts_with(kMessageItem)) all.items.push_back(std::move(item));
    }
    all.stop = message.stop;
    goes_on = all.stop && all.stop->reason == pause && !wants_stop() && Clock::now() < end;
  }
  if (all.stop && all.stop->reason == pause) {
    all.stop->reason = Stop::Reason::kTimeout;
    if (!wants_stop()) lacks_.emplace_back("stops a script that has run for five seconds");
  }
  return arrive(all);
}

Halt RedisDebugger::abort_script() {
  session_->abort_script();
  const auto ending = session_->ending();
  if (ending == Ending::kReturned || ending == Ending::kRunTimeError) {
    lacks_.emplace_back("cannot abort a script that catches errors");
  }
  return arrive({});
}

// ---- Looking ----

/// Sends a command unless the script has ended; the answer is empty then, and if it ends now.
Message RedisDebugger::ask(const std::vector<std::string>& words,
                           std::optional<std::chrono::microseconds> limit) {
  if (!running()) return {};
  auto answer = session_->ask(words, limit);
  if (!running()) read_result();
  return answer;
}

std::vector<lua::Variable> RedisDebugger::read_variables() {
  std::vector<lua::Variable> found;
  for (const auto& item : ask({"print"}).items) {
    const auto text = after(item, kVariableItem);
    const auto equals = text ? text->find(" = ") : std::string_view::npos;
    // "(for index)" and the like are Lua's own.
    if (equals == std::string_view::npos || text->starts_with('(')) continue;
    lua::Variable variable{.name = std::string(text->substr(0, equals)),
                           .value = {.kind = lua::Value::Kind::kOpaque,
                                     .text = std::string(text->substr(equals + 3))}};
    std::erase_if(found, [&](const auto& other) { return other.name == variable.name; });
    found.push_back(std::move(variable));
  }
  return found;
}

std::vector<lua::Variable> RedisDebugger::variables() {
  auto all = read_variables();
  for (const auto& variable : all) note_if_rounded(variable.value.text);
  return all;
}

lua::Evaluation RedisDebugger::look_up(std::string_view expression) {
  if (!lua::is_name(expression)) throw Lack("prints variables, not expressions");
  const auto all = read_variables();
  const auto local = std::ranges::find(all, expression, &lua::Variable::name);
  if (local != all.end()) return {.values = {shown(local->value.text)}};
  const auto message = ask({"print", std::string(expression)});
  for (const auto& item : message.items) {
    const auto value = after(item, kVariableItem);
    if (!value) continue;
    if (expression != "KEYS" && expression != "ARGV") {
      lacks_.emplace_back("takes the first variable of this name in a calling function");
    }
    return {.values = {shown(std::string(*value))}};
  }
  if (running()) lacks_.emplace_back("shows no upvalues");
  return {.outcome = Outcome::kError,
          .message = "no variable '" + std::string(expression) + "' here"};
}

lua::Evaluation RedisDebugger::evaluate(std::string_view code) {
  if (!options_.may_hang && may_be_endless(code)) {
    throw UsageError(
        "on a server that is not private, loops, functions and rep() are refused: nothing could "
        "stop them");
  }
  const auto told = told_by(ask({"eval", std::string(code)}, kLongestEvaluation));
  const auto& messages = told.halt.messages;
  messages_.insert(messages_.end(), messages.begin(), messages.end());
  lua::Evaluation result;
  for (const auto& value : told.values) result.values.push_back(shown(value));
  if (!running() || !result.values.empty()) return result;
  result = {.outcome = Outcome::kError, .message = error_of(told.halt).value_or("")};
  if (result.message.find("global variable") != result.message.npos) {
    lacks_.emplace_back("evaluates globals only");
  }
  return result;
}

Call RedisDebugger::call(const std::vector<std::string>& words) {
  if (!running()) throw Lack("calls Redis only while a script stands still");
  std::vector<std::string> command{"redis"};
  command.insert(command.end(), words.begin(), words.end());
  const auto told = told_by(ask(command)).halt;
  Call call{.words = words, .error = error_of(told)};
  if (!told.calls.empty()) call.reply = told.calls.back().reply;
  return call;
}

std::vector<lua::Frame> RedisDebugger::backtrace() {
  std::vector<lua::Frame> functions;
  for (const auto& item : ask({"trace"}).items) {
    auto name = after(item, "In ");
    if (!name) name = after(item, "From ");
    if (name && name->ends_with(':')) {
      functions.push_back({.name = std::string(name->substr(0, name->size() - 1))});
    } else if (!functions.empty() && functions.back().line == 0) {
      functions.back().line = line_in(item);
    }
  }
  return functions;
}

// ---- Breakpoints ----

void RedisDebugger::add_breakpoint(debugger::Breakpoint breakpoint) {
  if (!breakpoint.condition.empty()) throw Lack("has no conditions");
  const int line = breakpoint.line;
  const bool is_new = !breakpoints_.contains(line);
  if (is_new && breakpoints_.size() >= kMaxBreakpoints) throw Lack("keeps 64 breakpoints");
  Debugger::add_breakpoint(std::move(breakpoint));
  if (is_new) ask({"break", std::to_string(line)});
}

bool RedisDebugger::remove_breakpoint(int line) {
  const bool was_there = Debugger::remove_breakpoint(line);
  if (was_there) ask({"break", std::to_string(-line)});
  return was_there;
}

void RedisDebugger::clear_breakpoints() {
  Debugger::clear_breakpoints();
  ask({"break", "0"});
}

}  // namespace rlctl::ldb
