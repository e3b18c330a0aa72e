#include "cli/commands/debug/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/terminal/terminal.h"
#include "ldb/session.h"
#include "ldb/value.h"
#include "lua/lexer.h"
#include "redis/error.h"

namespace rlctl::cli::debug {
namespace {

using ldb::Ending;
using redis::ReplyType;
using Outcome = ldb::Evaluation::Outcome;
using Why = ldb::Halt::Why;

constexpr std::string_view kCut = " ...";
constexpr std::string_view kBlanksBeforeReply = "      ";
constexpr int kAround = 2;  // lines shown before and after the current one

// ---- Replies and words ----

void append_reply_text(std::string& out, redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kNil:
      out += "nil";
      break;
    case ReplyType::kInteger:
      append_number(out, reply.integer());
      break;
    case ReplyType::kString:
      ldb::append_text(out, {.kind = ldb::Value::Kind::kString, .text = std::string(reply.text())});
      break;
    case ReplyType::kStatus:
    case ReplyType::kError:
      out += reply.is_error() ? '-' : '+';
      escape_message(out, reply.text());
      break;
    case ReplyType::kArray:
      out += '{';
      for (std::size_t i = 0; i < reply.size(); ++i) {
        if (i > 0) out += ", ";
        append_reply_text(out, reply[i]);
      }
      out += '}';
      break;
  }
}

bool is_plain(char c) {
  return c > ' ' && c < '\x7f' && c != '"' && c != '\'' && c != '\\';
}

/// Whether a word needs no quotes; UTF-8 needs none.
bool needs_no_quotes(std::string_view word) {
  std::string escaped;
  escape_text(escaped, word);
  return !word.empty() && escaped == word && std::all_of(word.begin(), word.end(), [](char c) {
    return is_plain(c) || static_cast<unsigned char>(c) >= 0x80;
  });
}

void append_command_word(std::string& out, std::string_view word) {
  if (needs_no_quotes(word)) {
    out += word;
    return;
  }
  out += '"';
  std::size_t length = 1;
  for (; !word.empty(); word.remove_prefix(length)) {
    length = std::max(utf8_length(word), std::size_t{1});
    if (word[0] == '"' || word[0] == '\\') out += '\\';
    escape_message(out, word.substr(0, length));
  }
  out += '"';
}

std::string command_text(const ldb::Call& call) {
  std::string out;
  for (const auto& word : call.words) {
    if (!out.empty()) out += ' ';
    if (call.raw) {
      escape_message(out, word);
    } else {
      append_command_word(out, word);
    }
  }
  return out;
}

// ---- Source ----

/// Formats a source line: escaped, with tabs as blanks.
std::string source_text(std::string_view line) {
  constexpr std::string_view kTab = "    ";
  std::string out;
  while (!line.empty()) {
    const auto tab = line.find('\t');
    escape_message(out, line.substr(0, tab));
    if (tab == line.npos) break;
    out += kTab;
    line.remove_prefix(tab + 1);
  }
  return out;
}

bool is_good(const ldb::TraceResult& result) {
  return result.ending == Ending::kReturned && result.reply && !result.reply->is_error();
}

/// Formats how a run ended, not escaped: "{1, 4}", "error at line 12: ...".
std::string outcome_text(const ldb::TraceResult& result) {
  const auto place = result.error_line > 0 ? fmt::format(" line {}", result.error_line) : "";
  const auto at = place.empty() ? "" : " at" + place;
  switch (result.ending) {
    case Ending::kReturned:
      return returned_text(result).value_or("");
    case Ending::kCompileError:
      return fmt::format("does not compile{}{}: {}", place.empty() ? "" : ",", place,
                         result.message);
    case Ending::kRunTimeError:
      return fmt::format("error{}: {}", at, result.message);
    case Ending::kAborted:
      return fmt::format("aborted{}", at);
    case Ending::kCutOff:
      return fmt::format("cut off{}: {}", at, result.message);
    case Ending::kRefused:
      return fmt::format("refused: {}", result.message);
    case Ending::kLost:
      break;
  }
  return fmt::format("lost: {}", result.message);
}

}  // namespace

// ---- How a run ended ----

std::optional<Problem> problem_of(const ldb::TraceResult& result) {
  if (result.ending == Ending::kLost) {
    return Problem{
        .status = ExitStatus::kUnreachable, .code = "unreachable", .message = result.message};
  }
  if (result.ending != Ending::kRefused) return std::nullopt;
  if (result.reply && result.reply->is_error()) return describe(redis::to_error(*result.reply));
  return Problem{.status = ExitStatus::kRejected, .code = "rejected", .message = result.message};
}

