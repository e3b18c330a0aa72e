#include "cli/commands/debug/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/time.h"
#include "lua/lexer.h"
#include "lua/value.h"
#include "redis/error.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;
using redis::ReplyType;
using Outcome = lua::Evaluation::Outcome;
using Why = debugger::Halt::Why;

// ---- Words ----

/// Formats a word of a command, in quotes if necessary; UTF-8 needs none.
std::string word_text(std::string_view word) {
  if (!word.empty() && escaped_text(word) == word && word.find_first_of("\"'") == word.npos) {
    return std::string(word);
  }
  std::string quoted;
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return '"' + escaped_message(quoted) + '"';
}

/// The element of a table that an array's element comes from; null if it is not known.
const lua::Value* element(const lua::Value* table, std::size_t index) {
  if (table == nullptr || index >= table->fields.size()) return nullptr;
  const auto& [key, field] = table->fields[index];
  return key.number == static_cast<double>(index + 1) ? &field : nullptr;
}

/// Formats a reply in Lua's notation: {0, "a", nil, +OK, -ERR no}. `from`: the value that the
/// script returned; null if it is not known.
std::string reply_text(redis::ReplyView reply, const lua::Value* from) {
  switch (reply.type()) {
    case ReplyType::kNil:
      return "nil";
    case ReplyType::kInteger:
      if (from != nullptr && from->kind == lua::Value::Kind::kNumber &&
          from->number != static_cast<double>(reply.integer())) {
        return fmt::format("{} (cut from {})", reply.integer(), lua::text_of(*from));
      }
      return std::to_string(reply.integer());
    case ReplyType::kString:
      return lua::text_of({.kind = lua::Value::Kind::kString, .text = std::string(reply.text())});
    case ReplyType::kStatus:
    case ReplyType::kError:
      return (reply.is_error() ? "-" : "+") + escaped_message(reply.text());
    case ReplyType::kArray:
      break;
  }
  std::string out;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    out.append(i == 0 ? "" : ", ").append(reply_text(reply[i], element(from, i)));
  }
  return '{' + out + '}';
}

/// Formats how a run ended that did not return, not escaped: "error at line 12: ...".
std::string ending_text(const debugger::RunResult& result) {
  // In the order of debugger::Ending, after kReturned.
  static constexpr std::array kTexts{"refused", "does not compile", "error", "aborted", "cut off",
                                     "lost",    "ended early"};
  std::string text = kTexts.at(static_cast<std::size_t>(result.ending) - 1);
  if (result.error_line > 0) {
    text += result.ending == Ending::kCompileError ? ", line " : " at line ";
    text += std::to_string(result.error_line);
  }
  if (result.ending == Ending::kAborted) return text;
  text += ": " + result.message;
  return result.ending == Ending::kNotImplemented ? fmt::format("{}; {}", text, kOnServer) : text;
}

/// Formats why the script, which has not ended, stopped: ", breakpoint if count > 3"; empty after a
/// step.
std::string reason_text(const debugger::Halt& halt, const View::Breakpoints& breakpoints) {
  // In the order of debugger::Halt::Why, before kEnded.
  static constexpr std::array kTexts{", at the beginning",   "",          ", breakpoint",
                                     ", redis.breakpoint()", ", watched", ", stopped",
                                     ", before a call",      ", error"};
  std::string text = kTexts.at(static_cast<std::size_t>(halt.why));
  const auto found = breakpoints.find(halt.line);
  if (halt.why != Why::kBreakpoint || found == breakpoints.end()) return text;
  const auto& condition = found->second.condition;
  return text + (condition.empty() ? "" : " if " + escaped_message(condition));
}

std::string count_text(std::int64_t hits) {
  return hits == 0 ? "***0" : fmt::format("{}x", hits);
}

}  // namespace

// ---- How a run ended ----

std::optional<Problem> problem_of(const debugger::RunResult& result) {
  if (result.ending == Ending::kLost) {
    return Problem{
        .status = ExitStatus::kUnreachable, .code = "unreachable", .message = result.message};
  }
  if (result.ending != Ending::kRefused) return std::nullopt;
  if (result.reply && result.reply->is_error()) return describe(redis::to_error(*result.reply));
  return Problem{.status = ExitStatus::kRejected, .code = "rejected", .message = result.message};
}

