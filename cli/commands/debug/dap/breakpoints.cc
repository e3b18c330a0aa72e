#include "cli/commands/debug/dap/breakpoints.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"
#include "debugger/engine_debugger.h"

namespace rlctl::cli::debug::dap {
namespace {

using Breakpoints = std::map<int, debugger::Breakpoint>;

/// The line nearest to this one at which the script stops, the later of two; 0 if none is known.
int nearest_stop(const debugger::EngineDebugger& debugger, int line) {
  const auto& lines = debugger.stop_lines();
  const auto after = lines.lower_bound(line);
  if (after == lines.begin()) return after == lines.end() ? 0 : *after;
  const int before = *std::prev(after);
  return after == lines.end() || line - before < *after - line ? before : *after;
}

/// Throws UsageError for one that cannot be set.
Json set_breakpoint(Script& script, const Breakpoints& before, const Json& wanted) {
  auto& debugger = script.debugger();
  const int first = script.counting().first_line;
  const auto asked = integer_member(wanted, "line", first) + 1 - first;
  const int line = nearest_stop(debugger, static_cast<int>(asked));
  if (line == 0) throw UsageError("the script does not compile, or has no line that stops");
  if (debugger.breakpoints().contains(line)) {
    throw UsageError(fmt::format("line {} has a breakpoint", line));
  }
  debugger::Breakpoint breakpoint{.line = line, .condition = text_member(wanted, "condition")};
  if (const auto text = text_member(wanted, "hitCondition"); !text.empty()) {
    breakpoint.hit_condition.emplace(text);
  }
  if (const auto text = text_member(wanted, "logMessage"); !text.empty()) {
    breakpoint.message.emplace(text);
  }
  // The client sends all breakpoints when one changes.
  if (const auto old = before.find(line);
      old != before.end() && old->second.condition == breakpoint.condition) {
    breakpoint.hits = old->second.hits;
  }
  debugger.add_breakpoint(std::move(breakpoint));
  Json set{{"id", line}, {"verified", true}, {"line", script.counting().line(line)}};
  if (line != asked) set["message"] = fmt::format("line {} is the nearest that stops", line);
  return set;
}

}  // namespace

Json set_breakpoints(Script& script, const Json& arguments) {
  const auto* source = member(arguments, "source");
  const auto* wanted = member(arguments, "breakpoints");
  if (source == nullptr) throw UsageError("\"source\" is missing");
  if (wanted != nullptr && !wanted->is_array()) {
    throw UsageError("\"breakpoints\" must be an array");
  }
  const bool is_ours = script.is_at(*source);
  const auto before = script.debugger().breakpoints();
  if (is_ours) script.debugger().clear_breakpoints();
  auto set = Json::array();
  if (wanted == nullptr) return {{"breakpoints", set}};
  for (const auto& one : *wanted) {
    try {
      if (!is_ours) throw UsageError("this file is not the script that is debugged");
      set.push_back(set_breakpoint(script, before, one));
    } catch (const UsageError& error) {
      set.push_back({{"verified", false}, {"message", error.what()}});
    }
  }
  return {{"breakpoints", set}};
}

std::vector<Json> drop_lost_breakpoints(Script& script) {
  std::vector<Json> bodies;
  for (const int line : script.debugger().drop_lost_breakpoints()) {
    bodies.push_back(
        {{"reason", "changed"},
         {"breakpoint",
          {{"id", line}, {"verified", false}, {"message", "nothing stops at this line now"}}}});
  }
  return bodies;
}

}  // namespace rlctl::cli::debug::dap
