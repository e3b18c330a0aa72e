#include "cli/commands/debug/dap/launch.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "cli/options/options.h"

namespace rlctl::cli::debug::dap {

Launch read_launch(const Json& arguments, const Plan& given, const ConnectionOptions& connection) {
  Launch launch{.plan = given, .connection = connection};
  auto& plan = launch.plan;
  plan.quiet = true;
  auto script = text_member(arguments, "program");
  if (const auto other = text_member(arguments, "script"); !other.empty()) {
    if (!script.empty()) throw UsageError("\"script\" and \"program\" mean the same: omit one");
    script = other;
  }
  if (script.empty() && !plan.limit_options.policy) {
    throw UsageError("the launch names no script: \"program\": \"${file}\"");
  }
  if (!script.empty()) launch.operands.push_back(std::move(script));
  for (auto& key : texts_member(arguments, "keys")) {
    if (key == ",") throw UsageError("\"keys\" cannot hold the key \",\"");
    launch.operands.push_back(std::move(key));
  }
  if (const auto* words = member(arguments, "args"); words != nullptr && words->is_string()) {
    plan.script_options.arguments = words->get<std::string>();
  } else if (words != nullptr) {
    launch.operands.emplace_back(",");
    for (auto& word : texts_member(arguments, "args")) launch.operands.push_back(std::move(word));
  }
  if (auto limits = texts_member(arguments, "limit"); !limits.empty()) {
    plan.limit_options.limits = std::move(limits);
  }
  if (const auto now = text_member(arguments, "now"); !now.empty()) plan.now = parse_now(now);
  if (auto server = text_member(arguments, "server"); !server.empty()) {
    launch.connection.url = std::move(server);
  }
  launch.stops_on_entry = flag_member(arguments, "stopOnEntry", false);
  for (const auto* absent : {"replay", "skip"}) {
    if (member(arguments, absent) == nullptr) continue;
    throw UsageError(
        fmt::format("\"{}\" is not supported in a launch: start rlctl with --{}", absent, absent));
  }
  return launch;
}

}  // namespace rlctl::cli::debug::dap