ExitStatus status_of(const debugger::RunResult& result) {
  if (result.ending == Ending::kCutOff) return ExitStatus::kDenied;
  if (result.ending == Ending::kNotImplemented) return ExitStatus::kUsage;
  if (const auto problem = problem_of(result)) return problem->status;
  // As in other commands, an error reply of a script means rejected.
  const bool is_good =
      result.ending == Ending::kReturned && result.reply && !result.reply->is_error();
  return is_good ? ExitStatus::kDone : ExitStatus::kRejected;
}

std::string command_text(const debugger::Call& call) {
  std::string out;
  for (const auto& word : call.words) {
    out.append(out.empty() ? "" : " ").append(word_text(word));
  }
  return out;
}

std::optional<std::string> returned_text(const debugger::RunResult& result, bool tells_cuts) {
  if (result.ending != Ending::kReturned || !result.reply) return std::nullopt;
  const auto* from = result.returned && tells_cuts ? &*result.returned : nullptr;
  return reply_text(*result.reply, from);
}

View::View(std::string& out, const Look& look, const debugger::Debuggee& debuggee,
           const ViewOptions& options)
    : out_(out), look_(look), debuggee_(debuggee), options_(options) {
  read_source();
}

// ---- Pieces ----

std::string View::shortened(std::string text) const {
  const auto maxlen = options_.maxlen;
  if (maxlen == 0 || text.size() <= maxlen) return text;
  auto size = maxlen;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  text.resize(size);
  return text.append(" ...");
}

std::string View::value_text(const lua::Value& value) const {
  return shortened(escaped_message(lua::text_of(value)));
}

/// Formats the values on one line: "3", "1, nil", "(error: ...)".
std::string View::short_text(const lua::Evaluation& evaluation) const {
  if (evaluation.outcome != Outcome::kValues) {
    return shortened("(error: " + escaped_message(evaluation.message) + ")");
  }
  std::string text;
  for (const auto& value : evaluation.values) {
    text.append(text.empty() ? "" : ", ").append(escaped_message(lua::text_of(value)));
  }
  return text.empty() ? "(no value)" : shortened(std::move(text));
}

void View::say(std::string_view text) {
  out_ += escaped_message(text);
  out_ += '\n';
}

void View::error(std::string_view message) {
  last_error_ = escaped_message(message);
  out_ += tone("!", Tone::kBad) + "   " + tone(shortened(last_error_), Tone::kBad) + '\n';
}

/// Shows "debug> 1, 2" for redis.debug(1, 2), "log> notice: text" for redis.log().
void View::message(const debugger::ScriptMessage& message) {
  const bool is_log = !message.level.empty();
  out_ += bar() + tone(is_log ? "log>" : "debug>", Tone::kDim) + " " +
          (is_log ? message.level + ": " : "") + shortened(escaped_message(message.text)) + '\n';
}

// ---- The source ----

void View::read_source() {
  source_ = lua::source_lines(debuggee_.shown_source());
}

std::string_view View::bytes(int number) const {
  const auto index = static_cast<std::size_t>(number) - 1;
  return index < source_.size() ? source_[index] : std::string_view();
}

std::string View::source_line(int number) const {
  std::string out;
  for (const char c : bytes(number)) {
    out.append(c == '\t' ? "    " : std::string_view(&c, 1));
  }
  return escaped_message(out);
}

