#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "cli/commands/burst/holders.h"
#include "cli/commands/burst/plan.h"
#include "cli/commands/burst/report.h"
#include "cli/commands/burst/runs.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/terminal/table.h"
#include "cli/trial/command.h"
#include "cli/trial/holders.h"
#include "cli/trial/limiters.h"

namespace rlctl::cli::burst {
namespace {

using trial::Plan;
using trial::Report;

/// The values of --clock.
constexpr std::string_view kVirtual = "virtual", kReal = "real";

// ---- Values ----

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return is_digits(text);
}

/// Requests per second, written like a limit: 400/s, 24k/min.
double parse_rate(const std::string& text) {
  try {
    const auto rate = limiter::parse_limit(text, microseconds{1});
    require_lengths({&rate, 1}, "--rate");
    return static_cast<double>(rate.limit) * 1e6 / static_cast<double>(rate.window.count());
  } catch (const UsageError&) {
    throw UsageError("--rate: " + quoted_and_masked(text) +
                     " is not a rate; write 400/s or 24k/min");
  }
}

/// Whether the clock is the real one.
bool parse_clock(const std::string& text) {
  if (text == kReal || text == kVirtual) return text == kReal;
  throw UsageError("--clock must be virtual or real, not " + quoted_and_masked(text));
}

// ---- Declarations ----

void add_traffic(Options& options, Plan& plan) {
  options.group("Traffic");
  options
      .value("--rate", "RATE", into(plan.request.rate, parse_rate),
             "rate of requests: 400/s, 24k/min (default: from the limit)")
      .excludes("--replay", kLogHasTimes);
  options
      .value("--duration", "TIME", into(plan.request.duration, duration_of("--duration")),
             "how long the traffic lasts (default: three windows)")
      .excludes("--replay", kLogHasTimes);
  options
      .value("--requests", "NUMBER",
             into(plan.request.requests, number_between("--requests", 1, INT64_MAX)),
             "stop after this many requests")
      .excludes("--replay", "the log has the requests",
                "cut the log: head -n 1000 FILE | rlctl burst --replay -");
  options.list(
      "--keys", "NUMBER",
      [&plan](const std::string& text) {
        if (text == "-") throw UsageError("--keys: '-' is not a KEY");
        if (!is_number(text)) return add_key(plan.script, text);
        plan.traffic()->keys =
            static_cast<std::uint32_t>(parse_between(text, "--keys", 1, traffic::kMaxPatternKeys));
      },
      "number of keys (default: 1); of a script, one of its KEYS, given once for each "
      "(default: {key})");
  options
      .value("--cost", "NUMBER", into(plan.costs, parse_costs), "cost of each request (default: 1)")
      .excludes("--replay", kLogHasCosts, kNameCosts);
  trial::add_seed(options, plan).excludes("--replay", "nothing in a log is random");
  options
      .value("--start", "TIME",
             into(plan.traffic()->start,
                  [](const std::string& text) { return parse_time_of(text, "--start"); }),
             "when the traffic begins; microseconds since 1970, or ISO 8601 with a zone (default: "
             "2026-01-01T00:00:00Z)")
      .excludes("--replay", kLogHasTimes);
  add_replay_options(options, plan.traffic()->log);
}

void add_clock(Options& options, Plan& plan) {
  options.group("Clock");
  options
      .value("--clock", "CLOCK", into(plan.traffic()->is_real, parse_clock),
             "clock of the traffic: virtual or real; virtual takes no time, real sends each "
             "request when it is due (default: virtual)")
      .completes([](const CompletionContext&) {
        return to_completions(std::array{kVirtual, kReal});
      });
}

void add_compare(Options& options, Plan& plan) {
  options
      .value("--compare", "NAME", plan.traffic()->compare,
             "compare with this algorithm or script; show the first request that the two decide "
             "differently, and exit with status 1")
      .excludes("--suggest")
      .completes(complete_limiter);
}

void add_options(Options& options, Plan& plan) {
  static const auto kLimitHelp =
      fmt::format("requests and window: 5/60s, 100/min; several make one decision (default: {})",
                  kDefaultLimit);
  constexpr std::string_view kFollow = "holders follow from what each limiter allows",
                             kNameBoth = "name both: rlctl burst a.lua b.lua",
                             kOfRequests = "it finds limits of requests";
  trial::add_limiters(options, plan, kLimitHelp);
  add_compare(options, plan);
  trial::add_lease_options(options, plan)
      .excludes("--compare", kFollow, kNameBoth)
      .excludes("--suggest", kOfRequests);
  add_holder_options(options, plan);
  trial::add_budget_options(options, plan)
      .excludes("--compare", kFollow, kNameBoth)
      .excludes("--suggest", kOfRequests);
  add_settle_options(options, plan);
  add_traffic(options, plan);
  add_clock(options, plan);
  trial::add_report(options, plan, true);
}

/// Limiters, and a pattern, or with --replay files.
Completions complete_operand(const CompletionContext& typed) {
  auto words = trial::complete_limiters(typed);
  if (typed.options.is_given("--replay")) return joined(std::move(words), complete_file(typed));
  const auto is_pattern = [](const auto& word) { return traffic::find_pattern(word) != nullptr; };
  if (std::ranges::any_of(typed.operands, is_pattern)) return words;
  Completions patterns;
  for (const auto& pattern : traffic::patterns()) {
    patterns.words.push_back({std::string(pattern.name), std::string(pattern.summary)});
  }
  return joined(std::move(patterns), words);
}

/// The sections of --help that list the patterns, the algorithms and more.
std::string notes() {
  const auto patterns = traffic::patterns();
  return help_section(fmt::format("Patterns (default: {})", patterns.front().name), patterns) +
         list_algorithms({}) + script_help();
}

// ---- The command ----

void read(Report& report, const Invocation& invocation) {
  report.recording = read_recording(report.plan, invocation);
}

constexpr trial::Kind kBurst{.complete = complete_plan,
                             .read = read,
                             .run = run_plan,
                             .make_document = make_document,
                             .write_json = write_json,
                             .log = nullptr};

ExitStatus run_command(Plan& plan, Invocation& invocation) {
  if (plan.traffic()->log.list_formats) {
    auto& out = invocation.out.buffer();
    invocation.json ? append_formats_json(out) : append_formats(out);
    return ExitStatus::kDone;
  }
  return trial::run_command(plan, invocation, kBurst);
}

}  // namespace

