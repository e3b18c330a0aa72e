#include "cli/commands/debug/dap/other_breakpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli::debug::dap {
namespace {

constexpr std::string_view kUncaught = "uncaught";

/// Above the numbers of lines, which are the ids of breakpoints at lines.
constexpr int kFirstCallId = 1 << 24;

/// The call that a function breakpoint names, in lower case. Throws UsageError for what names none.
std::string call_named(const Json& wanted) {
  for (const auto* absent : {"condition", "hitCondition"}) {
    if (text_member(wanted, absent).empty()) continue;
    throw UsageError(fmt::format("\"{}\" is not supported at a call", absent));
  }
  auto name = lower_case(text_member(wanted, "name"));
  const bool is_word =
      !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
        return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
      });
  if (is_word) return name;
  throw UsageError("name a Redis command, such as INCR, or redis.call or redis.pcall");
}

}  // namespace

Json exception_filters() {
  return Json::array({{{"filter", kUncaught},
                       {"label", "Uncaught errors"},
                       {"description", "Stops at an error that ends the script"},
                       {"default", true}}});
}

Json set_function_breakpoints(Script& script, const Json& arguments) {
  const auto* wanted = member(arguments, "breakpoints");
  if (wanted == nullptr || !wanted->is_array()) {
    throw UsageError("\"breakpoints\" must be an array");
  }
  std::set<std::string> calls;
  auto set = Json::array();
  for (const auto& one : *wanted) {
    try {
      calls.insert(call_named(one));
      set.push_back({{"id", kFirstCallId + static_cast<int>(set.size())}, {"verified", true}});
    } catch (const UsageError& error) {
      set.push_back({{"verified", false}, {"message", error.what()}});
    }
  }
  script.debugger().set_call_stops(std::move(calls));
  return {{"breakpoints", set}};
}

Json set_exception_breakpoints(Script& script, const Json& arguments) {
  const auto filters = texts_member(arguments, "filters");
  for (const auto& filter : filters) {
    if (filter == kUncaught) continue;
    throw UsageError(fmt::format("unknown filter {}: there is only \"{}\"",
                                 quoted_and_masked(filter), kUncaught));
  }
  script.debugger().set_stops_at_errors(!filters.empty());
  return nullptr;
}

}  // namespace rlctl::cli::debug::dap