std::string View::statement(int number) const {
  auto text = source_line(number);
  return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

std::string View::place(int number) const {
  return fmt::format("{}:{}", escaped_message(debuggee_.name), number);
}

// ---- A stop ----

void View::halt(const debugger::Halt& halt, const Breakpoints& breakpoints) {
  if (halt.calls_before > 0) {
    out_ += bar() + fmt::format("{} calls before these\n", halt.calls_before);
  }
  for (const auto& one : halt.calls) call(one);
  if (halt.messages_before > 0) {
    out_ += bar() + fmt::format("{} messages before these\n", halt.messages_before);
  }
  for (const auto& one : halt.messages) message(one);
  for (const auto& one : halt.errors) error(one);
  for (const auto& change : halt.changed) variable(change);
  for (const auto& change : halt.watches) {
    out_ += bar() + tone(fmt::format("watch {}:", change.watch.number), Tone::kWarning) + " " +
            escaped_message(change.watch.expression) + ": " + short_text(change.before) +
            (look_.utf8 ? " → " : " -> ") + short_text(change.watch.last) + '\n';
  }
  if (halt.why == Why::kEnded) return;
  if (!halt.condition_error.empty()) {
    error("the breakpoint's condition: " + halt.condition_error);
  }
  out_ += fmt::format("{} {}{}\n", tone("*", Tone::kGood), place(halt.line),
                      reason_text(halt, breakpoints));
  constexpr int kAround = 2;  // lines shown before and after the current one
  source(halt.line - kAround, halt.line + kAround, halt.line, breakpoints);
}

void View::source(int first, int last, int current, const Breakpoints& breakpoints) {
  const int end = std::min(last, line_count());
  const auto width = std::to_string(line_count()).size();
  for (int number = std::max(first, 1); number <= end; ++number) {
    const bool is_current = number == current;
    out_ += tone(is_current ? "->" : "  ", is_current ? Tone::kGood : Tone::kPlain);
    out_ += tone(breakpoints.contains(number) ? "#" : " ", Tone::kBad);
    out_ += tone(fmt::format("{:<{}}", number, width), Tone::kDim);
    const auto text = source_line(number);
    if (!text.empty()) out_ += "  " + (is_current ? tone(text, Tone::kLabel) : text);
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
  }
}

// ---- Answers ----

void View::variable(const lua::Variable& variable) {
  out_ += bar() + tone(escaped_message(variable.name) + ":", Tone::kLabel) + " " +
          value_text(variable.value) + '\n';
}

void View::call(const debugger::Call& call) {
  out_ += bar() + tone("redis>", Tone::kDim) + " " + shortened(command_text(call));
  if (!call.error) out_ += "      " + shortened(escaped_message(call.reply));
  out_ += '\n';
  if (call.error) error(*call.error);
}

void View::breakpoint(const debugger::Breakpoint& breakpoint) {
  const auto condition =
      breakpoint.condition.empty() ? "" : " if " + escaped_message(breakpoint.condition);
  out_ += fmt::format("breakpoint at {}{}: {}\n", breakpoint.line, condition,
                      statement(breakpoint.line));
}

void View::watch(const debugger::Watch& watch, bool has_value) {
  out_ += fmt::format("watch {}: {}", watch.number, escaped_message(watch.expression));
  out_ += has_value ? ": " + short_text(watch.last) + '\n' : "\n";
}

void View::frame(const lua::Frame& frame) {
  out_ += fmt::format("{}  in {}: {}\n", place(frame.line), escaped_message(frame.name),
                      statement(frame.line));
}

void View::evaluation(const lua::Evaluation& evaluation) {
  if (evaluation.outcome != Outcome::kValues) return error(evaluation.message);
  const auto& values = evaluation.values;
  if (values.empty()) return say("(no value)");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = values.size() > 1 ? std::to_string(i + 1) : "";
    out_ += fmt::format("={} {}\n", number, value_text(values[i]));
  }
}

std::string View::outcome_line(const debugger::RunResult& result) const {
  const auto text = result.ending == Ending::kReturned ? returned_text(result, true).value_or("")
                                                       : ending_text(result);
  return tone("=", status_of(result) == ExitStatus::kDone ? Tone::kGood : Tone::kBad) + " " +
         escaped_message(text);
}

void View::result(const debugger::RunResult& result) {
  out_ += outcome_line(result) + '\n';
}

// ---- A trace ----

void View::traced(const debugger::TracedLine& line) {
  if (options_.json) return append_json(line);
  last_error_.clear();
  auto text = tone("+", Tone::kGood) + " " + tone(place(line.line), Tone::kDim) + "  " +
              source_line(line.line);
  // Cut the source only: the reader has it, but values and replies appear only here.
  if (options_.cuts_source && display_width(text) > look_.columns) {
    text = cut_to_width(text, look_.columns - 1) + (look_.utf8 ? "…" : ">");
  }
  out_ += text + '\n';
  for (const auto& one : line.calls) call(one);
  for (const auto& one : line.messages) message(one);
  for (const auto& change : line.changed) variable(change);
}

