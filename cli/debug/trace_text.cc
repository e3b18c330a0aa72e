#include "cli/debug/trace_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "cli/debug/trace_words.h"
#include "ldb/error_text.h"
#include "ldb/source_lines.h"
#include "ldb/value.h"

namespace rlctl::cli {
namespace {

using ldb::Ending;

constexpr std::string_view kBlanks = "      ";  // between a call and its reply

}  // namespace

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

namespace {

std::string value_text(const ldb::Value& value) {
  return escaped_message(ldb::text_of(value));
}

}  // namespace

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

namespace {}  // namespace

std::string outcome_text(const ldb::TraceResult& result) {
  const auto place = result.error_line > 0 ? fmt::format(" line {}", result.error_line) : "";
  const auto at = place.empty() ? "" : " at" + place;
  switch (result.ending) {
    case Ending::kReturned: {
      std::string out;
      if (result.reply) append_reply_text(out, *result.reply);
      return ldb::with_source_lines(out, result.text_lines);
    }
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

TraceText::TraceText(std::string& out, const Look& look, const ldb::Debuggee& debuggee, bool cuts)
    : out_(out),
      look_(look),
      cuts_(cuts),
      debuggee_(debuggee),
      source_(ldb::source_lines(debuggee.source)) {}

void TraceText::add(std::string_view line) {
  out_ += line;
  out_ += '\n';
}

/// Of a source line there is the file; of values and replies only this.
void TraceText::add_source(std::string_view line) {
  if (!cuts_ || display_width(line) <= look_.columns) return add(line);
  add(cut_to_width(line, look_.columns - 1) + (look_.utf8 ? "…" : ">"));
}

void TraceText::add_error(std::string_view message) {
  last_error_ = escaped_message(message);
  add(tone("!", Tone::kBad) + "   " + tone(last_error_, Tone::kBad));
}

void TraceText::add_call(const ldb::Call& call) {
  auto text = tone("|", Tone::kDim) + "   " + tone("redis>", Tone::kDim) + " " + command_text(call);
  const bool failed = call.error || (!call.reply && !call.is_silent);
  if (call.reply && !failed) text.append(kBlanks).append(escaped_message(*call.reply));
  add(text);
  if (failed) add_error(call.error.value_or("it was refused"));
}

void TraceText::line(const ldb::TracedLine& line) {
  last_error_.clear();
  const auto index = static_cast<std::size_t>(line.line) - 1;
  const auto source = index < source_.size() ? source_text(source_[index]) : "";
  const auto place = fmt::format("{}:{}", escaped_message(debuggee_.name), line.line);
  add_source(tone("+", Tone::kGood) + " " + tone(place, Tone::kDim) + "  " + source);
  for (const auto& call : line.calls) add_call(call);
  const auto bar = tone("|", Tone::kDim) + "   ";
  for (const auto& message : line.messages) {
    add(bar + tone("debug>", Tone::kDim) + " " + escaped_message(message));
  }
  for (const auto& change : line.changed) {
    add(bar + tone(escaped_message(change.local.name) + ":", Tone::kLabel) + " " +
        value_text(change.value));
  }
}

void TraceText::result(const ldb::TraceResult& result, std::string_view changes) {
  const bool raised = result.ending == Ending::kRunTimeError;
  if (raised && result.lines > 0 && last_error_ != escaped_message(result.message)) {
    add_error(result.message);
  }
  const bool good = result.ending == Ending::kReturned && result.reply && !result.reply->is_error();
  auto text =
      tone("=", good ? Tone::kGood : Tone::kBad) + " " + escaped_message(outcome_text(result));
  text +=
      fmt::format("    {}, {}", counted(result.lines, "line"), counted(result.calls, "redis call"));
  if (!changes.empty()) text.append("; ").append(changes);
  add(text);
  if (!result.exact) {
    add("~ six digits of numbers, and no upvalues: the script cannot be prepared for more where "
        "it");
    add("  runs; a private server (without --attach) takes longer ones, see rlctl-debug(1), "
        "LIMITS");
  }
}

}  // namespace rlctl::cli
