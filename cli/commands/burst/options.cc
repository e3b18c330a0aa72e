#include "cli/commands/burst/options.h"

#include <fmt/format.h>

#include <array>

#include "adversary/search.h"
#include "cli/options/limits.h"
#include "traffic/pattern.h"

namespace rlctl::cli {
namespace {

std::string pattern_help() {
  constexpr std::size_t kColumn = 10;
  std::string out = fmt::format("\nPatterns (default: {}):\n", traffic::patterns().front().name);
  for (const auto& pattern : traffic::patterns()) {
    out += fmt::format("  {:{}}{}\n", pattern.name, kColumn, pattern.summary);
  }
  return out;
}

}  // namespace

namespace {

/// The texts, to which the options refer.
const std::string& limit_help() {
  static const auto text = fmt::format(
      "requests and window: 5/60s, 100/min; several make one decision (default: {}; {} for "
      "adversary)",
      kDefaultLimit, kSearchLimit);
  return text;
}

const std::string& budget_help() {
  static const auto text =
      fmt::format("requests to try against each limiter (default: {})", adversary::kUsualBudget);
  return text;
}

void add_limiters(Options& options, BurstOptions& target) {
  constexpr std::string_view kNoServer = "the models use no server";
  options.group("Limiters");
  options.list("--limit", "LIMIT", target.limits, limit_help()).comma_separated();
  options
      .list("--algorithm", "NAMES", target.algorithms,
            "algorithms to test, separated by commas, or all (default: "
            "fixed-window,sliding-window-log)")
      .comma_separated()
      .completes([](const Typed& typed) {
        auto completions = complete_counting_algorithm(typed);
        completions.words.push_back({std::string(kAllAlgorithms), "all that count requests"});
        return completions;
      });
  add_script_options(options, target.script, false);
  options
      .value("--against", "NAME", target.against,
             "show the first request that the limiter and this other one, an algorithm or a "
             "script, decide differently, and exit with status 1")
      .excludes("--suggest", "the limits are the same for both")
      .completes(complete_limiter);
  options.value("--burst", "NUMBER", target.burst,
                "requests that may come at once in algorithms with a burst (default: the limit)");
  options.flag("--model", target.model, "decide in this process, without a server; fast")
      .excludes("--script", "a script runs on a server only")
      .excludes("--url", kNoServer)
      .excludes("--host", kNoServer)
      .excludes("--port", kNoServer)
      .excludes("--socket", kNoServer);
}

void add_traffic(Options& options, BurstOptions& target) {
  options.group("Traffic");
  options.value("--rate", "RATE", target.rate,
                "rate of requests: 400/s, 24k/min, or max: as fast as the server answers (default: "
                "from the limit)");
  options.value("--duration", "TIME", target.duration,
                "how long the traffic lasts (default: three windows; 10s with --rate max)");
  options.value("--requests", "NUMBER", target.requests, "stop after this many requests")
      .excludes("--replay", "the log has the requests",
                "cut the log: head -n 1000 FILE | rlctl burst --replay -");
  options.list("--keys", "NUMBER", target.keys,
               "number of keys (default: 1); with --script, one of its KEYS, given once for each "
               "(default: {key})");
  options
      .value("--key-skew", "NUMBER", target.key_skew,
             "request key n in proportion to 1/n^NUMBER (default: 0, all equally often)")
      .excludes("--replay", "the log has the keys");
  options
      .value("--cost", "NUMBER", target.cost,
             "cost of each request (default: 1); for adversary also several: 1,3")
      .excludes("--replay", kLogHasCosts, kNameCosts);
  options.value("--seed", "NUMBER", target.seed, "seed for the random generator (default: 1)")
      .excludes("--replay", "nothing in a log is random");
  options
      .value("--start", "TIME", target.start,
             "when the traffic begins: microseconds since 1970, or ISO 8601 with a zone (default: "
             "2026-01-01T00:00:00Z)")
      .excludes("--replay", kLogHasTimes);
  add_replay_options(options, target.replay);
}

void add_clock(Options& options, BurstOptions& target) {
  options.group("Clock");
  options
      .value("--clock", "CLOCK", target.clock,
             "clock of the traffic: virtual or real; virtual takes no time, real sends each "
             "request when it is due (default: virtual)")
      .completes([](const Typed&) {
        return to_completions(std::array{kVirtual, kReal});
      });
  options.value("--clients", "NUMBER", target.clients,
                "number of connections, under the real clock (default: 1; 50 with --rate max)");
  options.value("--pipeline", "NUMBER", target.pipeline,
                "requests in flight per connection, with --rate max (default: 1)");
}

void add_report(Options& options, BurstOptions& target) {
  options.group("Report", Repeats::kNo);
  options.list("--assert", "EXPRESSION", target.assertions,
               "exit with status 1 unless this holds for each algorithm: 'worst<=1', 'denied==0'");
  options.value("--junit", "FILE", target.junit,
                "write the assertions as a JUnit report for CI; - for standard output");
  options.value("--svg", "FILE", target.svg, "write the plot as SVG; - for standard output");
  options.value("--title", "TEXT", target.title, "title of the SVG (default: from the traffic)")
      .needs("--svg");
  options.value("--csv", "FILE", target.csv,
                "write a row of CSV for each algorithm; - for standard output");
  options.value("--jsonl", "FILE", target.jsonl,
                "write a line of JSON for each decision; - for standard output");
  options.flag("-q,--quiet", target.quiet, "print no report, only set the exit status");
}

void add_adversary_options(Options& options, BurstOptions& target) {
  target.is_search = true;
  options.group("Options");
  options.value("--budget", "NUMBER", target.budget, budget_help())
      .excludes("--exhaustive", "an exhaustive search tries all schedules");
  options
      .value("--exhaustive", "NUMBER", target.exhaustive,
             "try every schedule of up to this many requests at the times at which a limiter's "
             "answer may change")
      .excludes("--seed", "nothing in an exhaustive search is random");
  options.flag("--refunds", target.refunds, "also refund: requests with each cost below 0")
      .excludes("--write", "a log has no refunds");
  options.flag("--no-stepping-back", target.no_stepping_back,
               "do not try a clock that steps back; an exhaustive search never does");
  options.value("--tick", "TIME", target.tick,
                "try only times that are multiples of this, for limiters with a coarse clock "
                "(default: 1us)");
  options.group("Options", Repeats::kNo);
  options.value("--write", "FILE", target.write,
                "write the schedule that was found as a log; - for standard output");
}

constexpr CommandText kAdversaryText{
    .name = kAdversary,
    .summary = "search for the schedule under which a limiter allows the most",
    .synopsis = "burst [options] adversary [options]",
    .about =
        "Searches for the schedule of requests under which each limiter allows most\n"
        "within any window of its limit, and removes the requests that it does not need.\n"
        "It also takes the options of 'rlctl burst' for limiters, --cost, --seed, --start\n"
        "and the report.",
    .epilogue = R"(
Examples:
  rlctl burst adversary --algorithm gcra
  rlctl burst adversary --script my.lua --limit 5/60s --write worst.log
)"};

// ---- Which options go together ----

/// An option, and what to say where it cannot be used; `hint` may be empty.
struct Refusal {
  std::string option;
  std::string_view why, hint = {};
};

void refuse_given(const Options& options, std::span<const Refusal> refusals,
                  std::string_view other) {
  for (const auto& [option, why, hint] : refusals) {
    if (options.is_given(option)) refuse_both(option, other, why, hint);
  }
}

void require_searchable(const Options& options, const BurstOptions& given) {
  constexpr std::string_view kTimes = "the search finds the times of the requests";
  constexpr std::string_view kNoRealTime = "a search covers too many windows for real time";
  constexpr std::string_view kTable = "the report is a small table; --json has all of it";
  const std::array refusals{
      Refusal{"--replay", kTimes},
      Refusal{"--against", "both limiters get the same traffic",
              "save a schedule with --write, then compare: burst --replay FILE --against NAME"},
      Refusal{"--rate", kTimes},
      Refusal{"--duration", kTimes},
      Refusal{"--requests", "--budget limits the requests that it may try"},
      Refusal{"--key-skew", "a search uses one key"},
      Refusal{"--clients", kNoRealTime},
      Refusal{"--pipeline", kNoRealTime},
      Refusal{"--csv", kTable},
      Refusal{"--jsonl", kTable}};
  refuse_given(options, refusals, kAdversary);
  if (given.clock && given.clock != kVirtual) refuse_both("--clock", kAdversary, kNoRealTime);
}

void require_virtual(const Options& options, std::string_view real) {
  constexpr std::string_view kSameTimes = "only virtual time is the same for both";
  const std::array refusals{Refusal{"--against", kSameTimes},
                            Refusal{"--model", "there is no server to time"},
                            Refusal{"--start", "real requests are sent now"}};
  refuse_given(options, refusals, real);
}

}  // namespace

void add_burst_options(Options& options, BurstOptions& target) {
  add_limiters(options, target);
  add_traffic(options, target);
  add_clock(options, target);
  add_report(options, target);
  options.subcommand(kAdversaryText,
                     [&target](Options& adversary) { add_adversary_options(adversary, target); });
}

void require_consistent(const Options& options, const BurstOptions& given) {
  const bool is_max = given.rate == kMaxRate, is_real = given.clock == kReal;
  if (given.is_search) require_searchable(options, given);
  if (is_real) require_virtual(options, "--clock real");
  if (is_max) require_virtual(options, "--rate max");
  if (given.replay.given() && !is_max) {
    const std::array refusals{Refusal{"--rate", kLogHasTimes, "--rate max ignores the times"},
                              Refusal{"--duration", kLogHasTimes}};
    refuse_given(options, refusals, "--replay");
  }
  if (given.clients && !is_real && !is_max) {
    throw UsageError("--clients requires --clock real: the virtual clock uses one connection");
  }
  if (given.pipeline && !is_max) throw UsageError("--pipeline requires --rate max");
  if (given.junit && given.assertions.empty() && !given.against) {
    throw UsageError("--junit requires --assert: it reports assertions");
  }
}

Completions complete_pattern(const Typed& typed) {
  if (typed.options.is_given("--replay")) return complete_file(typed);
  Completions patterns;
  if (!typed.operands.empty()) return patterns;
  for (const auto& pattern : traffic::patterns()) {
    patterns.words.push_back({std::string(pattern.name), std::string(pattern.summary)});
  }
  return patterns;
}

std::string burst_notes() {
  return pattern_help() + format_help() + list_algorithms({}) + placeholder_help();
}

}  // namespace rlctl::cli
