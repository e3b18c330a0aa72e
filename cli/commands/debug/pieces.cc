#include "cli/commands/debug/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/options.h"
#include "lua/lexer.h"
#include "redis/error.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;
using redis::ReplyType;

/// The element of a table that an array's element comes from; null if it is not known.
const lua::Value* element(const lua::Value* table, std::size_t index) {
  if (table == nullptr || index >= table->fields.size()) return nullptr;
  const auto& [key, field] = table->fields[index];
  return key.number == static_cast<double>(index + 1) ? &field : nullptr;
}

}  // namespace

// ---- Ends ----

std::optional<Problem> problem_of(Ending ending, const std::optional<redis::Reply>& reply,
                                  const std::string& why) {
  if (ending == Ending::kLost) {
    return Problem{.status = ExitStatus::kUnreachable, .code = "unreachable", .message = why};
  }
  if (ending != Ending::kRefused) return std::nullopt;
  if (reply && reply->is_error()) return describe(redis::to_error(*reply));
  return Problem{.status = ExitStatus::kRejected, .code = "rejected", .message = why};
}

ExitStatus status_of(Ending ending, const std::optional<redis::Reply>& reply) {
  if (ending == Ending::kCutOff) return ExitStatus::kDenied;
  if (ending == Ending::kNotImplemented) return ExitStatus::kUsage;
  if (const auto problem = problem_of(ending, reply, "")) return problem->status;
  // As in other commands, an error reply of a script means rejected.
  const bool is_good = ending == Ending::kReturned && reply && !reply->is_error();
  return is_good ? ExitStatus::kDone : ExitStatus::kRejected;
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

std::string ending_text(Ending ending, int line, std::string_view message) {
  // In the order of debugger::Ending, after kReturned.
  static constexpr std::array kTexts{"refused", "does not compile", "error", "aborted", "cut off",
                                     "lost",    "ended early"};
  std::string text = kTexts.at(static_cast<std::size_t>(ending) - 1);
  if (line > 0) {
    text += ending == Ending::kCompileError ? ", line " : " at line ";
    text += std::to_string(line);
  }
  return ending == Ending::kAborted ? text : text.append(": ").append(message);
}

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

// ---- Lengths ----

std::size_t parse_maxlen(const std::string& text) {
  constexpr int kMin = 60;
  const auto bytes = parse_between(text, "BYTES", 0, INT32_MAX);
  if (bytes == 0 || bytes >= kMin) return static_cast<std::size_t>(bytes);
  throw UsageError(fmt::format("BYTES must be at least {}, not {}; 0 shows all", kMin, bytes));
}

std::string shortened(std::string text, std::size_t maxlen) {
  if (maxlen == 0 || text.size() <= maxlen) return text;
  auto size = maxlen;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  text.resize(size);
  return text.append(" ...");
}

// ---- Source ----

Listing::Listing(const debugger::Debuggee& debuggee, const Look& look)
    : debuggee_(debuggee), look_(look) {
  read_source();
}

void Listing::read_source() {
  source_ = lua::source_lines(debuggee_.shown_source());
}

std::string_view Listing::bytes(int number) const {
  const auto index = static_cast<std::size_t>(number) - 1;
  return index < source_.size() ? source_[index] : std::string_view();
}

std::string Listing::line(int number) const {
  std::string out;
  for (const char c : bytes(number)) {
    out.append(c == '\t' ? "    " : std::string_view(&c, 1));
  }
  return escaped_message(out);
}

std::string Listing::statement(int number) const {
  auto text = line(number);
  return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

std::string Listing::place(int number) const {
  return fmt::format("{}:{}", escaped_message(debuggee_.name), number);
}

void Listing::append(std::string& out, int first, int last, int current,
                     const std::function<bool(int)>& has_breakpoint) const {
  const auto tone = [this](std::string_view text, Tone meaning) {
    return toned(text, meaning, look_.colour);
  };
  const int end = std::min(last, line_count());
  const auto width = std::to_string(line_count()).size();
  for (int number = std::max(first, 1); number <= end; ++number) {
    const bool is_current = number == current;
    out += tone(is_current ? "->" : "  ", is_current ? Tone::kGood : Tone::kPlain);
    out += tone(has_breakpoint(number) ? "#" : " ", Tone::kBad);
    out += tone(fmt::format("{:<{}}", number, width), Tone::kDim);
    const auto text = line(number);
    if (!text.empty()) out += "  " + (is_current ? tone(text, Tone::kLabel) : text);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
}

}  // namespace rlctl::cli::debug
