#include "cli/burst/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "cli/burst/adversary_options.h"
#include "cli/burst/command.h"
#include "cli/failure.h"
#include "cli/limits.h"
#include "limiter/contract.h"

namespace rlctl::cli {
namespace {

using limiter::Algorithm;

constexpr std::string_view kDefaultLimit = "1000/60s";
constexpr std::string_view kDefaultAlgorithms = "fixed-window,sliding-window-log";
constexpr std::string_view kAll = "all";
constexpr std::int64_t kMostPatternKeys = 10'000'000;
constexpr double kMostSkew = 100;
constexpr std::string_view kSteady = "steady";
/// What a closed loop takes its requests from: nobody looks at their times, and they never end.
constexpr double kRateOfClosedLoop = 1e9;
constexpr std::int64_t kRequestsOfClosedLoop = 1'000'000'000'000'000;

const traffic::Pattern& default_pattern(const std::optional<RealClock>& clock) {
  if (clock && clock->is_closed_loop()) return *traffic::find_pattern(kSteady);
  return traffic::patterns().front();
}

/// What was meant by an operand that is no pattern; empty where nobody knows.
std::string hint_for(const std::string& operand) {
  if (operand.ends_with(".lua")) return "run a script with --script " + operand;
  if (operand.find('{') == operand.npos) return {};
  return "quote the value of --args, which is one word: --args '{now_ms} {window_ms}'";
}

const traffic::Pattern& parse_pattern(const std::vector<std::string>& operands,
                                      const std::optional<RealClock>& clock) {
  if (operands.size() > 1) {
    throw UsageError("one PATTERN is expected, but there are " + std::to_string(operands.size()) +
                         ": the second is " + in_quotes(operands[1]),
                     hint_for(operands[1]));
  }
  if (operands.empty()) return default_pattern(clock);
  if (const auto* pattern = traffic::find_pattern(operands[0])) {
    if (!clock || !clock->is_closed_loop() || pattern->name == kSteady) return *pattern;
    throw UsageError(fmt::format("patterns do not apply to --rate max: unexpected argument '{}'",
                                 pattern->name));
  }
  if (limiter::find_algorithm(operands[0]) != nullptr) {
    throw UsageError(in_quotes(operands[0]) + " is an algorithm, not a pattern",
                     "--algorithm " + operands[0]);
  }
  if (auto hint = hint_for(operands[0]); !hint.empty()) {
    throw UsageError(in_quotes(operands[0]) + " is not a pattern", std::move(hint));
  }
  std::vector<std::string_view> names;
  for (const auto& pattern : traffic::patterns()) names.push_back(pattern.name);
  names.push_back(kAdversary);
  throw UsageError("unknown pattern " + in_quotes(operands[0]) + did_you_mean(operands[0], names),
                   "it is one of " + one_of(names));
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
        add(parse_algorithm(name, kAll));
        continue;
      }
      for (const auto& algorithm : limiter::algorithms()) {
        if (limiter::counts_requests(algorithm)) add(algorithm);
      }
    }
  }
  return chosen;
}

/// Of several algorithms and limits one must know which.
void require_taken(const Algorithm& algorithm, const limiter::Limit& limit, std::int64_t cost) {
  try {
    limiter::require_usable(algorithm, limit, cost);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--limit {}: {}", limiter::format_limit(limit), error.what()),
                     fmt::format("another --algorithm than {} may take it", algorithm.name));
  }
}

/// Each algorithm with the limits as it takes them: a burst is for those that have one.
std::vector<traffic::Candidate> make_candidates(const std::vector<const Algorithm*>& algorithms,
                                                const std::vector<limiter::Limit>& limits,
                                                std::int64_t cost, bool burst_is_for_others) {
  const auto takes_burst = [](const Algorithm* algorithm) { return algorithm->has_burst; };
  const bool burst_is_for_some =
      burst_is_for_others || std::any_of(algorithms.begin(), algorithms.end(), takes_burst);
  std::vector<traffic::Candidate> candidates;
  for (const auto* algorithm : algorithms) {
    auto own = limits;
    for (auto& limit : own) {
      if (!algorithm->has_burst && burst_is_for_some) limit.burst.reset();
      require_taken(*algorithm, limit, cost);
    }
    candidates.push_back({.algorithm = algorithm, .limits = std::move(own)});
  }
  return candidates;
}

void require_told_time(const traffic::ForeignLimiter& script, bool searches) {
  constexpr std::string_view kTell =
      "tell it the time in --args or --keys: {now_us}, {now_ms}, {now_s}, {now} or {window_index}; "
      "as one more argument, which it ignores, where it lives by its TTLs";
  try {
    require_virtual_clock(script);
  } catch (const UsageError& error) {
    throw UsageError(error.what(), (searches ? "" : "use --clock real; or ") + std::string(kTell));
  }
}

