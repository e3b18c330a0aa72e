#include "cli/commands/debug/dap/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "debugger/engine_debugger.h"

namespace rlctl::cli::debug::dap {
namespace {

constexpr int kSourceReference = 1;  // the sourceReference of a script that has no file

/// The file of a plan's script; empty if it has none.
std::string script_file(const Plan& plan, const debugger::Debuggee& debuggee) {
  if (plan.algorithm != nullptr) return bundled_file(debuggee);
  std::error_code failed;
  const auto path = std::filesystem::canonical(plan.path, failed);
  return failed ? std::string() : path.string();
}

}  // namespace

Script::Script(const Plan& plan, const EngineKeys& keys, Counting counting,
               debugger::EngineDebugger::Options options)
    : counting_(counting),
      stepper_(plan, keys, std::move(options)),
      view_(text_, Look{.utf8 = true}, stepper_.debuggee()),
      path_(script_file(plan, stepper_.debuggee())) {}

void Script::reset() {
  if (stepper_.reset()) view_.read_source();
}

std::string Script::end_text() {
  text_.clear();
  view_.result(debugger().result());
  for (const auto& line : stepper_.end(true)) view_.say(line);
  return std::exchange(text_, {});
}

std::string Script::name() const {
  return escaped_message(debuggee().name);
}

Json Script::source() const {
  Json source{{"name", name()}};
  if (path_.empty()) {
    source["sourceReference"] = kSourceReference;
  } else {
    source["path"] = path_;
  }
  return source;
}

bool Script::is_at(const Json& source) const {
  if (integer_member(source, "sourceReference", 0) == kSourceReference) return true;
  const auto path = text_member(source, "path");
  std::error_code failed;
  return !path.empty() && std::filesystem::equivalent(path, path_, failed);
}

Json source(const Script& script, const Json& arguments) {
  const auto* source = member(arguments, "source");
  const auto reference =
      integer_member(arguments, "sourceReference",
                     source == nullptr ? 0 : integer_member(*source, "sourceReference", 0));
  if (reference != kSourceReference) {
    throw UsageError(fmt::format("unknown sourceReference {}", reference));
  }
  return {{"content", script.debuggee().shown_source()}, {"mimeType", "text/x-lua"}};
}

Json stack_trace(Script& script, const Json& arguments) {
  auto& debugger = script.debugger();
  const auto frames = debugger.backtrace();
  const auto first = std::max<std::int64_t>(integer_member(arguments, "startFrame", 0), 0);
  const auto levels = integer_member(arguments, "levels", 0);
  auto shown = Json::array();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (index < first || (levels > 0 && index >= first + levels)) continue;
    shown.push_back({{"id", index + 1},
                     {"name", escaped_message(frames[i].name)},
                     {"source", script.source()},
                     {"line", script.counting().line(frames[i].line)},
                     {"column", script.counting().first_column}});
  }
  return {{"stackFrames", shown}, {"totalFrames", frames.size()}};
}

}  // namespace rlctl::cli::debug::dap
