#include "cli/debug/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/debug/trace_text.h"
#include "cli/term/style.h"
#include "ldb/source_lines.h"
#include "ldb/value.h"

namespace rlctl::cli {
namespace {

using ldb::Ending;
using Outcome = ldb::Evaluation::Outcome;
using Why = ldb::Halt::Why;

constexpr std::string_view kCut = " ...";
constexpr int kAround = 2;  // lines shown before and behind the one at which it stands

}  // namespace

DebugView::DebugView(std::string& out, const Look& look, const ldb::Debuggee& debuggee)
    : out_(out), look_(look), debuggee_(debuggee), source_(ldb::source_lines(debuggee.source)) {}

// ---- Pieces ----

std::string DebugView::shortened(std::string text) const {
  if (maxlen_ == 0 || text.size() <= maxlen_) return text;
  auto size = maxlen_;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  text.resize(size);
  return text.append(kCut);
}

std::string DebugView::value_text(const ldb::Value& value) const {
  return shortened(escaped_message(ldb::text_of(value)));
}

/// On one line: "3", "1, nil", "(error: ...)".
std::string DebugView::short_text(const ldb::Evaluation& evaluation) const {
  if (evaluation.outcome != Outcome::kValues) {
    return shortened("(error: " + escaped_message(evaluation.message) + ")");
  }
  std::string text;
  for (const auto& value : evaluation.values) {
    text.append(text.empty() ? "" : ", ").append(escaped_message(ldb::text_of(value)));
  }
  return text.empty() ? "(no value)" : shortened(std::move(text));
}

std::string_view DebugView::source_line(int line) const {
  const auto index = static_cast<std::size_t>(line) - 1;
  return line > 0 && index < source_.size() ? source_[index] : std::string_view();
}

std::string DebugView::arrow() const {
  return look_.utf8 ? " → " : " -> ";
}

void DebugView::say(std::string_view text) {
  out_ += escaped_message(text);
  out_ += '\n';
}

void DebugView::error(std::string_view message) {
  out_ += toned("!", Tone::kBad, look_.colour) + "   " +
          toned(shortened(escaped_message(message)), Tone::kBad, look_.colour) + '\n';
}

// ---- A stop ----

void DebugView::heading(const ldb::Halt& halt, const Breakpoints& breakpoints) {
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
  out_ += fmt::format("{} {}:{}{}\n", toned("*", Tone::kGood, look_.colour),
                      escaped_message(debuggee_.name), halt.line, why);
}

void DebugView::halt(const ldb::Halt& halt, const Breakpoints& breakpoints) {
  const auto bar = toned("|", Tone::kDim, look_.colour) + "   ";
  if (halt.calls_before > 0) {
    out_ += bar + fmt::format("{} calls before these\n", halt.calls_before);
  }
  for (const auto& one : halt.calls) call(one);
  for (const auto& message : halt.messages) {
    out_ += bar + toned("debug>", Tone::kDim, look_.colour) + " " +
            shortened(escaped_message(message)) + '\n';
  }
  for (const auto& change : halt.changed) local(change);
  for (const auto& change : halt.watches) {
    out_ +=
        bar + toned(fmt::format("watch {}:", change.watch.number), Tone::kWarning, look_.colour);
    out_ += " " + escaped_message(change.watch.expression) + ": " + short_text(change.before) +
            arrow() + short_text(change.watch.last) + '\n';
  }
  if (halt.why == Why::kEnded) return;
  if (!halt.condition_error.empty()) {
    error("the breakpoint's condition: " + halt.condition_error);
  }
  heading(halt, breakpoints);
  source(halt.line - kAround, halt.line + kAround, halt.line, breakpoints);
}

void DebugView::source(int first, int last, int current, const Breakpoints& breakpoints) {
  const int end = std::min(last, line_count());
  const auto width = std::to_string(line_count()).size();
  for (int line = std::max(first, 1); line <= end; ++line) {
    const bool is_current = line == current;
    const auto mark = toned(breakpoints.contains(line) ? "#" : " ", Tone::kBad, look_.colour);
    out_ += toned(is_current ? "->" : "  ", is_current ? Tone::kGood : Tone::kPlain, look_.colour);
    out_ += mark + toned(fmt::format("{:<{}}", line, width), Tone::kDim, look_.colour);
    auto text = source_text(source_line(line));
    if (!text.empty()) {
      out_ += "  " + (is_current ? toned(text, Tone::kLabel, look_.colour) : text);
    }
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
  }
}

// ---- Answers ----

void DebugView::local(const ldb::LocalChange& local) {
  out_ += toned("|", Tone::kDim, look_.colour) + "   " +
          toned(escaped_message(local.local.name) + ":", Tone::kLabel, look_.colour) + " " +
          value_text(local.value) + '\n';
}

void DebugView::call(const ldb::Call& call) {
  out_ += toned("|", Tone::kDim, look_.colour) + "   " + toned("redis>", Tone::kDim, look_.colour) +
          " " + shortened(command_text(call));
  const bool failed = call.error || (!call.reply && !call.is_silent);
  if (call.reply && !failed) out_ += "      " + shortened(escaped_message(*call.reply));
  out_ += '\n';
  if (failed) error(call.error.value_or("it was refused"));
}

void DebugView::breakpoint(const ldb::Breakpoint& breakpoint) {
  const auto condition =
      breakpoint.condition.empty() ? "" : " if " + escaped_message(breakpoint.condition);
  out_ += fmt::format("breakpoint at {}{}: ", breakpoint.line, condition);
  auto text = source_text(source_line(breakpoint.line));
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  out_ += text + '\n';
}

void DebugView::watch(const ldb::Watch& watch, bool has_value) {
  out_ += fmt::format("watch {}: {}", watch.number, escaped_message(watch.expression));
  out_ += has_value ? ": " + short_text(watch.last) + '\n' : "\n";
}

void DebugView::frame(const ldb::Frame& frame) {
  auto text = source_text(source_line(frame.line));
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  out_ += fmt::format("{}:{}  in {}: {}\n", escaped_message(debuggee_.name), frame.line,
                      escaped_message(frame.name), text);
}

void DebugView::evaluation(const ldb::Evaluation& evaluation) {
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

void DebugView::result(const ldb::TraceResult& result) {
  const bool good = result.ending == Ending::kReturned && result.reply && !result.reply->is_error();
  out_ += toned("=", good ? Tone::kGood : Tone::kBad, look_.colour) + " " +
          escaped_message(outcome_text(result)) + '\n';
}

}  // namespace rlctl::cli