/// Someone's script first, then the algorithms that it is to be compared with.
void add_candidates(BurstPlan& plan, const BurstOptions& options) {
  plan.script = read_script(script_options(options));
  auto lists = options.algorithms;
  if (lists.empty() && !plan.script) lists.emplace_back(kDefaultAlgorithms);
  plan.candidates = make_candidates(parse_algorithms(lists), plan.limits, plan.request.cost,
                                    plan.script != nullptr);
  if (!plan.script) return;
  traffic::Candidate candidate{.limits = plan.limits, .foreign = plan.script};
  require_usable(candidate);
  if (!plan.real) require_told_time(*plan.script, plan.adversary_budget.has_value());
  plan.candidates.insert(plan.candidates.begin(), std::move(candidate));
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
  } catch (const UsageError&) {
    throw UsageError("--rate: " + in_quotes(text) + " is not a rate; write 400/s or 24k/min");
  }
}

/// When and how many; in a closed loop the clock has the duration.
void set_schedule(traffic::PatternRequest& request, const BurstOptions& options,
                  const std::optional<RealClock>& clock) {
  if (options.requests) {
    request.requests = parse_between(*options.requests, "--requests", 1, INT64_MAX);
  }
  if (clock && clock->is_closed_loop()) {
    request.rate = kRateOfClosedLoop;
    request.requests =
        std::min(request.requests.value_or(kRequestsOfClosedLoop), kRequestsOfClosedLoop);
    return;
  }
  if (options.rate) request.rate = parse_rate(*options.rate);
  if (options.duration) request.duration = parse_time(*options.duration, "--duration");
}

traffic::PatternRequest make_request(const BurstOptions& options, const limiter::Limit& limit,
                                     const std::optional<RealClock>& clock) {
  traffic::PatternRequest request{.limit = limit};
  set_schedule(request, options, clock);
  if (const auto keys = key_count(options)) {
    request.keys = static_cast<std::uint32_t>(parse_between(*keys, "--keys", 1, kMostPatternKeys));
  }
  if (options.key_skew) request.key_skew = parse_skew(*options.key_skew);
  if (options.key_skew && request.keys == 1) {
    throw UsageError("--key-skew needs more than one key", "add --keys NUMBER");
  }
  if (options.cost) request.cost = parse_between(*options.cost, "--cost", 1, limiter::kLargestCost);
  if (options.seed) {
    request.seed = static_cast<std::uint64_t>(parse_between(*options.seed, "--seed", 0, INT64_MAX));
  }
  return request;
}

std::optional<traffic::DeniedShare> parse_suggest(const BurstOptions& options,
                                                  const BurstPlan& plan) {
  if (!options.replay.suggest) return std::nullopt;
  const auto share = parse_denied_share(*options.replay.suggest);
  if (plan.limits.size() > 1) {
    throw UsageError("--suggest finds the limit of one window, but there are several --limit",
                     "give one for its window");
  }
  return share;
}

/// The traffic: a log's, a pattern's, or what a search finds.
void set_traffic(BurstPlan& plan, const BurstOptions& options, const Invocation& invocation) {
  plan.replay = parse_replay(options.replay, invocation.operands);
  if (plan.replay) {
    if (key_count(options)) {
      throw UsageError("--keys and --replay exclude each other: the log has the keys",
                       "--key-field names their field");
    }
    plan.request.limit = plan.limits.front();
  } else if (asks_adversary(options, invocation.operands)) {
    plan.adversary_budget = parse_budget(options);
    plan.request = make_request(options, plan.limits.front(), plan.real);
  } else {
    plan.pattern = &parse_pattern(invocation.operands, plan.real);
    plan.request = make_request(options, plan.limits.front(), plan.real);
  }
  plan.suggest = parse_suggest(options, plan);
}

/// What the pattern refuses is said before anything is started, and what it does not reach.
void require_traffic(const BurstPlan& plan) {
  const auto traffic = traffic::make_traffic(*plan.pattern, plan.request);
  const auto& requests = plan.request.requests;
  if (!requests || plan.request.duration || *requests <= traffic->size()) return;
  throw UsageError(fmt::format("--requests: {} makes {} requests, not {}", plan.pattern->name,
                               traffic->size(), *requests),
                   "use a higher --rate or a longer --duration");
}

}  // namespace

BurstPlan make_burst_plan(const BurstOptions& options, const Invocation& invocation) {
  const bool searches = asks_adversary(options, invocation.operands);
  if (searches) require_searchable(options);
  BurstPlan plan{.real = parse_clock(options), .model = options.model};
  auto limits = options.limits;
  if (limits.empty()) limits.emplace_back(searches ? kAdversaryLimit : kDefaultLimit);
  plan.limits = parse_limits(limits, options.burst);
  set_traffic(plan, options, invocation);
  add_candidates(plan, options);
  plan.command = command_words(plan, options, invocation);
  if (plan.pattern) require_traffic(plan);
  return plan;
}

}  // namespace rlctl::cli