ExitStatus status_of(const ldb::TraceResult& result) {
  switch (result.ending) {
    case Ending::kReturned:
      // As in other commands, an error reply of a script means rejected.
      return result.reply && result.reply->is_error() ? ExitStatus::kRejected : ExitStatus::kDone;
    case Ending::kCutOff:
      return ExitStatus::kDenied;
    case Ending::kRefused:
    case Ending::kLost:
      return problem_of(result)->status;
    case Ending::kCompileError:
    case Ending::kRunTimeError:
    case Ending::kAborted:
      break;
  }
  return ExitStatus::kRejected;
}

std::string kept_text(ldb::Mode mode, Ending ending) {
  const bool is_cut_off = ending == Ending::kCutOff;
  if (mode == ldb::Mode::kForked) {
    return std::string("in a fork: nothing was kept") +
           (is_cut_off ? "; the fork runs on if the script catches errors" : "");
  }
  return std::string("what was written is kept") +
         (is_cut_off
              ? "; the script KEEPS RUNNING in the server: SCRIPT KILL ends it unless it has "
                "written; SHUTDOWN NOSAVE always does"
              : "");
}

std::optional<std::string> returned_text(const ldb::TraceResult& result) {
  if (result.ending != Ending::kReturned || !result.reply) return std::nullopt;
  std::string text;
  append_reply_text(text, *result.reply);
  return ldb::with_source_lines(text, result.text_lines);
}

View::View(std::string& out, const Look& look, const ldb::Debuggee& debuggee,
           const ViewLengths& lengths)
    : out_(out), look_(look), debuggee_(debuggee), lengths_(lengths) {
  read_source();
}

void View::read_source() {
  source_ = lua::source_lines(debuggee_.shown_source());
}

// ---- Pieces ----

std::string View::shortened(std::string text) const {
  if (maxlen() == 0 || text.size() <= maxlen()) return text;
  auto size = maxlen();
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  text.resize(size);
  return text.append(kCut);
}

std::string View::value_text(const ldb::Value& value) const {
  return shortened(escaped_message(ldb::text_of(value)));
}

/// Formats the values on one line: "3", "1, nil", "(error: ...)".
std::string View::short_text(const ldb::Evaluation& evaluation) const {
  if (evaluation.outcome != Outcome::kValues) {
    return shortened("(error: " + escaped_message(evaluation.message) + ")");
  }
  std::string text;
  for (const auto& value : evaluation.values) {
    text.append(text.empty() ? "" : ", ").append(escaped_message(ldb::text_of(value)));
  }
  return text.empty() ? "(no value)" : shortened(std::move(text));
}

/// Returns a line of the source; empty for a number outside it.
std::string View::source_line(int line) const {
  const auto index = static_cast<std::size_t>(line) - 1;
  return line > 0 && index < source_.size() ? source_text(source_[index]) : std::string();
}

