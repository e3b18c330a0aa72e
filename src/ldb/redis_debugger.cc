#include "ldb/redis_debugger.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/wait.h"
#include "lua/lexer.h"

namespace rlctl::ldb {
namespace {

using PieceKind = Printed::Kind;

constexpr std::string_view kMessageItem = "<debug> ", kVariableItem = "<value> ";
/// How Valkey 9 begins an error of code to evaluate.
constexpr std::string_view kCompileErrorItem = "Error compiling code: ";

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
std::string call_text(std::string_view text) {
  constexpr std::string_view kDots = " ... (", kEnd = " more)";
  const auto at = text.rfind(kDots);
  if (at != text.npos && text.ends_with(kEnd)) text = text.substr(0, at + 4);
  return std::string(text);
}

/// Adds an item to the pieces. An error that the script catches is told twice: as an error, and as
/// a reply.
void add(RedisDebugger::Pieces& pieces, std::string_view item) {
  const bool is_after_call = !pieces.empty() && pieces.back().kind == PieceKind::kCall;
  const bool is_after_error = !pieces.empty() && pieces.back().kind == PieceKind::kError;
  if (const auto call = after(item, kCallItem)) {
    pieces.push_back({PieceKind::kCall, call_text(*call)});
  } else if (const auto error = error_in(item)) {
    // Valkey 9 tells the reply first.
    if (is_after_call && pieces.back().reply.find(*error) != std::string::npos) {
      pieces.back().reply.clear();
    }
    pieces.push_back({PieceKind::kError, *error});
  } else if (const auto message = after(item, kMessageItem)) {
    pieces.push_back({PieceKind::kMessage, std::string(*message)});
  } else if (const auto value = after(item, kValueItem)) {
    pieces.push_back({PieceKind::kValue, std::string(*value)});
  } else if (const auto reply = after(item, kReplyItem); !reply) {
    pieces.push_back({PieceKind::kOther, std::string(item)});
  } else if (is_after_call) {
    pieces.back().reply = *reply;
  } else if (!is_after_error) {
    pieces.push_back({PieceKind::kOther, std::string(*reply)});
  }
}

RedisDebugger::Pieces pieces_of(const Message& message) {
  RedisDebugger::Pieces pieces;
  for (const auto& item : message.items) add(pieces, item);
  return pieces;
}

/// The number in "->#12  local a = 1".
int line_in(std::string_view listed) {
  int line = 0;
  listed.remove_prefix(std::min(listed.find_first_of("0123456789"), listed.size()));
  std::from_chars(listed.data(), listed.data() + listed.size(), line);
  return line;
}

}  // namespace

bool may_be_endless(std::string_view code) {
  // A string's token has quotes around these words.
  static constexpr std::string_view kWords[] = {"while",      "repeat", "for", "function",
                                                "loadstring", "load",   "rep"};
  const auto tokens = lua::lex(code);
  return tokens && std::ranges::any_of(tokens->tokens, [](const auto& token) {
           return std::ranges::find(kWords, token.text) != std::end(kWords);
         });
}

// ---- Moving ----

void RedisDebugger::arrive_at(const Stop& stop) {
  stop_ = stop;
  last_line_ = stop.line;
}

RedisDebugger::Pieces RedisDebugger::arrive(const Message& message) {
  if (message.stop) arrive_at(*message.stop);
  return pieces_of(message);
}

RedisDebugger::Pieces RedisDebugger::start(Session session, const Debuggee& debuggee) {
  session_.emplace(std::move(session));
  last_line_ = 0;
  auto pieces = arrive(session_->start(debuggee, debuggee.source));
  if (!running()) return pieces;
  ask_if_running({"maxlen", "0"});
  const auto line_count = static_cast<int>(lua::source_lines(debuggee.source).size());
  breakpoints_.erase(breakpoints_.upper_bound(line_count), breakpoints_.end());
  for (const int line : breakpoints_) ask_if_running({"break", std::to_string(line)});
  return pieces;
}

RedisDebugger::Pieces RedisDebugger::step() {
  return arrive(session_->step());
}

RedisDebugger::Pieces RedisDebugger::resume() {
  const auto end = Clock::now() + kLongestRun;
  last_line_.reset();
  // A server looks at its clock after a run only; one of rlctl's own does so a hundred times a
  // second. Valkey 9 never does: there, rlctl steps.
  const bool steps = session_->is_valkey_9();
  const auto pause = steps ? Stop::Reason::kStep : Stop::Reason::kTimeout;
  Pieces pieces;
  Message message;
  for (bool goes_on = running(); goes_on;) {
    message = steps ? session_->step() : session_->run();
    for (const std::string_view item : message.items) {
      if (!steps || item.starts_with(kMessageItem)) add(pieces, item);
    }
    goes_on = message.stop && message.stop->reason == pause && !wants_stop_() && Clock::now() < end;
  }
  if (message.stop) arrive_at(*message.stop);
  if (stop_.reason == pause) stop_.reason = Stop::Reason::kTimeout;
  return pieces;
}

void RedisDebugger::abort_script() {
  session_->abort_script();
}

// ---- Looking ----

void RedisDebugger::ask_if_running(const std::vector<std::string>& words) {
  if (running()) session_->ask(words);
}

std::vector<Variable> RedisDebugger::variables() {
  std::vector<Variable> found;
  for (const auto& item : session_->ask({"print"}).items) {
    const auto text = after(item, kVariableItem);
    const auto equals = text ? text->find(" = ") : std::string_view::npos;
    // "(for index)" and the like are Lua's own.
    if (equals == std::string_view::npos || text->starts_with('(')) continue;
    Variable variable{std::string(text->substr(0, equals)), std::string(text->substr(equals + 3))};
    std::erase_if(found, [&](const Variable& other) { return other.name == variable.name; });
    found.push_back(std::move(variable));
  }
  return found;
}

std::optional<std::string> RedisDebugger::find_elsewhere(std::string_view name) {
  for (const auto& item : session_->ask({"print", std::string(name)}).items) {
    if (const auto value = after(item, kVariableItem)) return std::string(*value);
  }
  return std::nullopt;
}

RedisDebugger::Pieces RedisDebugger::evaluate(std::string_view code) {
  return pieces_of(session_->ask({"eval", std::string(code)}, kLongestEvaluation));
}

RedisDebugger::Pieces RedisDebugger::call(const std::vector<std::string>& words) {
  std::vector<std::string> command{"redis"};
  command.insert(command.end(), words.begin(), words.end());
  return pieces_of(session_->ask(command));
}

std::vector<StackEntry> RedisDebugger::functions() {
  std::vector<StackEntry> functions;
  for (const auto& item : session_->ask({"trace"}).items) {
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

void RedisDebugger::add_breakpoint(int line) {
  if (breakpoints_.insert(line).second) ask_if_running({"break", std::to_string(line)});
}

void RedisDebugger::remove_breakpoint(int line) {
  if (breakpoints_.erase(line) > 0) ask_if_running({"break", std::to_string(-line)});
}

void RedisDebugger::clear_breakpoints() {
  breakpoints_.clear();
  ask_if_running({"break", "0"});
}

}  // namespace rlctl::ldb
