#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/doctor/checks.h"
#include "cli/errors/plugin_state.h"
#include "cli/options/values.h"
#include "cli/report/findings.h"
#include "redis/error.h"

namespace rlctl::cli::doctor {
namespace {

/// Adds the result of a check.
void add(report::Findings& findings, std::string_view check, Finding result) {
  result.name = check;
  findings.add(result);
}

/// The server cannot be asked: the only check. Throws the exception if the server is not to blame.
ExitStatus add_no_answer(report::Findings& findings, const std::exception& error) {
  const auto problem = drop_in_doubt_note(describe(error));
  if (problem.status == ExitStatus::kUsage) throw;
  add(findings, check_rows().front().name, {Severity::kFailure, problem.message, problem.hint});
  return problem.status == ExitStatus::kUnreachable ? to_status(PluginState::kUnknown)
                                                    : findings.status();
}

std::vector<std::string_view> algorithms_of(const limiter::Configuration& configuration) {
  std::vector<std::string_view> names;
  for (const auto& policy : configuration.policies) names.push_back(policy.algorithm->name);
  return names;
}

ExitStatus run(Invocation& invocation) {
  require_at_most(0, invocation.operands, "doctor checks the server; inspect shows a KEY");
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  const auto algorithms = algorithms_of(invocation.configuration.policies());
  report::Findings findings(invocation.out, invocation.json, {"check", "status"});
  auto status = ExitStatus::kDone;
  try {
    auto examination = examine(connector, invocation.interrupt);
    examination.algorithms = algorithms;
    for (const auto& row : check_rows()) {
      if (auto result = row.check(examination)) add(findings, row.name, *std::move(result));
    }
    status = findings.status();
  } catch (const ProblemError& error) {
    status = add_no_answer(findings, error);
  } catch (const redis::Error& error) {
    status = add_no_answer(findings, error);
  }
  if (!invocation.json) invocation.out.write(findings.counts("no warnings, no failures") + "\n");
  return status;
}

}  // namespace
}  // namespace rlctl::cli::doctor

namespace rlctl::cli {

const Command doctor_command{
    .text = {.name = "doctor",
             .summary = "check whether a server can be used for limiters",
             .synopsis = "[connection] doctor",
             .about =
                 "Checks the server: one line for each check, with what to do about a warning or\n"
                 "a failure. Writes no key; loads a script that does nothing.",
             .statuses =
                 {
                     "every check is ok",
                     "there is a warning",
                     "there is a failure",
                     "the server cannot be queried, or wrong usage",
                 },
             .epilogue = R"(
Examples:
  rlctl doctor
  rlctl doctor --url rediss://limits.example.com --json
)"},
    .add = [](Options&) -> Action { return doctor::run; },
    .judges = true};

}  // namespace rlctl::cli
