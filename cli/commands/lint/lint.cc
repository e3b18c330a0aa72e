#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/app/command.h"
#include "cli/commands/lint/observer.h"
#include "cli/commands/lint/subject.h"
#include "cli/errors/failure.h"
#include "cli/errors/plugin_state.h"
#include "cli/options/completions.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "lint/findings.h"

namespace rlctl::cli {
namespace {

using lint::Finding;
using lint::Severity;

constexpr std::size_t kMostColumns = 80;

std::string_view severity_of(const Finding& finding) {
  switch (finding.severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      break;
  }
  return "critical";
}

/// What was found in all scripts.
class LintReport {
 public:
  explicit LintReport(Invocation& invocation)
      : invocation_(invocation), look_(look_of(invocation.out.fd())) {}

  void add(const LintSubject& subject, const lint::Observation& observation);
  /// Finding nothing in one of the scripts does not prove that it is sound.
  void doubt() { is_doubtful_ = true; }
  void finish();
  [[nodiscard]] PluginState state() const {
    if (counts_.count(Severity::kCritical) > 0) return PluginState::kCritical;
    if (counts_.count(Severity::kWarning) > 0) return PluginState::kWarning;
    return is_doubtful_ ? PluginState::kUnknown : PluginState::kOk;
  }

 private:
  void write_text(const LintSubject& subject, const Finding& finding);
  void write_json(const LintSubject& subject, const Finding& finding);
  [[nodiscard]] std::string counts() const;

  Invocation& invocation_;
  Look look_;
  bool is_doubtful_ = false;
  std::map<Severity, std::int64_t> counts_;
  std::int64_t scripts_ = 0, requests_ = 0;
  std::vector<std::string> next_;  ///< commands that look for more
};

void LintReport::add(const LintSubject& subject, const lint::Observation& observation) {
  ++scripts_;
  requests_ += static_cast<std::int64_t>(observation.requests.size());
  if (!subject.adversary.empty()) next_.push_back(subject.adversary);
  for (const auto& finding : lint::find_flaws(observation)) {
    ++counts_[finding.severity];
    invocation_.json ? write_json(subject, finding) : write_text(subject, finding);
  }
  invocation_.out.flush();
}

void LintReport::write_text(const LintSubject& subject, const Finding& finding) {
  constexpr std::size_t kIndent = 4;
  const auto tone = finding.severity == Severity::kCritical ? Tone::kBad : Tone::kWarning;
  const auto place = fmt::format("{}:{}: ", escaped_message(subject.place), finding.line);
  std::string head =
      place + toned(finding.name, tone, look_.colour) + ": " + escaped_message(finding.what);
  constexpr std::string_view kCut = "...";
  if (display_width(head) > kMostColumns) {
    head = cut_to_width(head, kMostColumns - kCut.size()) + std::string(kCut);
  }
  std::string text = head + "\n";
  const auto filled = [](const std::string& sentence) {
    std::string lines(kIndent, ' ');
    append_filled(lines, escaped_message(sentence), kIndent, kMostColumns);
    return lines;
  };
  text += filled(fmt::format("{}: {}", severity_of(finding), finding.detail));
  text += toned(filled("Fix: " + finding.fix + "."), Tone::kDim, look_.colour);
  invocation_.out.write(text);
}

void LintReport::write_json(const LintSubject& subject, const Finding& finding) {
  auto& out = invocation_.out.buffer();
  JsonWriter(out)
      .begin_object()
      .field("finding", finding.name)
      .field("severity", severity_of(finding))
      .field("script", subject.place)
      .field("line", finding.line)
      .field("call", finding.what)
      .field("detail", finding.detail)
      .field("fix", finding.fix)
      .end_object();
  out += '\n';
}

/// "1 critical finding, 2 warnings, 1 note"
std::string LintReport::counts() const {
  std::string text;
  for (const auto& [severity, name] :
       {std::pair(Severity::kCritical, "critical finding"),
        std::pair(Severity::kWarning, "warning"), std::pair(Severity::kNote, "note")}) {
    const auto count = counts_.find(severity);
    if (count == counts_.end()) continue;
    text += (text.empty() ? "" : ", ") + counted(count->second, name);
  }
  return text.empty() ? "no findings" : text;
}

void LintReport::finish() {
  if (!invocation_.json) {
    auto text = fmt::format("{} in {}, by {}\n", counts(), counted(scripts_, "script"),
                            counted(requests_, "request"));
    for (const auto& command : next_) {
      text += (&command == &next_.front() ? "Search for requests that exceed the limit:\n" : "") +
              fmt::format("    {}\n", escaped_message(command));
    }
    invocation_.out.write(text);
  }
  invocation_.out.flush();
}

ExitStatus run_lint(const LintOptions& options, Invocation& invocation) {
  const auto subjects = make_lint_subjects(options, invocation);
  if (names_server(invocation.connection)) {
    throw UsageError("lint runs scripts on a private server, never on one that an option names",
                     kNameNoServer);
  }
  auto connection = invocation.connection;
  connection.url = "private:";
  Connector connector(connection, invocation.configuration, invocation.interrupt);
  LintReport report(invocation);
  for (const auto& subject : subjects) {
    Progress progress(is_terminal(STDERR_FILENO));
    LintObserver observer(subject, connector, invocation, progress);
    const auto observation = observer.observe();
    progress.clear();
    auto warnings = observer.doubts();
    if (!observer.change().empty()) warnings.insert(warnings.begin(), observer.change());
    for (const auto& warning : warnings) {
      warn(fmt::format("warning: {}: {}", subject.place, warning), invocation.command);
    }
    report.add(subject, observation);
    if (!observer.doubts().empty()) report.doubt();
  }
  report.finish();
  return to_status(report.state());
}

ExitStatus report_lint_failure(const Problem& problem, bool json) {
  write_stderr(render(problem, lint_command.text.name, json));
  return to_status(PluginState::kUnknown);
}

std::string lint_notes() {
  constexpr std::size_t kColumn = 21;
  std::string out = "\nFindings:\n";
  for (const auto& kind : lint::finding_kinds()) {
    out += fmt::format("  {:{}}{}\n", kind.name, kColumn, kind.summary);
  }
  return out + placeholder_help();
}

}  // namespace

const Command lint_command{
    .text =
        {.name = "lint",
         .summary = "find flaws in a limiter script, line by line, by running it",
         .synopsis = "lint [options] SCRIPT...",
         .about =
             "Runs a Lua script, a file or one that the configuration names, under light\n"
             "traffic in virtual time on a private server, watches each command that it calls\n"
             "and each key that it leaves, and reports what hurts in production: the line, the\n"
             "call, why it hurts, and what to do.",
         .statuses =
             {
                 "OK: no findings, or only notes",
                 kStatusWarning,
                 kStatusCritical,
                 "UNKNOWN: wrong usage; or a script does not compile, failed or did not end;\n"
                 "or no findings, but something could not be tested",
             },
         .epilogue = R"(
Examples:
  rlctl lint my.lua --limit 5/60s --args '{now_ms} {window_ms} {limit}'
  rlctl lint counter.lua --args '{window_s}' --allowed-when '<=limit'
  rlctl lint sliding-window-log
)",
         .notes = lint_notes,
         .complete_operand = complete_limiter},
    .add = add_command<LintOptions, add_lint_options, run_lint>,
    .report = report_lint_failure};

}  // namespace rlctl::cli
