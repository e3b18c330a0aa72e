#include <array>

#include "cli/commands/debug/view.h"
#include "lua/value.h"

namespace rlctl::cli::debug {
namespace {

using namespace json_type;

// ---- What several events have in common ----

constexpr std::string_view kAboutEvent = "The name of the event.";

constexpr JsonField<int> kLineFields[] = {
    {"line", kNumberFromOne, "The number of the line in the script.",
     [](const auto& line) { return line; }},
};
constexpr JsonObject<int> kLine(kLineFields);

constexpr JsonField<std::string_view> kSourceFields[] = {
    {"source", kString, "The text of the line.", [](const auto& source) { return source; }},
};
constexpr JsonObject<std::string_view> kSource(kSourceFields);

// ---- A line, and what it did ----

struct ExecutedLine {
  int line;
  std::string_view source;
};
constexpr JsonField<ExecutedLine> kExecutedFields[] = {
    {"event", JsonConstant{"line"}, kAboutEvent},
    {kLine, [](const auto& of) { return of.line; }},
    {kSource, [](const auto& of) { return of.source; }},
};
constexpr JsonObject<ExecutedLine> kExecuted("line", "A line that was executed", kExecutedFields);

struct CallEvent {
  int line;
  const debugger::Call& call;
};
constexpr JsonField<CallEvent> kCallFields[] = {
    {"event", JsonConstant{"call"}, kAboutEvent},
    {kLine, [](const auto& of) { return of.line; }},
    {"command", kStrings, "The words of the command.",
     [](const auto& of) { return std::span(of.call.words); }},
    {"reply", kString, "The reply as text.", [](const auto& of) { return of.call.reply; }},
    {"error", kStringOrNull, "The error of the command, or null.",
     [](const auto& of) { return of.call.error; }},
};
constexpr JsonObject<CallEvent> kCall("call", "A command that the line called", kCallFields);

struct LocalEvent {
  int line;
  const lua::Variable& change;
};
constexpr JsonField<LocalEvent> kLocalFields[] = {
    {"event", JsonConstant{"local"}, kAboutEvent},
    {kLine, [](const auto& of) { return of.line; }},
    {"name", kText, "The name of the variable.", [](const auto& of) { return of.change.name; }},
    {"value", kString, "The value as Lua writes it.",
     [](const auto& of) { return lua::text_of(of.change.value); }},
    {"exact", kBoolean, "False for a value of which fields are left out.",
     [](const auto& of) { return lua::is_complete(of.change.value); }},
};
constexpr JsonObject<LocalEvent> kLocal("local",
                                        "A local variable that is new, or that the line changed",
                                        kLocalFields);

struct MessageEvent {
  int line;
  const debugger::ScriptMessage& message;
};
constexpr JsonField<MessageEvent> kDebugFields[] = {
    {"event", JsonConstant{"debug"}, kAboutEvent},
    {kLine, [](const auto& of) { return of.line; }},
    {"message", kString, "The argument.", [](const auto& of) { return of.message.text; }},
};
constexpr JsonObject<MessageEvent> kDebug("debug", "What the line passed to redis.debug()",
                                          kDebugFields);
constexpr JsonField<MessageEvent> kLogFields[] = {
    {"event", JsonConstant{"log"}, kAboutEvent},
    {kLine, [](const auto& of) { return of.line; }},
    {"level", JsonType{R"("enum": ["debug", "verbose", "notice", "warning"])"}, "The level.",
     [](const auto& of) { return of.message.level; }},
    {"message", kString, "The text.", [](const auto& of) { return of.message.text; }},
};
constexpr JsonObject<MessageEvent> kLog("log", "What the line passed to redis.log()", kLogFields);

// ---- The end of a run ----

/// By debugger::Ending.
constexpr std::array<std::string_view, 8> kEndings{
    "returned", "refused", "compile_error", "run_time_error",
    "aborted",  "cut_off", "lost",          "not_implemented"};

constexpr JsonField<debugger::RunResult> kResultFields[] = {
    {"event", JsonConstant{"result"}, kAboutEvent},
    {"ending", JsonType{.names = [] { return std::vector(kEndings.begin(), kEndings.end()); }},
     "How the run ended.",
     [](const auto& result) { return kEndings.at(static_cast<std::size_t>(result.ending)); }},
    {"value", kStringOrNull, "The reply as Lua writes it; null unless the script returned.",
     [](const auto& result) { return returned_text(result, false); }},
    {"error", kStringOrNull, "The error in words; null if the script returned.",
     [](const auto& result) {
       const bool returned = result.ending == debugger::Ending::kReturned;
       return returned ? std::nullopt : std::optional(result.message);
     }},
    {"error_line", JsonType{R"("type": ["integer", "null"], "minimum": 1)"},
     "The number of the line with the error, or null.",
     [](const auto& result) {
       return result.error_line > 0 ? std::optional(result.error_line) : std::nullopt;
     }},
    {"lines", kCount, "How many lines were executed.",
     [](const auto& result) { return result.lines; }},
    {"calls", kCount, "How many commands were called.",
     [](const auto& result) { return result.calls; }},
};
constexpr JsonObject<debugger::RunResult> kResult("result", "How the run ended", kResultFields);

std::optional<std::string> text_if_known(const std::optional<KeyText>& key) {
  return key ? std::optional(text_of(*key)) : std::nullopt;
}
constexpr JsonField<KeyChange> kKeyFields[] = {
    {"event", JsonConstant{"key"}, kAboutEvent},
    {"key", kBytes, "The key in Redis.", [](const auto& change) { return JsonBytes{change.key}; }},
    {"before", kStringOrNull, "What it held before, or null.",
     [](const auto& change) { return text_if_known(change.before); }},
    {"after", kStringOrNull, "What it held afterwards, or null.",
     [](const auto& change) { return text_if_known(change.after); }},
    {"changed", kBoolean, "Whether the run changed the key.",
     [](const auto& change) { return change.changed; }},
};
constexpr JsonObject<KeyChange> kKey("key", "A key before and after the run", kKeyFields);

/// Null if the reply cannot be read, or does not tell the value: it is then `none`.
template <typename Value>
std::optional<Value> told(const ReplyAsRead& reading, Value value, Value none) {
  return reading.problem.empty() && value != none ? std::optional(value) : std::nullopt;
}
constexpr JsonType kIntegerOrNull{R"("type": ["integer", "null"])"};
constexpr JsonField<ReplyAsRead> kReadingFields[] = {
    {"event", JsonConstant{"reading"}, kAboutEvent},
    {"allowed", kBooleanOrNull, "The answer.",
     [](const auto& of) {
       return of.problem.empty() ? std::optional(of.decision.allowed) : std::nullopt;
     }},
    {"remaining", kIntegerOrNull, "The units that remain.",
     [](const auto& of) { return told(of, of.decision.remaining, limiter::kNotTold); }},
    {"retry_after_us", kIntegerOrNull,
     "Microseconds until the request would be allowed; -1 if never.",
     [](const auto& of) { return told(of, of.decision.retry_after, limiter::kTimeNotTold); }},
    {"reset_after_us", kIntegerOrNull, "Microseconds until nothing is used.",
     [](const auto& of) { return told(of, of.decision.reset_after, limiter::kTimeNotTold); }},
    {"delay_us", kDurationOrNull, "Microseconds to wait before going on.",
     [](const auto& of) {
       return of.problem.empty() ? std::optional(of.decision.delay) : std::nullopt;
     }},
    {"error", kTextOrNull, "Why the reply cannot be read, or null.",
     [](const auto& of) { return known_text(of.problem); }},
};
constexpr JsonObject<ReplyAsRead> kReading("reading", "The reply as rlctl was told to read it",
                                           kReadingFields,
                                           "Written only if rlctl knows how to read the reply.");

// ---- Coverage ----

struct CoveredLine {
  int line;
  std::int64_t hits;
  std::string_view source;
};
constexpr JsonField<CoveredLine> kCoveredFields[] = {
    {"event", JsonConstant{"coverage"}, kAboutEvent},
    {kLine, [](const auto& of) { return of.line; }},
    {"hits", kCount, "How often the line was executed.", [](const auto& of) { return of.hits; }},
    {kSource, [](const auto& of) { return of.source; }},
};
constexpr JsonObject<CoveredLine> kCovered(
    "coverage", "How often a line was executed", kCoveredFields,
    "Written only with --coverage, for each line that can be reached.");

struct CoverageTotal {
  std::int64_t runs;
  std::size_t lines;
  std::int64_t reached;
};
constexpr JsonField<CoverageTotal> kTotalFields[] = {
    {"event", JsonConstant{"coverage_total"}, kAboutEvent},
    {"runs", kCount, "How many requests ran.", [](const auto& of) { return of.runs; }},
    {"lines", kCount, "How many lines can be reached.", [](const auto& of) { return of.lines; }},
    {"reached", kCount, "How many of them were executed.",
     [](const auto& of) { return of.reached; }},
};
constexpr JsonObject<CoverageTotal> kTotal("coverage_total", "The coverage of the script",
                                           kTotalFields,
                                           "Written only with --coverage, at the end.");

constexpr const JsonObjectInfo* kObjects[] = {&kExecuted, &kCall, &kLocal,   &kDebug,   &kLog,
                                              &kResult,   &kKey,  &kReading, &kCovered, &kTotal};

}  // namespace

constinit const JsonOutput kJson{
    "One object for each event. A field is null if its value is not known.", kObjects};

void View::append_json(const debugger::TracedLine& line) {
  kExecuted.append_line(out_, {line.line, bytes(line.line)});
  for (const auto& call : line.calls) kCall.append_line(out_, {line.line, call});
  for (const auto& message : line.messages) {
    const auto& object = message.level.empty() ? kDebug : kLog;
    object.append_line(out_, {line.line, message});
  }
  for (const auto& change : line.changed) kLocal.append_line(out_, {line.line, change});
}

void View::append_json(const debugger::RunResult& result, const std::vector<KeyChange>& keys) {
  kResult.append_line(out_, result);
  for (const auto& change : keys) kKey.append_line(out_, change);
}

void View::append_json(const ReplyAsRead& reading) {
  kReading.append_line(out_, reading);
}

void Coverage::append_json(std::string& out) const {
  for (const auto& [line, hits] : hits_) {
    kCovered.append_line(out, {line, hits, lines_[static_cast<std::size_t>(line) - 1]});
  }
  kTotal.append_line(out, {runs_, hits_.size(), reached()});
}

}  // namespace rlctl::cli::debug