void View::traced_result(const debugger::RunResult& result, const std::vector<KeyChange>& keys) {
  if (options_.json) return append_json(result, keys);
  const bool raised = result.ending == Ending::kRunTimeError;
  if (raised && result.lines > 0 && last_error_ != escaped_message(result.message)) {
    error(result.message);
  }
  const auto changed =
      std::count_if(keys.begin(), keys.end(), [](const KeyChange& key) { return key.changed; });
  const auto changes =
      changed == 0 ? "nothing was changed"
                   : fmt::format("{} key{} changed", changed, changed == 1 ? " was" : "s were");
  out_ += fmt::format("{}    {}, {}; {}\n", outcome_line(result), counted(result.lines, "line"),
                      counted(result.calls, "redis call"), changes);
  for (const auto& key : keys) {
    if (key.changed) say("  " + text_of(key, look_.utf8));
  }
}

void View::reading(const ReplyAsRead& reading) {
  if (options_.json) return append_json(reading);
  const auto& decision = reading.decision;
  if (!reading.problem.empty()) return error(reading.problem);
  std::string text = decision.allowed ? "allowed" : "denied";
  if (decision.remaining != limiter::kNotTold) {
    text += fmt::format(", remaining {}", decision.remaining);
  }
  const auto add = [&text](std::string_view name, std::chrono::microseconds time) {
    if (time == limiter::kTimeNotTold) return;
    text += fmt::format(", {} {}", name, time == limiter::kNever ? "never" : format_duration(time));
  };
  if (!decision.allowed) add("retry_after", decision.retry_after);
  add("reset_after", decision.reset_after);
  if (decision.delay.count() > 0) add("delay", decision.delay);
  say("reads as " + text);
}

// ---- Coverage ----

Coverage::Coverage(std::string_view source, const std::set<int>& coverable)
    : lines_(lua::source_lines(source)) {
  for (const int line : coverable) {
    if (line <= static_cast<int>(lines_.size())) hits_[line] = 0;
  }
}

void Coverage::add(const std::map<int, std::int64_t>& hits) {
  ++runs_;
  for (const auto& [line, count] : hits) {
    const auto found = hits_.find(line);
    if (found != hits_.end()) found->second += count;
  }
}

std::int64_t Coverage::reached() const noexcept {
  return std::count_if(hits_.begin(), hits_.end(),
                       [](const auto& line) { return line.second > 0; });
}

bool Coverage::is_below(double percent) const noexcept {
  return static_cast<double>(reached()) * 100 < percent * static_cast<double>(hits_.size());
}

std::string Coverage::summary() const {
  const auto all = static_cast<std::int64_t>(hits_.size());
  if (all == 0) return "no lines that can be reached";
  // Rounded down, so that 100 % means every line.
  const auto permille = reached() * 1000 / all;
  auto out = fmt::format("{} of {} line{} reached ({}.{} %)", reached(), all, plural(all),
                         permille / 10, permille % 10);
  if (runs_ != 1) out += fmt::format(" by {} requests", runs_);
  return out;
}

void Coverage::append_text(std::string& out, const Look& look) const {
  std::size_t width = count_text(0).size();
  for (const auto& [line, hits] : hits_) width = std::max(width, count_text(hits).size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const auto found = hits_.find(static_cast<int>(i) + 1);
    const auto count = found == hits_.end() ? std::string() : count_text(found->second);
    auto line = fmt::format("{:>{}}  ", count, width + 2);
    line += escaped_message(lines_[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    const bool is_missed = found != hits_.end() && found->second == 0;
    out += is_missed ? toned(line, Tone::kBad, look.colour) : line;
    out += '\n';
  }
  out += summary() + '\n';
}

void Coverage::append_lcov(std::string& out, std::string_view path) const {
  // A line end in the name of a file would begin a record of its own.
  out += fmt::format("TN:\nSF:{}\n", escaped_message(path));
  for (const auto& [line, hits] : hits_) out += fmt::format("DA:{},{}\n", line, hits);
  out += fmt::format("LF:{}\nLH:{}\nend_of_record\n", hits_.size(), reached());
}

}  // namespace rlctl::cli::debug
