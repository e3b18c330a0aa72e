#include "cli/commands/burst/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "adversary/search.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/options/limits.h"
#include "cli/options/log_options.h"
#include "cli/options/script_options.h"
#include "cli/options/values.h"
#include "traffic/pattern.h"

namespace rlctl::cli::burst {
namespace {

/// The values of --clock.
constexpr std::string_view kVirtual = "virtual", kReal = "real";
/// The --rate of a closed loop.
constexpr std::string_view kMaxRate = "max";
constexpr std::int64_t kMaxClients = 10'000;
constexpr std::int64_t kMaxBudget = 1'000'000'000'000, kMaxExhaustive = 32;

std::string pattern_help() {
  constexpr std::size_t kColumn = 10;
  std::string out = fmt::format("\nPatterns (default: {}):\n", traffic::patterns().front().name);
  for (const auto& pattern : traffic::patterns()) {
    out += fmt::format("  {:{}}{}\n", pattern.name, kColumn, pattern.summary);
  }
  return out;
}

// ---- Values ----

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return is_digits(text);
}

/// Adds the algorithm, or all of them, unless it is there.
void add_algorithms(std::vector<const limiter::Algorithm*>& chosen, const std::string& name) {
  const auto add = [&chosen](const limiter::Algorithm& algorithm) {
    if (std::find(chosen.begin(), chosen.end(), &algorithm) == chosen.end()) {
      chosen.push_back(&algorithm);
    }
  };
  if (name != kAllAlgorithms) return add(parse_algorithm(name, kAllAlgorithms));
  for (const auto& algorithm : limiter::algorithms()) {
    if (limiter::counts_requests(algorithm)) add(algorithm);
  }
}

/// Requests per second, written like a limit: 400/s, 24k/min.
double parse_rate(const std::string& text) {
  try {
    const auto rate = limiter::parse_limit(text);
    return static_cast<double>(rate.limit) * 1e6 / static_cast<double>(rate.window.count());
  } catch (const UsageError&) {
    throw UsageError("--rate: " + in_quotes(text) + " is not a rate; write 400/s or 24k/min");
  }
}

double parse_skew(const std::string& text) {
  constexpr double kMaxSkew = 100;
  const auto value = to_decimal(text);
  if (value && *value >= 0 && *value <= kMaxSkew) return *value;
  throw UsageError(
      fmt::format("--key-skew must be a number from 0 to {}, not {}", kMaxSkew, in_quotes(text)));
}

/// Several costs, of which a pattern takes only one: without duplicates, in the order of first
/// mention.
std::vector<std::int64_t> parse_costs(const std::string& text) {
  std::vector<std::int64_t> costs;
  for (const auto& word : split_at_commas(text)) {
    const auto cost = parse_between(word, "--cost", 1, limiter::kLargestCost);
    if (std::find(costs.begin(), costs.end(), cost) == costs.end()) costs.push_back(cost);
  }
  return costs;
}

/// Whether the clock is the real one.
bool parse_clock(const std::string& text) {
  if (text == kReal || text == kVirtual) return text == kReal;
  throw UsageError("--clock must be virtual or real, not " + in_quotes(text));
}

std::string parse_title(const std::string& text) {
  if (text.find_first_not_of(' ') != text.npos) return text;
  throw UsageError("--title is empty", "omit it for a title from the traffic");
}

/// A Take for a duration with a unit, or for a whole number from `least` to `most`.
template <typename Target>
Take into_duration(Target& target, std::string_view option) {
  return into(target,
              [option](const std::string& text) { return parse_duration_of(text, option); });
}
template <typename Target>
Take into_number(Target& target, std::string_view option, std::int64_t least,
                 std::int64_t most = INT64_MAX) {
  return into(target, [=](const std::string& text) {
    return static_cast<Target>(parse_between(text, option, least, most));
  });
}

// ---- Declarations ----

const std::string& limit_help() {
  static const auto kText = fmt::format(
      "requests and window: 5/60s, 100/min; several make one decision (default: {}; {} for "
      "adversary)",
      kDefaultLimit, kSearchLimit);
  return kText;
}

const std::string& budget_help() {
  static const auto kText =
      fmt::format("requests to try against each limiter (default: {})", adversary::kDefaultBudget);
  return kText;
}

void add_limiters(Options& options, Plan& plan) {
  constexpr std::string_view kNoServer = "the models use no server";
  options.group("Limiters");
  options.comma_list("--limit", "LIMIT", plan.limit_texts, limit_help());
  options
      .comma_list(
          "--algorithm", "NAMES",
          [&plan](const std::string& name) { add_algorithms(plan.algorithms, name); },
          "algorithms to test, separated by commas, or all (default: "
          "fixed-window,sliding-window-log)")
      .completes([](const CompletionContext& typed) {
        auto completions = complete_counting_algorithm(typed);
        completions.words.push_back({std::string(kAllAlgorithms), "all that count requests"});
        return completions;
      });
  add_script_options(options, plan.script, false);
  options
      .value("--against", "NAME", plan.against,
             "compare with this algorithm or script; show the first request that the two decide "
             "differently, and exit with status 1")
      .excludes("--suggest", "the limits are the same for both")
      .completes(complete_limiter);
  options.value("--burst", "NUMBER", plan.burst_text,
                "requests that may come at once; for algorithms with a burst (default: the limit)");
  options.flag("--model", plan.model, "decide in this process, without a server; fast")
      .excludes("--script", "a script runs on a server only")
      .excludes("--url", kNoServer)
      .excludes("--host", kNoServer)
      .excludes("--port", kNoServer)
      .excludes("--socket", kNoServer);
}

void add_traffic(Options& options, Plan& plan) {
  options.group("Traffic");
  options.value(
      "--rate", "RATE",
      [&plan](const std::string& text) {
        plan.max_rate = text == kMaxRate;
        plan.request.rate = plan.max_rate ? std::nullopt : std::optional(parse_rate(text));
      },
      "rate of requests: 400/s, 24k/min, or max; max is as fast as the server answers (default: "
      "from the limit)");
  options.value("--duration", "TIME", into_duration(plan.request.duration, "--duration"),
                "how long the traffic lasts (default: three windows; 10s with --rate max)");
  options
      .value("--requests", "NUMBER", into_number(plan.request.requests, "--requests", 1),
             "stop after this many requests")
      .excludes("--replay", "the log has the requests",
                "cut the log: head -n 1000 FILE | rlctl burst --replay -");
  options.list(
      "--keys", "NUMBER",
      [&plan](const std::string& text) {
        if (!is_number(text)) return plan.script.keys.push_back(text);
        plan.keys =
            static_cast<std::uint32_t>(parse_between(text, "--keys", 1, traffic::kMaxPatternKeys));
      },
      "number of keys (default: 1); with --script, one of its KEYS, given once for each "
      "(default: {key})");
  options
      .value("--key-skew", "NUMBER", into(plan.request.key_skew, parse_skew),
             "request key n in proportion to 1/n^NUMBER (default: 0, all equally often)")
      .excludes("--replay", "the log has the keys");
  options
      .value("--cost", "NUMBER", into(plan.costs, parse_costs),
             "cost of each request (default: 1); for adversary also several: 1,3")
      .excludes("--replay", kLogHasCosts, kNameCosts);
  options
      .value("--seed", "NUMBER", into_number(plan.request.seed, "--seed", 0),
             "seed for the random generator (default: 1)")
      .excludes("--replay", "nothing in a log is random");
  options
      .value(
          "--start", "TIME",
          into(plan.start, [](const std::string& text) { return parse_time_of(text, "--start"); }),
          "when the traffic begins; microseconds since 1970, or ISO 8601 with a zone (default: "
          "2026-01-01T00:00:00Z)")
      .excludes("--replay", kLogHasTimes);
  add_replay_options(options, plan.log);
}

void add_clock(Options& options, Plan& plan) {
  options.group("Clock");
  options
      .value("--clock", "CLOCK", into(plan.is_real, parse_clock),
             "clock of the traffic: virtual or real; virtual takes no time, real sends each "
             "request when it is due (default: virtual)")
      .completes([](const CompletionContext&) {
        return to_completions(std::array{kVirtual, kReal});
      });
  options.value("--clients", "NUMBER", into_number(plan.clients, "--clients", 1, kMaxClients),
                "number of connections, under the real clock (default: 1; 50 with --rate max)");
  options.value("--pipeline", "NUMBER", into_number(plan.pipeline, "--pipeline", 1, kMaxClients),
                "requests in flight per connection, with --rate max (default: 1)");
}

void add_report(Options& options, Plan& plan) {
  options.group("Report", Repeats::kNo);
  options.list("--assert", "EXPRESSION", plan.assertion_texts,
               "exit with status 1 unless this holds: 'worst<=1'; it must hold for each algorithm");
  options.value("--junit", "FILE", plan.junit,
                "write the assertions as a JUnit report for CI; - for standard output");
  options.value("--svg", "FILE", plan.svg, "write the plot as SVG; - for standard output");
  options
      .value("--title", "TEXT", into(plan.title, parse_title),
             "title of the SVG (default: from the traffic)")
      .needs("--svg");
  options.value("--csv", "FILE", plan.csv,
                "write a row of CSV for each algorithm; - for standard output");
  options.value("--jsonl", "FILE", plan.jsonl,
                "write a line of JSON for each decision; - for standard output");
  options.flag("-q,--quiet", plan.quiet, "print no report, only set the exit status");
}

void add_adversary_options(Options& options, Plan& plan) {
  auto& search = plan.search.emplace();
  options.group("Options");
  options
      .value("--budget", "NUMBER", into_number(search.budget, "--budget", 1, kMaxBudget),
             budget_help())
      .excludes("--exhaustive", "an exhaustive search tries all schedules");
  options
      .value("--exhaustive", "NUMBER",
             into_number(search.exhaustive, "--exhaustive", 1, kMaxExhaustive),
             "try every schedule of up to this many requests; at the times at which a limiter's "
             "answer may change")
      .excludes("--seed", "nothing in an exhaustive search is random");
  options.flag("--refunds", search.refunds, "also refund: requests with each cost below 0")
      .excludes("--write", "a log has no refunds");
  options.flag("--no-stepping-back", search.no_stepping_back,
               "do not try a clock that steps back; an exhaustive search never does");
  options.value("--tick", "TIME", into_duration(search.tick, "--tick"),
                "try only times that are multiples of this; for limiters with a coarse clock "
                "(default: 1us)");
  options.group("Options", Repeats::kNo);
  options.value("--write", "FILE", search.write,
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

void require_searchable(const Options& options, const Plan& plan) {
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
  if (plan.is_real.value_or(false)) refuse_both("--clock", kAdversary, kNoRealTime);
  if (plan.keys) refuse_both("--keys", kAdversary, "a search uses one key");
  if (plan.limit_texts.size() > 1) {
    throw UsageError("adversary searches against one limit, but there are several --limit");
  }
}

void require_virtual(const Options& options, std::string_view real) {
  constexpr std::string_view kSameTimes = "only virtual time is the same for both";
  const std::array refusals{Refusal{"--against", kSameTimes},
                            Refusal{"--model", "there is no server to time"},
                            Refusal{"--start", "real requests are sent now"}};
  refuse_given(options, refusals, real);
}

}  // namespace

void add_options(Options& options, Plan& plan) {
  add_limiters(options, plan);
  add_traffic(options, plan);
  add_clock(options, plan);
  add_report(options, plan);
  options.subcommand(kAdversaryText,
                     [&plan](Options& adversary) { add_adversary_options(adversary, plan); });
}

void require_consistent(const Options& options, const Plan& plan) {
  const bool is_real = plan.is_real.value_or(plan.max_rate);
  if (plan.search) require_searchable(options, plan);
  if (plan.is_real && is_real) require_virtual(options, "--clock real");
  if (plan.max_rate) require_virtual(options, "--rate max");
  if (plan.log.given() && !plan.max_rate) {
    const std::array refusals{Refusal{"--rate", kLogHasTimes, "--rate max ignores the times"},
                              Refusal{"--duration", kLogHasTimes}};
    refuse_given(options, refusals, "--replay");
  }
  if (plan.max_rate && !is_real) {
    throw UsageError("--rate max requires --clock real: the server sets the pace",
                     "use --clock real, or a rate like 400/s");
  }
  if (plan.clients && !is_real) {
    throw UsageError("--clients requires --clock real: the virtual clock uses one connection");
  }
  if (plan.pipeline && !plan.max_rate) throw UsageError("--pipeline requires --rate max");
  if (plan.junit && plan.assertion_texts.empty() && !plan.against) {
    throw UsageError("--junit requires --assert: it reports assertions");
  }
  if (plan.keys && plan.log.given()) {
    refuse_both("--keys", "--replay", "the log has the keys", kNameKeys);
  }
  if (options.is_given("--key-skew") && plan.keys.value_or(1) == 1) {
    throw UsageError("--key-skew needs more than one key", "add --keys NUMBER");
  }
  if (plan.costs.size() > 1 && !plan.search) {
    throw UsageError(fmt::format("--cost must be one number for a pattern, not '{}'",
                                 fmt::join(plan.costs, ",")),
                     "rlctl burst adversary mixes costs");
  }
}

Completions complete_pattern(const CompletionContext& typed) {
  if (typed.options.is_given("--replay")) return complete_file(typed);
  Completions patterns;
  if (!typed.operands.empty()) return patterns;
  for (const auto& pattern : traffic::patterns()) {
    patterns.words.push_back({std::string(pattern.name), std::string(pattern.summary)});
  }
  return patterns;
}

std::string notes() {
  return pattern_help() + format_help() + list_algorithms({}) + placeholder_help();
}

}  // namespace rlctl::cli::burst
