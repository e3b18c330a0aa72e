#include "cli/burst_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include "cli/limit_options.h"
#include "cli/problem.h"
#include "limiter/suggest.h"

namespace rlctl::cli {
namespace {

using limiter::Algorithm;

constexpr std::string_view kDefaultLimit = "1000/60s";
constexpr std::string_view kDefaultAlgorithms = "fixed-window,sliding-window-log";
constexpr std::string_view kAll = "all";
constexpr std::int64_t kMostKeys = 10'000'000;
constexpr double kMostSkew = 100;

const traffic::Pattern& parse_pattern(const std::vector<std::string>& operands) {
  if (operands.size() > 1) {
    throw UsageError("one PATTERN is expected, but there are " + std::to_string(operands.size()) +
                     ": the second is " + in_quotes(operands[1]));
  }
  if (operands.empty()) return traffic::patterns().front();
  if (const auto* pattern = traffic::find_pattern(operands[0])) return *pattern;
  std::vector<std::string_view> names;
  for (const auto& pattern : traffic::patterns()) names.push_back(pattern.name);
  throw UsageError(
      "unknown pattern " + in_quotes(operands[0]) + limiter::did_you_mean(operands[0], names),
      "it is one of " + limiter::one_of(names));
}

const Algorithm& parse_algorithm(const std::string& name) {
  const auto* algorithm = limiter::find_algorithm(name);
  if (algorithm != nullptr && limiter::counts_requests(*algorithm)) return *algorithm;
  if (algorithm != nullptr) {
    throw UsageError(fmt::format("--algorithm: {} {}", algorithm->name, algorithm->other_contract));
  }
  auto names = limiter::list_names(limiter::counts_requests);
  names.push_back(kAll);
  throw UsageError(
      "--algorithm: unknown algorithm " + in_quotes(name) + limiter::did_you_mean(name, names),
      "it is one of " + limiter::one_of(names));
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (auto comma = list.find(','); comma != list.npos; comma = list.find(',', begin)) {
    parts.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(list.substr(begin));
  return parts;
}

/// Each once, in the order in which they are named first.
std::vector<const Algorithm*> parse_algorithms(const std::vector<std::string>& lists) {
  std::vector<const Algorithm*> chosen;
  const auto add = [&chosen](const Algorithm& algorithm) {
    if (std::find(chosen.begin(), chosen.end(), &algorithm) == chosen.end()) {
      chosen.push_back(&algorithm);
    }
  };
  for (const auto& list : lists) {
    for (const auto& name : split(list)) {
      if (name != kAll) {
        add(parse_algorithm(name));
        continue;
      }
      for (const auto& algorithm : limiter::algorithms()) {
        if (limiter::counts_requests(algorithm)) add(algorithm);
      }
    }
  }
  return chosen;
}

std::vector<limiter::Limit> parse_limits(const BurstOptions& options) {
  std::vector<limiter::Limit> limits;
  std::optional<std::int64_t> burst;
  if (options.burst) burst = limiter::parse_whole(masked(*options.burst), "--burst");
  const auto add = [&](std::string_view text) {
    auto limit = parsed("--limit", [text] { return limiter::parse_limit(text); });
    limit.burst = burst;
    limits.push_back(limit);
  };
  for (const auto& text : options.limits) add(masked(text));
  if (limits.empty()) add(kDefaultLimit);
  // Two limits with the same window would be one key: said now, not at the first request.
  parsed("--limit", [&] { return limiter::redis_keys("key", limits); });
  return limits;
}

/// Each algorithm with the limits as it takes them: a burst is for those that have one.
std::vector<traffic::Contestant> make_contestants(const std::vector<const Algorithm*>& algorithms,
                                                  const std::vector<limiter::Limit>& limits,
                                                  std::int64_t cost) {
  const auto takes_burst = [](const Algorithm* algorithm) { return algorithm->has_burst; };
  const bool burst_is_for_some = std::any_of(algorithms.begin(), algorithms.end(), takes_burst);
  std::vector<traffic::Contestant> contestants;
  for (const auto* algorithm : algorithms) {
    auto own = limits;
    for (auto& limit : own) {
      if (!algorithm->has_burst && burst_is_for_some) limit.burst.reset();
      limiter::require_usable(*algorithm, limit, cost);
    }
    contestants.push_back({.algorithm = algorithm, .limits = std::move(own)});
  }
  return contestants;
}

std::int64_t parse_between(const std::string& text, std::string_view name, std::int64_t least,
                           std::int64_t most) {
  const auto value = limiter::parse_whole(masked(text), name);
  if (value >= least && value <= most) return value;
  throw UsageError(fmt::format("{} must be from {} to {}, not {}", name, least, most, value));
}

double parse_skew(const std::string& text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error == std::errc{} && stop == end && value >= 0 && value <= kMostSkew) return value;
  throw UsageError(
      fmt::format("--key-skew must be a number from 0 to {}, not {}", kMostSkew, in_quotes(text)));
}

/// Requests a second, written as a limit is: 400/s, 24k/min.
double parse_rate(const std::string& text) {
  try {
    const auto rate = limiter::parse_limit(text);
    return static_cast<double>(rate.limit) * 1e6 / static_cast<double>(rate.window.count());
  } catch (const limiter::UsageError&) {
    throw UsageError("--rate: " + in_quotes(text) + " is not a rate; write 400/s or 24k/min");
  }
}

traffic::PatternRequest make_request(const BurstOptions& options, const limiter::Limit& limit) {
  traffic::PatternRequest request{.limit = limit};
  if (options.rate) request.rate = parse_rate(*options.rate);
  if (options.duration) {
    request.duration =
        parsed("--duration", [&] { return limiter::parse_duration(masked(*options.duration)); });
  }
  if (options.requests) {
    request.requests = parse_between(*options.requests, "--requests", 1, INT64_MAX);
  }
  if (options.keys) {
    request.keys = static_cast<std::uint32_t>(parse_between(*options.keys, "--keys", 1, kMostKeys));
  }
  if (options.key_skew) request.key_skew = parse_skew(*options.key_skew);
  if (options.cost) request.cost = parse_between(*options.cost, "--cost", 1, 1'000'000'000);
  if (options.seed) {
    request.seed = static_cast<std::uint64_t>(parse_between(*options.seed, "--seed", 0, INT64_MAX));
  }
  return request;
}

/// The names with commas between them, in lists that fit a line of a narrow terminal.
std::vector<std::string> algorithm_lists(const BurstPlan& plan) {
  constexpr std::size_t kMostLetters = 34;
  std::vector<std::string> lists;
  for (const auto& [algorithm, limits] : plan.contestants) {
    if (lists.empty() || lists.back().size() + 1 + algorithm->name.size() > kMostLetters) {
      lists.emplace_back(algorithm->name);
    } else {
      lists.back().append(",").append(algorithm->name);
    }
  }
  return lists;
}

/// Every value that decides what comes out.
std::vector<std::string> command_words(const BurstPlan& plan, const BurstOptions& options) {
  std::vector<std::string> words{"rlctl", "burst", std::string(plan.pattern->name)};
  const auto add = [&words](std::string_view option, const std::string& value) {
    words.emplace_back(option);
    words.push_back(value);
  };
  const auto add_given = [&](std::string_view option, const std::optional<std::string>& value) {
    if (value) add(option, *value);
  };
  for (const auto& limit : plan.limits) add("--limit", limiter::format_limit(limit));
  for (const auto& names : algorithm_lists(plan)) add("--algorithm", names);
  add_given("--burst", options.burst);
  add_given("--rate", options.rate);
  add_given("--duration", options.duration);
  add_given("--requests", options.requests);
  add_given("--keys", options.keys);
  add_given("--key-skew", options.key_skew);
  add_given("--cost", options.cost);
  add("--seed", std::to_string(plan.request.seed));
  if (plan.model) words.emplace_back("--model");
  return words;
}

void refuse_server(const ConnectionOptions& connection) {
  if (!connection.url && !connection.host && !connection.port && !connection.socket) return;
  throw UsageError(
      "--model asks no server, so that --url, --host, --port and --socket say nothing");
}

std::string pattern_help() {
  constexpr std::size_t kColumn = 10;
  std::string out =
      fmt::format("\nPatterns, {} if none is given:\n", traffic::patterns().front().name);
  for (const auto& pattern : traffic::patterns()) {
    out += fmt::format("  {:{}}{}\n", pattern.name, kColumn, pattern.summary);
  }
  return out;
}

}  // namespace

void add_burst_options(Options& options, BurstOptions& target) {
  options.group("Limiters");
  options.list("--limit", "LIMIT", target.limits,
               "how many in which time: 5/60s, 100/min; several make one decision (default: "
               "1000/60s)");
  options.list("--algorithm", "NAMES", target.algorithms,
               "which, with commas between, or all (default: fixed-window,sliding-window-log)");
  options.value("--burst", "NUMBER", target.burst,
                "how many may come at once where an algorithm has that (default: the limit)");
  options.flag("--model", target.model, "decide in this program, without a server: fast");
  options.group("Traffic");
  options.value("--rate", "RATE", target.rate,
                "400/s, 24k/min; the pattern says what of (default: from the limit)");
  options.value("--duration", "TIME", target.duration, "how long (default: three windows)");
  options.value("--requests", "NUMBER", target.requests, "end after so many");
  options.value("--keys", "NUMBER", target.keys, "for so many keys (default: 1)");
  options.value("--key-skew", "NUMBER", target.key_skew,
                "key n comes as often as 1/n^NUMBER (default: 0, all alike)");
  options.value("--cost", "NUMBER", target.cost, "of each request (default: 1)");
  options.value("--seed", "NUMBER", target.seed, "another chance (default: 1)");
  options.group("Report");
  options.list("--assert", "EXPRESSION", target.assertions,
               "exit status 1 unless it holds for each algorithm: 'worst<=1', 'denied==0'");
  options.value("--svg", "FILE", target.svg, "write the picture; - is standard output");
  options.value("--csv", "FILE", target.csv, "write a row for each algorithm");
  options.value("--jsonl", "FILE", target.jsonl, "write a line for each decision");
  options.flag("-q,--quiet", target.quiet, "print no report; the exit status says it");
}

std::string burst_notes() {
  return pattern_help() + list_algorithms({});
}

BurstPlan make_burst_plan(const BurstOptions& options, const Invocation& invocation) {
  BurstPlan plan{.pattern = &parse_pattern(invocation.operands), .model = options.model};
  plan.limits = parse_limits(options);
  plan.request = make_request(options, plan.limits.front());
  auto lists = options.algorithms;
  if (lists.empty()) lists.emplace_back(kDefaultAlgorithms);
  plan.contestants = make_contestants(parse_algorithms(lists), plan.limits, plan.request.cost);
  plan.command = command_words(plan, options);
  if (plan.model) refuse_server(invocation.connection);
  // What the pattern refuses is said before anything is started.
  static_cast<void>(traffic::make_traffic(*plan.pattern, plan.request));
  return plan;
}

}  // namespace rlctl::cli
