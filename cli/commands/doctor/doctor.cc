#include <array>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/commands/doctor/checks.h"
#include "cli/commands/doctor/facts.h"
#include "cli/errors/plugin_state.h"
#include "cli/options/values.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

/// The exit status if the server gave no answer.
constexpr auto kUnknown = to_status(PluginState::kUnknown);

struct HealthRow {
  std::string_view name;
  Tone tone;
};
/// In the order of the enumerators.
constexpr std::array<HealthRow, 3> kHealthRows{
    {{"ok", Tone::kGood}, {"warning", Tone::kWarning}, {"failure", Tone::kBad}}};

const HealthRow& row_of(Health health) {
  return kHealthRows[static_cast<std::size_t>(health)];
}

/// Prints results as they come, and counts them.
class DoctorReport {
 public:
  DoctorReport(Output& out, bool json) : out_(out), json_(json), look_(look_of(out.fd())) {}

  void add(std::string_view check, const CheckResult& result) {
    ++counts_[static_cast<std::size_t>(result.health)];
    json_ ? add_json(check, result) : add_text(check, result);
  }
  /// The last line.
  void end();
  [[nodiscard]] Health worst() const {
    if (counts_[2] > 0) return Health::kFailure;
    return counts_[1] > 0 ? Health::kWarning : Health::kOk;
  }

 private:
  void add_text(std::string_view check, const CheckResult& result);
  void add_json(std::string_view check, const CheckResult& result);

  Output& out_;
  bool json_;
  Look look_;
  std::array<std::int64_t, 3> counts_{};
};

void DoctorReport::add_text(std::string_view check, const CheckResult& result) {
  constexpr std::size_t kHealthColumns = 9, kCheckColumns = 13;
  std::string out;
  const auto& [name, tone] = row_of(result.health);
  out += toned(name, tone, look_.colour);
  pad(out, name.size(), kHealthColumns);
  out += check;
  pad(out, check.size(), kCheckColumns);
  escape_message(out, result.detail);
  out += '\n';
  if (!result.fix.empty()) {
    pad(out, 0, kHealthColumns + kCheckColumns);
    escape_message(out, result.fix);
    out += '\n';
  }
  out_.buffer() += without_micro_sign(std::move(out), look_.utf8);
}

void DoctorReport::add_json(std::string_view check, const CheckResult& result) {
  auto& out = out_.buffer();
  JsonWriter(out)
      .begin_object()
      .field("check", check)
      .field("status", row_of(result.health).name)
      .field("detail", result.detail)
      .known_field("fix", result.fix)
      .end_object();
  out += '\n';
}

void DoctorReport::end() {
  if (json_) return;
  const auto [ok, warnings, failures] = counts_;
  std::string text;
  if (warnings > 0) text = counted(warnings, "warning");
  if (failures > 0) text += (text.empty() ? "" : ", ") + counted(failures, "failure");
  out_.buffer() += (text.empty() ? "no warnings, no failures" : text) + "\n";
}

/// The server cannot be asked: the only check. Throws the exception if the server is not to blame.
ExitStatus report_no_answer(DoctorReport& report, const std::exception& error) {
  const auto problem = without_doubt(describe(error));
  if (problem.status == ExitStatus::kUsage) throw;
  report.add(check_rows().front().name, {Health::kFailure, problem.message, problem.hint});
  report.end();
  return problem.status == ExitStatus::kUnreachable ? kUnknown
                                                    : static_cast<ExitStatus>(Health::kFailure);
}

std::vector<std::string_view> algorithms_of(const limiter::Configuration& configuration) {
  std::vector<std::string_view> names;
  for (const auto& policy : configuration.policies) names.push_back(policy.algorithm->name);
  return names;
}

ExitStatus run_doctor(Invocation& invocation) {
  require_at_most(0, invocation.operands, "doctor checks the server; inspect shows a KEY");
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  const auto algorithms = algorithms_of(invocation.configuration.policies());
  DoctorReport report(invocation.out, invocation.json);
  try {
    auto examination = examine(connector, invocation.interrupt);
    examination.algorithms = algorithms;
    for (const auto& row : check_rows()) {
      if (const auto result = row.check(examination)) report.add(row.name, *result);
    }
  } catch (const ProblemError& error) {
    return report_no_answer(report, error);
  } catch (const redis::Error& error) {
    return report_no_answer(report, error);
  }
  report.end();
  return static_cast<ExitStatus>(report.worst());
}

ExitStatus report_doctor_failure(const Problem& problem, bool json) {
  write_stderr(render(problem, doctor_command.text.name, json));
  return kUnknown;
}

Action add_doctor(Options&) {
  return run_doctor;
}

}  // namespace

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
    .add = add_doctor,
    .report = report_doctor_failure};

}  // namespace rlctl::cli
