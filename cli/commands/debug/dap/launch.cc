#include "cli/commands/debug/dap/launch.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"

namespace rlctl::cli::debug::dap {
namespace {

/// Adds the log, the request of it that is debugged, and what prepares the keys.
void read_state(const Json& arguments, Plan& plan) {
  if (auto files = texts_member(arguments, "replay"); !files.empty()) {
    plan.log.files = std::move(files);
  }
  if (member(arguments, "skip") != nullptr) {
    plan.skip = integer_member(arguments, "skip", 0);
    if (*plan.skip < 0) throw UsageError("\"skip\" must not be negative");
  }
  for (const auto& line : texts_member(arguments, "setup")) {
    plan.script_options.say("setup", {.text = line, .origin = {"\"setup\""}});
  }
}

/// What the command line refuses when it is parsed.
void require_compatible(const Plan& plan) {
  const auto& files = plan.log.files;
  const bool has_log = !files.empty();
  if (std::find(files.begin(), files.end(), kStandardInput) != files.end()) {
    throw UsageError("the log cannot be read from standard input: name its file");
  }
  if (!has_log && plan.skip) {
    throw UsageError("\"skip\" requires \"replay\"", "it names the log");
  }
  if (has_log && plan.now) {
    throw UsageError("\"now\" and \"replay\" cannot be combined: the log has the times");
  }
}

/// Throws if a file is a FIFO: opening it waits for its writer, while no request is answered.
void require_no_fifo(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_fifo(file, error)) return;
  throw UsageError(quoted_and_masked(file) + " is a FIFO: name a file, which can be read again");
}

}  // namespace

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
    throw UsageError("the request names no script: \"program\": \"${file}\"");
  }
  if (script == kStandardInput) {
    throw UsageError("the script cannot be read from standard input: name its file");
  }
  require_no_fifo(script);
  if (!script.empty()) launch.operands.push_back(std::move(script));
  for (auto& key : texts_member(arguments, "keys")) {
    if (key == ",") throw UsageError("\"keys\" cannot hold the key \",\"");
    launch.operands.push_back(std::move(key));
  }
  if (const auto* words = member(arguments, "args"); words != nullptr && words->is_string()) {
    plan.script_options.say("args", {.text = words->get<std::string>(), .origin = {"\"args\""}});
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
  read_state(arguments, plan);
  std::ranges::for_each(plan.log.files, require_no_fifo);
  if (const auto* setup = plan.script_options.find("setup")) require_no_fifo(*setup);
  require_compatible(plan);
  return launch;
}

}  // namespace rlctl::cli::debug::dap