const Command kCommand{
    .text = {.name = "burst",
             .summary = "send traffic through limiters, and show what they allow",
             .synopsis = "[connection] burst [options] [PATTERN] [LIMITER...]\n"
                         "[connection] burst [options] [LIMITER...] --replay FILE...",
             .about =
                 "Sends the same traffic through one limiter after another, and compares the most\n"
                 "that each allows within any one window with the limit. A LIMITER is an\n"
                 "algorithm, all, or a Lua script: a file, a name in the configuration, or -\n"
                 "(default: fixed-window and sliding-window-log). Time is virtual: a minute of\n"
                 "traffic takes a moment, and the same seed gives the same result. With --clock\n"
                 "real, each request is sent when it is due. Scripts run in rlctl itself, and a\n"
                 "private server confirms what they decide, unless --url, -H, -p or -s on the\n"
                 "command line names a server: RLCTL_URL and the configuration name servers that\n"
                 "are in use.",
             .brief = "--limit --args --allowed-when "
                      "--compare --replay --assert --output",
             .statuses =
                 {
                     "done",
                     "an assertion does not hold or proves nothing; --compare: they differ",
                     "wrong usage, a log that cannot be read, or output that cannot be written",
                     kStatusUnreachable,
                     kStatusRefused,
                     "the server or the script failed (READONLY, OOM)",
                 },
             .epilogue = R"(
Examples:
  rlctl burst
  rlctl burst poisson all --limit 100/10s --keys 50
  rlctl burst boundary gcra --assert 'worst<=1.5' -o gcra.svg
  rlctl burst poisson gcra --limit 9/7s --compare token-bucket
  rlctl burst steady --clock real --rate 500/s --duration 5s --limit 100/1s
  rlctl burst poisson --concurrency 5 --lease 30s --hold 2s~ --crash 1%
  rlctl burst --limit 1000/60s --reserve 100 --hold 5s --crash 1%
  rlctl burst --replay access.log --limit 100/60s --suggest 1%
  rlctl burst my.lua --args '{now_ms}' --allowed-when 'r[1] > 0'
  rlctl burst a.lua b.lua --args '{now_ms} {limit}'
)",
             .notes = notes,
             .complete_operand = complete_operand,
             .instead = trial::kInstead},
    .add = add_command<Plan, add_options, run_command>,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::burst
