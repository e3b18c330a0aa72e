#include "cli/commands/lint/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/json_object.h"
#include "base/number.h"
#include "base/table.h"
#include "base/text.h"
#include "base/worker.h"
#include "cli/app/worker.h"
#include "cli/errors/failure.h"
#include "cli/options/completions.h"
#include "cli/options/holder_options.h"
#include "cli/options/options.h"
#include "cli/report/findings.h"
#include "cli/server/connection.h"
#include "cli/server/programs.h"
#include "cli/terminal/table.h"
#include "lint/excuses.h"
#include "lint/findings.h"

namespace rlctl::cli::lint {
namespace {

using rlctl::lint::Finding;
using rlctl::lint::FindingKind;
using rlctl::lint::Severity;

/// Each probe asks for all.
constexpr std::int64_t kMostLeases = 1000;

void add_options(Options& options, Plan& plan) {
  // The rows refer to their texts.
  static const auto kLimitHelp = fmt::format(
      "requests and window that fill the placeholders below (default: {}); a small limit, since "
      "the traffic exceeds it",
      kDefaultLimit);
  options.group("Script");
  options.list("--limit", "LIMIT", plan.limits, kLimitHelp).splits_at_commas();
  options.list(
      "--keys", "KEY", [&plan](const std::string& key) { add_key(plan.script, key); },
      "one of the KEYS of the script, with the placeholders below (default: {key})");
  add_script_options(options, plan.script);
  add_exec_options(options, plan.exec);
  options.group("Leases");
  options
      .value("--concurrency", "NUMBER",
             into(plan.concurrency, number_between("--concurrency", 1, kMostLeases)),
             "test only how the script gives leases, of which at most NUMBER may be held at once")
      .excludes("--limit", "it counts requests");
  options
      .value("--lease", "TIME", into(plan.lease, parse_lease),
             "a lease lapses after this unless it is renewed (default: 30s)")
      .needs("--concurrency");
  options.group("Budgets");
  options
      .value("--reserve", "UNITS",
             into(plan.reserve, number_between("--reserve", 1, limiter::kLargestLimit)),
             "test only how the script keeps a budget, with reservations of UNITS units")
      .excludes("--concurrency", "a script gives leases or keeps a budget");
  options
      .value("--hold", "TIME", into(plan.hold, parse_hold),
             "a reservation lapses after this unless it is settled (default: 30s)")
      .needs("--reserve");
}

report::Severity severity_of(const Finding& finding) {
  if (finding.severity == Severity::kNote) return report::Severity::kNote;
  return finding.severity == Severity::kWarning ? report::Severity::kWarning
                                                : report::Severity::kCritical;
}

/// Whether this run can find the kind, so that an excuse which meets nothing is of no use.
bool is_looked_for(const FindingKind& kind, const Subject& subject) {
  constexpr std::string_view kOfLeases = "with --concurrency:", kOfBudgets = "with --reserve:";
  if (subject.conduct == Conduct::kLeases) return kind.summary.starts_with(kOfLeases);
  if (subject.conduct == Conduct::kBudget) return kind.summary.starts_with(kOfBudgets);
  if (kind.summary.starts_with(kOfLeases) || kind.summary.starts_with(kOfBudgets)) return false;
  if (!subject.candidate.foreign) return true;  // a bundled script tells all figures
  const auto& reading = subject.candidate.foreign->reading;
  return !(kind.name == "wrong-wait" && !reading.retry_after) &&
         !(kind.name == "wrong-remaining" && !reading.remaining) &&
         !(kind.name == "wrong-reset" && !reading.reset_after);
}

/// "Tested" and "Not tested", with a line for each; `place` is empty if there is one script only.
std::string coverage_text(const std::string& place, const Observed& observed) {
  constexpr std::size_t kIndent = 4, kColumns = 80;
  const auto head = place.empty() ? "" : escaped_message(place) + ": ";
  std::string out;
  const auto add = [&](const std::string& line) {
    std::string filled(kIndent, ' ');
    append_filled(filled, escaped_message(line), 2 * kIndent, kColumns);
    out += filled;
  };
  out += head + (head.empty() ? "Tested:\n" : "tested:\n");
  for (const auto& line : observed.tested) add(line);
  if (observed.not_tested.empty()) return out;
  out += head + (head.empty() ? "Not tested:\n" : "not tested:\n");
  for (const auto& [what, why] : observed.not_tested) add(what + ": " + why);
  return out;
}

/// "script", "program" or, if there are both, "limiter".
std::string_view kind_of(const std::vector<Subject>& subjects) {
  const auto programs = std::ranges::count_if(
      subjects, [](const auto& each) { return each.candidate.program != nullptr; });
  if (programs == 0) return "script";
  return programs == std::ssize(subjects) ? "program" : "limiter";
}

// ---- JSON ----

using namespace json_type;

/// What a finding is about, or what was tested.
template <typename What>
struct OfScript {
  std::string_view script;
  const What& what;
};

constexpr JsonField<std::string_view> kPlaceFields[] = {
    {"script", kText,
     "The file as typed, the name of a bundled script with .lua, or the name of a program.",
     [](const auto& script) { return script; }},
};
constexpr JsonObject<std::string_view> kPlace(kPlaceFields);

using FoundInScript = OfScript<Finding>;

constexpr JsonField<FoundInScript> kHeadFields[] = {
    {"finding", JsonType{.names = [] { return names_of(rlctl::lint::finding_kinds()); }},
     "The name of the finding.", [](const auto& of) { return of.what.name; }},
    {"severity", JsonType{R"("enum": ["critical", "warning", "note"])"}, "How bad it is.",
     [](const auto& of) { return name_of(severity_of(of.what)); }},
    {kPlace, [](const auto& of) { return of.script; }},
};
constexpr JsonField<FoundInScript> kEndFields[] = {
    {"detail", kText, "Why it hurts.", [](const auto& of) { return of.what.detail; }},
    {"fix", kText, "What to do.", [](const auto& of) { return of.what.fix; }},
    {"excused?", kText,
     "The reason in the comment that excuses the finding: the status does not count it. Present "
     "only if it is excused.",
     [](const auto& of) { return known_text(of.what.excuse); }},
};
constexpr JsonObject<FoundInScript> kHead(kHeadFields), kEnd(kEndFields);

constexpr JsonField<FoundInScript> kAtLineFields[] = {
    {kHead},
    {"line", kNumberFromOne, "The line in the script.",
     [](const auto& of) { return of.what.line; }},
    {"call", kText,
     "The command with its words, control bytes escaped; for unknown-flag, the flag; for "
     "unused-excuse, the words of the comment.",
     [](const auto& of) { return of.what.what; }},
    {kEnd},
};
constexpr JsonObject<FoundInScript> kAtLine("finding", "A finding at a line", kAtLineFields);

constexpr JsonField<FoundInScript> kByScheduleFields[] = {
    {kHead},
    {"schedule", kText, "The requests or events that show the finding.",
     [](const auto& of) { return of.what.what; }},
    {kEnd},
};
constexpr JsonObject<FoundInScript> kBySchedule("shown_by_schedule",
                                                "A finding that a schedule shows",
                                                kByScheduleFields);

constexpr JsonField<NotTested> kNotTestedFields[] = {
    {"what", kText, "The traffic or the finding.", [](const auto& of) { return of.what; }},
    {"why", kText, "Why it was not tested.", [](const auto& of) { return of.why; }},
};
constexpr JsonObject<NotTested> kNotTested(kNotTestedFields);

constexpr JsonField<OfScript<Observed>> kCoverageFields[] = {
    {kPlace, [](const auto& of) { return of.script; }},
    {"tested", kTexts, "The traffic that was sent, in sentences.",
     [](const auto& of) { return std::span(of.what.tested); }},
    {"not_tested", array_of(kNotTested),
     "What could not be tested: status 3 if there are no findings.",
     [](const auto& of) { return std::span(of.what.not_tested); }},
};
constexpr JsonObject<OfScript<Observed>> kCoverage("coverage", "What was tested of a script",
                                                   kCoverageFields);

constexpr const JsonObjectInfo* kObjects[] = {&kAtLine, &kBySchedule, &kCoverage};
constexpr JsonOutput kJson{
    "One object for each finding, and one for each script, after its findings.", kObjects};

// ---- The command ----

void add_finding(report::Findings& findings, const std::string& place, const Finding& finding) {
  const bool has_line = finding.line > 0;
  // A schedule is too long for the first line of the text.
  const auto seen = has_line ? "" : fmt::format(" Seen: {}.", finding.what);
  findings.add({.severity = severity_of(finding),
                .detail = finding.detail + seen,
                .fix = finding.fix,
                .name = finding.name,
                .subject = has_line ? escaped_message(finding.what) : "",
                .place = has_line ? fmt::format("{}:{}", place, finding.line) : place,
                .excuse = finding.excuse},
               has_line ? kAtLine : kBySchedule, {place, finding});
}

/// The commands that search for schedules which exceed the limit, which lint does not look for.
std::string next_steps(const std::vector<Subject>& subjects) {
  std::string out;
  for (const auto& subject : subjects) {
    if (subject.adversary.empty()) continue;
    out +=
        fmt::format("{}    {}\n", out.empty() ? "Search for requests that exceed the limit:\n" : "",
                    escaped_message(subject.adversary));
  }
  return out;
}

ExitStatus run(const Plan& plan, Invocation& invocation) {
  if (const auto ended = run_in_worker(invocation, kMostTime)) return *ended;
  auto subjects = make_subjects(plan, invocation);
  if (names_server(invocation.connection)) {
    throw UsageError("lint runs scripts in this process, never on a server", kNameNoServer);
  }
  const auto programs = program_settings(plan.exec, invocation.connection, invocation.configuration,
                                         invocation.interrupt);
  report::Findings findings(invocation.out, invocation.json);
  bool is_complete = true;
  std::int64_t requests = 0;
  std::string coverage;
  for (auto& subject : subjects) {
    const auto& place = subject.place;
    const bool is_program = subject.candidate.program != nullptr;
    const auto& interrupt = invocation.interrupt;
    Observed observed;
    try {
      observed = subject.conduct == Conduct::kLeases ? observe_leases(subject, programs, interrupt)
                 : subject.conduct == Conduct::kBudget
                     ? observe_budget(subject, plan, programs, interrupt)
                 : is_program ? observe_program(subject, programs)
                              : observe(subject, interrupt);
    } catch (const worker::TimeIsUp&) {
      add_lack_of_time("everything", observed);
    }
    for (const auto& warning : observed.warnings) {
      warn(fmt::format("warning: {}: {}", place, warning), invocation.command);
    }
    const bool is_whole = observed.not_tested.empty();
    apply_excuses(subject.excuses, observed.findings, [&](const FindingKind& kind) {
      return is_whole && is_looked_for(kind, subject);
    });
    drop_followers(observed.findings);
    is_complete &= is_whole;
    requests += observed.requests;
    bool ignores_costs = false;
    for (const auto& finding : observed.findings) {
      add_finding(findings, place, finding);
      ignores_costs |= finding.name == "ignored-cost";
    }
    if (!subject.adversary.empty() && !ignores_costs) subject.adversary += subject.adversary_costs;
    if (invocation.json) {
      kCoverage.append_line(invocation.out.buffer(), {place, observed});
    } else {
      coverage += coverage_text(std::ssize(subjects) > 1 ? place : "", observed);
    }
    invocation.out.flush();
  }
  if (!invocation.json) {
    const std::string_view none = is_complete ? "no findings" : "no findings in what was tested";
    const auto counts = findings.counts(none);
    const auto* comma = !is_complete && counts == none ? "," : "";
    invocation.out.write(fmt::format("{}{} in {} ({})\n", counts, comma,
                                     counted(std::ssize(subjects), kind_of(subjects)),
                                     counted(requests, "request")) +
                         (findings.status() == ExitStatus::kDone ? coverage : std::string{}) +
                         next_steps(subjects));
  }
  invocation.out.flush();
  return findings.status(is_complete);
}

std::string notes() {
  return help_section("Findings", rlctl::lint::finding_kinds()) + script_help();
}

}  // namespace

void add_lack_of_time(std::string_view what, Observed& observed) {
  const auto why =
      fmt::format("the {} s of processor time that lint has were used up", kMostTime.count());
  observed.warnings.push_back(fmt::format("not tested: {}: {}", what, why));
  observed.not_tested.push_back({std::string(what), why});
}

const Command kCommand{
    .text = {.name = "lint",
             .summary = "run a script or a program, and find its flaws, line by line",
             .synopsis = "lint [options] [SCRIPT...]",
             .about =
                 "Runs a Lua script, a file or one that the configuration names, under light\n"
                 "traffic in virtual time in this process, watches each command that it calls and\n"
                 "each key that it leaves, and reports what hurts in production: the line, the\n"
                 "call, why it hurts, and what to do. Of a program (--exec), only the answers to\n"
                 "this traffic are known; they are reported in the same way, without lines.",
             .brief = "--limit --keys --args --allowed-when "
                      "--head --exec --concurrency --reserve",
             .statuses =
                 {
                     "OK: no findings, or only notes and excused ones",
                     kStatusWarning,
                     kStatusCritical,
                     "UNKNOWN: wrong usage; or a script does not compile, failed or did not end,\n"
                     "or a program failed;\n"
                     "or no findings, but something could not be tested",
                 },
             .epilogue = R"(
Examples:
  rlctl lint lua/*.lua
  rlctl lint my.lua --limit 5/60s --args '{now_ms} {window_ms} {limit}'
  rlctl lint counter.lua --args '{window_s}' --allowed-when '<=limit'
  rlctl lint sliding-window-log
  rlctl lint --exec 'python3 limiter.py' --limit 5/60s
  rlctl lint my.lua --head 'retry_after r[3] ms' --head 'cost 1,3'
  rlctl lint reserve.lua --head 'settle settle.lua' --limit 100/60s \
      --reserve 10 --args '{limit} {reservation} {cost} {actual}'
  rlctl lint get.lua --head 'release put.lua' --concurrency 5
)",
             .notes = notes,
             .complete_operand = complete_limiter},
    .add = add_command<Plan, add_options, run>,
    .judges = true,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::lint
