#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/adversary/plan.h"
#include "cli/commands/adversary/report.h"
#include "cli/commands/adversary/search.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/trial/command.h"
#include "cli/trial/holders.h"
#include "cli/trial/limiters.h"

namespace rlctl::cli::adversary {
namespace {

using trial::Plan;
using trial::Report;

/// The largest --tries and --exhaustive.
constexpr std::int64_t kMaxTries = 1'000'000'000'000, kMaxExhaustive = 32;

/// A number is meant as a number of keys, of which a search has one.
void add_template(ScriptOptions& script, const std::string& key) {
  if (is_digits(std::string_view(key).substr(key.starts_with('-') ? 1 : 0))) {
    throw UsageError("KEY " + quoted_and_masked(key) + " is a number",
                     "a KEY is a template, such as '{key}'");
  }
  add_key(script, key);
}

/// Declares --concurrency, --reserve and --hold; the search finds when holders come and go.
void add_holders(Options& options, Plan& plan) {
  trial::add_lease_options(options, plan);
  trial::add_budget_options(options, plan);
  options
      .value("--hold", "TIME", into(plan.budget.spend.hold, duration_of("--hold")),
             "how long reserved units are held (default: 30s)")
      .needs("--reserve");
}

void add_search(Options& options, Plan& plan) {
  static const auto kTriesHelp = fmt::format("requests to try against each limiter (default: {})",
                                             rlctl::adversary::kDefaultTries);
  auto& search = plan.kind.emplace<trial::SearchPlan>();
  options.group("Search");
  options.value("--cost", "NUMBERS", into(plan.costs, parse_costs),
                "costs of the requests, and refunds: 1,3,-1 (default: 1)");
  options
      .value("--tries", "NUMBER", into(search.tries, number_between("--tries", 1, kMaxTries)),
             kTriesHelp)
      .excludes("--exhaustive");
  options
      .value("--exhaustive", "NUMBER",
             into(search.exhaustive, number_between("--exhaustive", 1, kMaxExhaustive)),
             "try every schedule of up to this many requests; at the times at which a limiter's "
             "answer may change")
      .excludes("--seed", "nothing in an exhaustive search is random");
  options.flag("--monotonic", search.monotonic,
               "do not try a clock that steps back; an exhaustive search never does");
  trial::add_seed(options, plan);
}

void add_options(Options& options, Plan& plan) {
  static const auto kLimitHelp =
      fmt::format("requests and window: 5/60s, 100/min (default: {})", kDefaultLimit);
  trial::add_limiters(options, plan, kLimitHelp);
  options.list(
      "--keys", "KEY", [&plan](const std::string& key) { add_template(plan.script, key); },
      "one of the KEYS of the script, given once for each (default: {key})");
  add_holders(options, plan);
  add_search(options, plan);
  trial::add_report(options, plan, false);
  constexpr std::string_view kJsonHas = "--json has the schedules";
  options
      .value(
          "--write", "FILE",
          [&plan](const std::string& path) {
            plan.files.push_back({trial::ReportFormat::kLog, path});
          },
          "write the schedule that was found as a log; - for standard output")
      .takes_stream()
      .excludes("--concurrency", "a log has no releases", kJsonHas)
      .excludes("--reserve", "a log has no settles", kJsonHas);
}

void run(Report& report, Invocation& invocation, const trial::WriteLines& /*no lines*/) {
  search_plan(report, invocation);
}

constexpr trial::Kind kAdversary{.complete = complete_plan,
                                 .read = nullptr,
                                 .run = run,
                                 .make_document = make_document,
                                 .write_json = write_json,
                                 .log = schedule_log};

ExitStatus run_command(Plan& plan, Invocation& invocation) {
  return trial::run_command(plan, invocation, kAdversary);
}

std::string notes() {
  return list_algorithms({}) + script_help();
}

}  // namespace

const Command kCommand{
    .text = {.name = "adversary",
             .summary = "search for the schedule under which a limiter allows the most",
             .synopsis = "[connection] adversary [options] [LIMITER...]",
             .about =
                 "Searches for the schedule of requests under which each LIMITER allows most\n"
                 "within any window of its limit, and removes the requests that it does not need.\n"
                 "A LIMITER is an algorithm, all, or a Lua script: a file, a name in the\n"
                 "configuration, or - (default: fixed-window and sliding-window-log). Time is\n"
                 "virtual. Scripts run in rlctl itself, and a private server confirms what was\n"
                 "found, unless --url, -H, -p or -s on the command line names a server.",
             .brief = "--limit --args --allowed-when --exec --cost --tries "
                      "--exhaustive --assert --write",
             .statuses =
                 {
                     "done",
                     "an assertion does not hold or proves nothing",
                     "wrong usage, or output that cannot be written",
                     kStatusUnreachable,
                     kStatusRefused,
                     "the server or the script failed (READONLY, OOM)",
                 },
             .epilogue = R"(
Examples:
  rlctl adversary gcra
  rlctl adversary my.lua --limit 5/60s --write worst.log
  rlctl adversary --concurrency 2 --lease 10s --exhaustive 5 --model
  rlctl adversary --limit 5/60s --reserve 2 --exhaustive 4 --model
)",
             .notes = notes,
             .complete_operand = trial::complete_limiters,
             .instead = trial::kInstead},
    .add = add_command<Plan, add_options, run_command>,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::adversary
