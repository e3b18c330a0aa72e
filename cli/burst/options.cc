#include "cli/burst/options.h"

#include <fmt/format.h>

#include "cli/burst/adversary_options.h"
#include "cli/limits.h"
#include "traffic/pattern.h"

namespace rlctl::cli {
namespace {

std::string pattern_help() {
  constexpr std::size_t kColumn = 10;
  std::string out =
      fmt::format("\nPatterns, {} if none is given:\n", traffic::patterns().front().name);
  for (const auto& pattern : traffic::patterns()) {
    out += fmt::format("  {:{}}{}\n", pattern.name, kColumn, pattern.summary);
  }
  return out + fmt::format("  {:{}}{}\n", kAdversary, kColumn, kAdversarySummary);
}

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::optional<std::string> key_count(const BurstOptions& options) {
  std::optional<std::string> count;
  for (const auto& text : options.keys) {
    if (is_number(text)) count = text;
  }
  return count;
}

ScriptOptions script_options(const BurstOptions& options) {
  auto script = options.script;
  for (const auto& text : options.keys) {
    if (!is_number(text)) script.keys.push_back(text);
  }
  return script;
}

void add_burst_options(Options& options, BurstOptions& target) {
  options.group("Limiters");
  options.list("--limit", "LIMIT", target.limits,
               "how many in which time: 5/60s, 100/min; several make one decision (default: "
               "1000/60s)");
  options.list("--algorithm", "NAMES", target.algorithms,
               "which, with commas between, or all (default: fixed-window,sliding-window-log)");
  options.value("--burst", "NUMBER", target.burst,
                "how many may come at once where an algorithm has that (default: the limit)");
  add_script_options(options, target.script);
  options.flag("--model", target.model, "decide in this program, without a server: fast");
  options.group("Traffic");
  options.value("--rate", "RATE", target.rate,
                "400/s, 24k/min; the pattern says what of (default: from the limit); max: as fast "
                "as the server answers");
  options.value("--duration", "TIME", target.duration,
                "how long (default: three windows; 10s with --rate max)");
  options.value("--requests", "NUMBER", target.requests, "end after so many");
  options.list("--keys", "NUMBER", target.keys,
               "for so many keys (default: 1); what is no number is a KEY of --script (default: "
               "{key})");
  options.value("--key-skew", "NUMBER", target.key_skew,
                "key n comes as often as 1/n^NUMBER (default: 0, all alike)");
  options.value("--cost", "NUMBER", target.cost, "of each request (default: 1)");
  options.value("--seed", "NUMBER", target.seed, "another chance (default: 1)");
  add_replay_options(options, target.replay);
  options.group("Clock");
  options.value("--clock", "CLOCK", target.clock,
                "virtual: no time passes; real: sent when due, and timed (default: virtual)");
  options.value("--clients", "NUMBER", target.clients,
                "connections, under the real clock (default: 1; 50 with --rate max)");
  options.value("--pipeline", "NUMBER", target.pipeline,
                "on their way on each at any time, with --rate max (default: 1)");
  options.group("Adversary");
  options.value("--budget", "NUMBER", target.budget,
                "requests to search with, against each limiter (default: 50000)");
  options.value("--write", "FILE", target.write,
                "write what it finds as a log: time key cost; - is standard output");
  options.group("Report");
  options.list("--assert", "EXPRESSION", target.assertions,
               "exit status 1 unless it holds for each algorithm: 'worst<=1', 'denied==0'");
  options.value("--svg", "FILE", target.svg, "write the picture; - is standard output");
  options.value("--csv", "FILE", target.csv, "write a row for each algorithm");
  options.value("--jsonl", "FILE", target.jsonl, "write a line for each decision");
  options.flag("-q,--quiet", target.quiet, "print no report; the exit status says it");
}

std::string burst_notes() {
  return pattern_help() + format_help() + list_algorithms({}) + placeholder_help();
}

}  // namespace rlctl::cli
