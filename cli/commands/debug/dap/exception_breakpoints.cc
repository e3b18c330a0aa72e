#include "cli/commands/debug/dap/exception_breakpoints.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli::debug::dap {
namespace {

constexpr std::string_view kUncaught = "uncaught";

}  // namespace

Json exception_filters() {
  return Json::array({{{"filter", kUncaught},
                       {"label", "Uncaught errors"},
                       {"description", "Stops at an error that ends the script"},
                       {"default", true}}});
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