/// Returns a line of the source without its indentation.
std::string View::statement(int line) const {
  auto text = source_line(line);
  return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

/// Formats a place in the source: "limit.lua:24".
std::string View::place(int line) const {
  return fmt::format("{}:{}", escaped_message(debuggee_.name), line);
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
void View::message(const ldb::ScriptMessage& message) {
  const bool is_log = !message.level.empty();
  out_ += bar() + tone(is_log ? "log>" : "debug>", Tone::kDim) + " " +
          (is_log ? message.level + ": " : "") + shortened(escaped_message(message.text)) + '\n';
}

// ---- A stop ----

void View::heading(const ldb::Halt& halt, const Breakpoints& breakpoints) {
  std::string why;
  switch (halt.why) {
    case Why::kStarted:
      why = ", at the beginning";
      break;
    case Why::kStepped:
      break;
    case Why::kBreakpoint: {
      const auto found = breakpoints.find(halt.line);
      why = ", breakpoint";
      if (found != breakpoints.end() && !found->second.condition.empty()) {
        why += " if " + escaped_message(found->second.condition);
      }
      break;
    }
    case Why::kCalledFor:
      why = ", redis.breakpoint()";
      break;
    case Why::kWatch:
      why = ", watched";
      break;
    case Why::kStopped:
      why = ", stopped";
      break;
    case Why::kEnded:
      break;
  }
  out_ += fmt::format("{} {}{}\n", tone("*", Tone::kGood), place(halt.line), why);
}

void View::halt(const ldb::Halt& halt, const Breakpoints& breakpoints) {
  if (halt.calls_before > 0) {
    out_ += bar() + fmt::format("{} calls before these\n", halt.calls_before);
  }
  for (const auto& one : halt.calls) call(one);
  for (const auto& one : halt.messages) message(one);
  for (const auto& change : halt.changed) local(change);
  for (const auto& change : halt.watches) {
    out_ += bar() + tone(fmt::format("watch {}:", change.watch.number), Tone::kWarning) + " " +
            escaped_message(change.watch.expression) + ": " + short_text(change.before) +
            (look_.utf8 ? " → " : " -> ") + short_text(change.watch.last) + '\n';
  }
  if (halt.why == Why::kEnded) return;
  if (!halt.condition_error.empty()) {
    error("the breakpoint's condition: " + halt.condition_error);
  }
  heading(halt, breakpoints);
  source(halt.line - kAround, halt.line + kAround, halt.line, breakpoints);
}

void View::source(int first, int last, int current, const Breakpoints& breakpoints) {
  const int end = std::min(last, line_count());
  const auto width = std::to_string(line_count()).size();
  for (int line = std::max(first, 1); line <= end; ++line) {
    const bool is_current = line == current;
    out_ += tone(is_current ? "->" : "  ", is_current ? Tone::kGood : Tone::kPlain);
    out_ += tone(breakpoints.contains(line) ? "#" : " ", Tone::kBad);
    out_ += tone(fmt::format("{:<{}}", line, width), Tone::kDim);
    const auto text = source_line(line);
    if (!text.empty()) out_ += "  " + (is_current ? tone(text, Tone::kLabel) : text);
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
  }
}

// ---- Answers ----

void View::local(const ldb::LocalChange& local) {
  out_ += bar() + tone(escaped_message(local.local.name) + ":", Tone::kLabel) + " " +
          value_text(local.value) + '\n';
}

void View::call(const ldb::Call& call) {
  out_ += bar() + tone("redis>", Tone::kDim) + " " + shortened(command_text(call));
  if (call.reply && !call.failed()) {
    out_.append(kBlanksBeforeReply).append(shortened(escaped_message(*call.reply)));
  }
  out_ += '\n';
  if (call.failed()) error(call.error.value_or("it was refused"));
}

void View::breakpoint(const ldb::Breakpoint& breakpoint) {
  const auto condition =
      breakpoint.condition.empty() ? "" : " if " + escaped_message(breakpoint.condition);
  out_ += fmt::format("breakpoint at {}{}: {}\n", breakpoint.line, condition,
                      statement(breakpoint.line));
}

void View::watch(const ldb::Watch& watch, bool has_value) {
  out_ += fmt::format("watch {}: {}", watch.number, escaped_message(watch.expression));
  out_ += has_value ? ": " + short_text(watch.last) + '\n' : "\n";
}

void View::frame(const ldb::Frame& frame) {
  out_ += fmt::format("{}  in {}: {}\n", place(frame.line), escaped_message(frame.name),
                      statement(frame.line));
}

void View::evaluation(const ldb::Evaluation& evaluation) {
  if (evaluation.outcome != Outcome::kValues) return error(evaluation.message);
  if (evaluation.values.empty()) return say("(no value)");
  if (evaluation.values.size() == 1) {
    out_ += "= " + value_text(evaluation.values.front()) + '\n';
    return;
  }
  for (std::size_t i = 0; i < evaluation.values.size(); ++i) {
    out_ += fmt::format("={} {}\n", i + 1, value_text(evaluation.values[i]));
  }
}

std::string View::outcome_line(const ldb::TraceResult& result) const {
  return tone("=", is_good(result) ? Tone::kGood : Tone::kBad) + " " +
         escaped_message(outcome_text(result));
}

void View::result(const ldb::TraceResult& result) {
  out_ += outcome_line(result) + '\n';
}

// ---- A trace ----

void View::traced(const ldb::TracedLine& line) {
  last_error_.clear();
  auto text = tone("+", Tone::kGood) + " " + tone(place(line.line), Tone::kDim) + "  " +
              source_line(line.line);
  // Cut the source only: the reader has it, but values and replies appear only here.
  if (lengths_.cuts_source && display_width(text) > look_.columns) {
    text = cut_to_width(text, look_.columns - 1) + (look_.utf8 ? "…" : ">");
  }
  out_ += text + '\n';
  for (const auto& one : line.calls) call(one);
  for (const auto& one : line.messages) message(one);
  for (const auto& change : line.changed) local(change);
}

void View::traced_result(const ldb::TraceResult& result, std::string_view changes) {
  const bool raised = result.ending == Ending::kRunTimeError;
  if (raised && result.lines > 0 && last_error_ != escaped_message(result.message)) {
    error(result.message);
  }
  out_ += fmt::format("{}    {}, {}{}{}\n", outcome_line(result), counted(result.lines, "line"),
                      counted(result.calls, "redis call"), changes.empty() ? "" : "; ", changes);
  if (!result.exact) {
    out_ +=
        "~ numbers have six digits, and upvalues are not shown: probes cannot be added where the\n"
        "  script runs; a private server (without --attach) accepts longer scripts, see\n"
        "  rlctl-debug(1), LIMITS\n";
  }
}

void View::reading(const ReplyAsRead& reading) {
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

namespace {

/// Returns the name of an ending in JSON: "returned", "run_time_error".
std::string_view name_of(ldb::Ending ending) {
  using ldb::Ending;
  switch (ending) {
    case Ending::kReturned:
      return "returned";
    case Ending::kRefused:
      return "refused";
    case Ending::kCompileError:
      return "compile_error";
    case Ending::kRunTimeError:
      return "run_time_error";
    case Ending::kAborted:
      return "aborted";
    case Ending::kCutOff:
      return "cut_off";
    case Ending::kLost:
      break;
  }
  return "lost";
}

/// A JSON event, which the destructor ends with a line end.
class Event {
 public:
  Event(std::string& out, std::string_view event) : out_(out), json_(out) {
    json_.begin_object().field("event", event);
  }
  ~Event() {
    json_.end_object();
    out_ += '\n';
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  JsonWriter* operator->() { return &json_; }

 private:
  std::string& out_;
  JsonWriter json_;
};

void append_call(std::string& out, const ldb::Call& call, int line) {
  Event event(out, "call");
  event->field("line", line).name("command").begin_array();
  for (const auto& word : call.words) event->value(word);
  event->end_array()
      .field("exact", !call.raw)
      .field("reply", call.reply)
      .field("error", call.error);
}

}  // namespace

TraceJson::TraceJson(std::string& out, const ldb::Debuggee& debuggee)
    : out_(out), source_(lua::source_lines(debuggee.shown_source())) {}

void TraceJson::line(const ldb::TracedLine& line) {
  const auto index = static_cast<std::size_t>(line.line) - 1;
  const auto source = index < source_.size() ? source_[index] : std::string_view();
  Event(out_, "line")->field("line", line.line).field("source", source);
  for (const auto& call : line.calls) append_call(out_, call, line.line);
  for (const auto& message : line.messages) {
    const bool is_log = !message.level.empty();
    Event event(out_, is_log ? "log" : "debug");
    event->field("line", line.line);
    if (is_log) event->field("level", message.level);
    event->field("message", message.text);
  }
  for (const auto& change : line.changed) {
    Event(out_, "local")
        ->field("line", line.line)
        .field("name", change.local.name)
        .field("value", ldb::text_of(change.value))
        .field("exact", !change.value.approximate);
  }
}

void TraceJson::result(const ldb::TraceResult& result) {
  const bool returned = result.ending == ldb::Ending::kReturned;
  Event(out_, "result")
      ->field("ending", name_of(result.ending))
      .field("value", returned_text(result))
      .field("error", returned ? std::nullopt : std::optional(result.message))
      .field("error_line", result.error_line > 0 ? std::optional(result.error_line) : std::nullopt)
      .field("lines", result.lines)
      .field("calls", result.calls)
      .field("exact", result.exact);
}

void TraceJson::reading(const ReplyAsRead& reading) {
  const auto& decision = reading.decision;
  const bool is_known = reading.problem.empty();
  const auto known = [is_known](auto value, auto none) {
    return is_known && value != none ? std::optional(value) : std::nullopt;
  };
  Event(out_, "reading")
      ->field("allowed", is_known ? std::optional(decision.allowed) : std::nullopt)
      .field("remaining", known(decision.remaining, limiter::kNotTold))
      .field("retry_after_us", known(decision.retry_after, limiter::kTimeNotTold))
      .field("reset_after_us", known(decision.reset_after, limiter::kTimeNotTold))
      .field("delay_us", is_known ? std::optional(decision.delay) : std::nullopt)
      .known_field("error", reading.problem);
}

void TraceJson::key(const KeyChange& change) {
  const auto text = [](const std::optional<KeyText>& key) {
    return key ? std::optional(text_of(*key)) : std::nullopt;
  };
  Event(out_, "key")
      ->bytes_field("key", change.key)
      .field("before", text(change.before))
      .field("after", text(change.after))
      .field("changed", change.changed);
}

}  // namespace rlctl::cli::debug
