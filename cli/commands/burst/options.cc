#include "cli/commands/burst/options.h"

#include <fmt/format.h>

#include <array>

#include "adversary/search.h"
#include "cli/options/limits.h"
#include "traffic/pattern.h"

namespace rlctl::cli {
namespace {

/// The patterns and the adversary, each with its summary.
std::vector<Completion> kinds_of_traffic() {
  std::vector<Completion> kinds;
  for (const auto& pattern : traffic::patterns()) {
    kinds.push_back({std::string(pattern.name), std::string(pattern.summary)});
  }
  kinds.push_back(
      {std::string(kAdversary), "a search for the schedule under which a limiter allows the most"});
  return kinds;
}

std::string pattern_help() {
  constexpr std::size_t kColumn = 10;
  std::string out = fmt::format("\nPatterns (default: {}):\n", traffic::patterns().front().name);
  for (const auto& [name, summary] : kinds_of_traffic()) {
    out += fmt::format("  {:{}}{}\n", name, kColumn, summary);
  }
  return out;
}

}  // namespace

void add_burst_options(Options& options, BurstOptions& target) {
  constexpr std::string_view kTimes = "the search finds the times of the requests";
  constexpr std::string_view kNoRealTime = "a search covers too many windows for real time";
  constexpr std::string_view kOneKey = "a search uses one key";
  constexpr std::string_view kTable = "the report is a small table; --json has all of it";
  constexpr std::string_view kNoServer = "the models use no server";
  constexpr std::string_view kNothingToTime = "there is no server to time";
  constexpr std::string_view kSearch = "rlctl burst adversary searches";
  // The rows refer to their texts.
  static const auto kLimitHelp = fmt::format(
      "requests and window: 5/60s, 100/min; several make one decision (default: {}; {} for "
      "adversary)",
      kDefaultLimit, kSearchLimit);
  static const auto kBudgetHelp =
      fmt::format("requests to try against each limiter (default: {})", adversary::kUsualBudget);
  // With --replay, operands are files.
  const auto not_for_search = [](Options::Row& row, std::string_view why) {
    row.excludes(kAdversary, why).unless("--replay");
  };
  options.group("Limiters");
  options.list("--limit", "LIMIT", target.limits, kLimitHelp).comma_separated().repeats();
  options
      .list("--algorithm", "NAMES", target.algorithms,
            "algorithms to test, separated by commas, or all (default: "
            "fixed-window,sliding-window-log)")
      .comma_separated()
      .completes([](const Typed& typed) {
        auto completions = complete_counting_algorithm(typed);
        completions.words.push_back({std::string(kAllAlgorithms), "all that count requests"});
        return completions;
      })
      .repeats();
  add_script_options(options, target.script, false);
  auto& against = options.value("--against", "NAME", target.against,
                                "show the first request that the limiter and this other one, "
                                "an algorithm or a script, decide differently, and exit with "
                                "status 1");
  against
      .excludes(kAdversary, "both limiters get the same traffic",
                "save a schedule with --write, then compare: burst --replay FILE --against NAME")
      .unless("--replay");
  against.completes(complete_limiter);
  constexpr std::string_view kSameTimes = "only virtual time is the same for both";
  against.excludes("--clock real", kSameTimes)
      .excludes("--rate max", kSameTimes)
      .excludes("--suggest", "the limits are the same for both")
      .repeats();
  options
      .value("--burst", "NUMBER", target.burst,
             "requests that may come at once in algorithms with a burst (default: the limit)")
      .repeats();
  options.flag("--model", target.model, "decide in this process, without a server; fast")
      .excludes("--script", "a script runs on a server only")
      .excludes("--clock real", kNothingToTime)
      .excludes("--rate max", kNothingToTime)
      .excludes("--url", kNoServer)
      .excludes("--host", kNoServer)
      .excludes("--port", kNoServer)
      .excludes("--socket", kNoServer)
      .repeats();
  options.group("Traffic");
  auto& rate = options.value("--rate", "RATE", target.rate,
                             "rate of requests: 400/s, 24k/min, or max: as fast as the server "
                             "answers (default: from the limit)");
  not_for_search(rate, kTimes);
  rate.excludes("--replay", kLogHasTimes, "--rate max ignores the times")
      .unless("--rate max")
      .repeats();
  auto& duration =
      options.value("--duration", "TIME", target.duration,
                    "how long the traffic lasts (default: three windows; 10s with --rate max)");
  not_for_search(duration, kTimes);
  duration.excludes("--replay", kLogHasTimes).unless("--rate max").repeats();
  auto& requests =
      options.value("--requests", "NUMBER", target.requests, "stop after this many requests");
  not_for_search(requests, "--budget limits the requests that it may try");
  requests
      .excludes("--replay", "the log has the requests",
                "cut the log: head -n 1000 FILE | rlctl burst --replay -")
      .repeats();
  options
      .list("--keys", "NUMBER", target.keys,
            "number of keys (default: 1); with --script, one of its KEYS, given once for each "
            "(default: {key})")
      .repeats();
  auto& skew =
      options.value("--key-skew", "NUMBER", target.key_skew,
                    "request key n in proportion to 1/n^NUMBER (default: 0, all equally often)");
  not_for_search(skew, kOneKey);
  skew.excludes("--replay", "the log has the keys").repeats();
  options
      .value("--cost", "NUMBER", target.cost,
             "cost of each request (default: 1); for adversary also several: 1,3")
      .excludes("--replay", kLogHasCosts, kNameCosts)
      .repeats();
  options.value("--seed", "NUMBER", target.seed, "seed for the random generator (default: 1)")
      .excludes("--replay", "nothing in a log is random")
      .repeats();
  constexpr std::string_view kRealNow = "real requests are sent now";
  options
      .value("--start", "TIME", target.start,
             "when the traffic begins: microseconds since 1970, or ISO 8601 with a zone (default: "
             "2026-01-01T00:00:00Z)")
      .excludes("--replay", kLogHasTimes)
      .excludes("--clock real", kRealNow)
      .excludes("--rate max", kRealNow)
      .repeats();
  add_replay_options(options, target.replay);
  options.group("Clock");
  auto& clock = options.value("--clock", "CLOCK", target.clock,
                              "clock of the traffic: virtual or real; virtual takes no time, "
                              "real sends each request when it is due (default: virtual)");
  clock.completes([](const Typed&) { return to_completions(std::array{kVirtual, kReal}); });
  not_for_search(clock, kNoRealTime);
  clock.unless("--clock virtual").repeats();
  auto& clients = options.value("--clients", "NUMBER", target.clients,
                                "number of connections, under the real clock (default: 1; 50 with "
                                "--rate max)");
  not_for_search(clients, kNoRealTime);
  clients.needs("--clock real", "the virtual clock uses one connection")
      .unless("--rate max")
      .repeats();
  auto& pipeline = options.value("--pipeline", "NUMBER", target.pipeline,
                                 "requests in flight per connection, with --rate max (default: 1)");
  not_for_search(pipeline, kNoRealTime);
  pipeline.needs("--rate max").repeats();
  options.group("Adversary");
  options.value("--budget", "NUMBER", target.budget, kBudgetHelp)
      .needs(kAdversary, kSearch)
      .excludes("--exhaustive", "an exhaustive search tries all schedules")
      .repeats();
  options
      .value("--exhaustive", "NUMBER", target.exhaustive,
             "try every schedule of up to this many requests at the times at which a limiter's "
             "answer may change")
      .needs(kAdversary, kSearch)
      .excludes("--seed", "nothing in an exhaustive search is random")
      .repeats();
  options.flag("--refunds", target.refunds, "also refund: requests with each cost below 0")
      .needs(kAdversary, kSearch)
      .excludes("--write", "a log has no refunds")
      .repeats();
  options
      .flag("--no-stepping-back", target.no_stepping_back,
            "do not try a clock that steps back; an exhaustive search never does")
      .needs(kAdversary, kSearch)
      .repeats();
  options
      .value("--tick", "TIME", target.tick,
             "try only times that are multiples of this, for limiters with a coarse clock "
             "(default: 1us)")
      .needs(kAdversary, kSearch)
      .repeats();
  options
      .value("--write", "FILE", target.write,
             "write the schedule that was found as a log; - for standard output")
      .needs(kAdversary, kSearch);
  options.group("Report");
  options.list("--assert", "EXPRESSION", target.assertions,
               "exit with status 1 unless this holds for each algorithm: 'worst<=1', 'denied==0'");
  options
      .value("--junit", "FILE", target.junit,
             "write the assertions as a JUnit report for CI; - for standard output")
      .needs("--assert", "it reports assertions")
      .unless("--against");
  options.value("--svg", "FILE", target.svg, "write the plot as SVG; - for standard output");
  options.value("--title", "TEXT", target.title, "title of the SVG (default: from the traffic)")
      .needs("--svg");
  not_for_search(options.flag("--overlay", target.overlay, "all limiters in one chart of the SVG")
                     .needs("--svg", "the terminal shows a chart for each limiter"),
                 "each limiter has a schedule of its own");
  not_for_search(options.value("--csv", "FILE", target.csv,
                               "write a row of CSV for each algorithm; - for standard output"),
                 kTable);
  not_for_search(options.value("--jsonl", "FILE", target.jsonl,
                               "write a line of JSON for each decision; - for standard output"),
                 kTable);
  options.flag("-q,--quiet", target.quiet, "print no report, only set the exit status");
}

Completions complete_pattern(const Typed& typed) {
  if (typed.options.is_given("--replay")) return complete_file(typed);
  return {.words = typed.operands.empty() ? kinds_of_traffic() : std::vector<Completion>{}};
}

std::string burst_notes() {
  return pattern_help() + format_help() + list_algorithms({}) + placeholder_help();
}

}  // namespace rlctl::cli
