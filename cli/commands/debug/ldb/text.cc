#include "cli/commands/debug/ldb/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;

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

LdbText::LdbText(std::string& out, const Look& look, const debugger::Debuggee& debuggee)
    : out_(out), look_(look), debuggee_(debuggee), listing_(debuggee, look) {}

std::string LdbText::cut(std::string_view text) const {
  return shortened(escaped_message(text), maxlen_);
}

/// Writes "|   LABEL TEXT".
void LdbText::entry(std::string_view label, Tone tone_of_label, std::string_view text) {
  out_ += tone("|", Tone::kDim) + "   " + tone(escaped_message(label), tone_of_label);
  out_.append(" ").append(text).append("\n");
}

void LdbText::say(std::string_view message) {
  out_ += escaped_message(message) + '\n';
}

void LdbText::write_error(std::string_view escaped) {
  out_ += tone("!", Tone::kBad) + "   " + tone(escaped, Tone::kBad) + '\n';
}

void LdbText::error(std::string_view message) {
  write_error(escaped_message(message));
}

void LdbText::warn_if_rounded(std::string_view value) {
  if (has_warned_ || !may_be_rounded(value)) return;
  has_warned_ = true;
  say("(Redis's debugger rounds numbers to six digits; leave out --ldb for exact values)");
}

// ---- Stops ----

void LdbText::stop(const ldb::RedisDebugger& debugger, bool is_first) {
  // In the order of ldb::Stop::Reason.
  static constexpr std::array kReasons{"", ", breakpoint", ", redis.breakpoint()",
                                       ", stopped: an infinite loop?"};
  const auto& stop = debugger.stop();
  const auto* reason =
      is_first ? ", at the beginning" : kReasons.at(static_cast<std::size_t>(stop.reason));
  out_ += tone("*", Tone::kGood) + " " + listing_.place(stop.line) + reason + '\n';
  constexpr int kAround = 2;  // lines shown before and after the current one
  source(debugger, stop.line - kAround, stop.line + kAround);
}

void LdbText::source(const ldb::RedisDebugger& debugger, int first, int last) {
  listing_.append(out_, first, last, debugger.running() ? debugger.stop().line : 0,
                  [&](int line) { return debugger.breakpoints().contains(line); });
}

void LdbText::breakpoint(int line) {
  out_ += fmt::format("breakpoint at {}: {}\n", line, listing_.statement(line));
}

void LdbText::function(const ldb::StackEntry& function) {
  out_ += fmt::format("{}  in {}: {}\n", listing_.place(function.line),
                      escaped_message(function.name), listing_.statement(function.line));
}

// ---- What the script did ----

void LdbText::piece(const ldb::Printed& piece) {
  using Kind = ldb::Printed::Kind;
  switch (piece.kind) {
    case Kind::kCall:
      return entry("redis>", Tone::kDim,
                   cut(piece.text) + (piece.reply.empty() ? "" : "      " + cut(piece.reply)));
    case Kind::kError:
      return write_error(cut(piece.text));
    case Kind::kMessage:
      entry("debug>", Tone::kDim, cut(piece.text));
      return warn_if_rounded(piece.text);
    case Kind::kValue:
      out_ += "= " + cut(piece.text) + '\n';
      return warn_if_rounded(piece.text);
    case Kind::kOther:
      return say(piece.text);
  }
}

void LdbText::pieces(const ldb::RedisDebugger::Pieces& pieces) {
  for (const auto& one : pieces) piece(one);
}

void LdbText::variable(const ldb::Variable& variable, std::string_view where) {
  const auto note = where.empty() ? "" : fmt::format("      ({})", where);
  entry(variable.name + ":", Tone::kLabel, cut(variable.value) + note);
  warn_if_rounded(variable.value);
}

void LdbText::end(const ldb::RedisDebugger& debugger) {
  const auto& session = debugger.session();
  const auto ending = session.ending();
  ldb::ScriptError error{.message = session.why()};
  if (ending != Ending::kReturned && session.reply()) {
    error = ldb::explain_error(*session.reply(), debuggee_.source, debugger.last_line());
  }
  const bool is_good = status_of(ending, session.reply()) == ExitStatus::kDone;
  const auto text = ending == Ending::kReturned ? reply_text(*session.reply())
                                                : ending_text(ending, error.line, error.message);
  out_ += tone("=", is_good ? Tone::kGood : Tone::kBad) + " " + escaped_message(text) + '\n';
}

}  // namespace rlctl::cli::debug
