#include "limiter/algorithm.h"

#include "base/table.h"
#include "base/text.h"
#include "embedded_lua.h"
#include "limiter/budget_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rlctl::limiter {

namespace {

template <typename Model>
std::unique_ptr<KeyModel> make() {
  return std::make_unique<Model>();
}

constexpr std::int64_t kMaxLogCost = 10'000;  // each unit is one entry

constexpr std::string_view kWhyLogKept =
    "it keeps the time of each unit that it allows, and denied {denied} that would have made more "
    "than {limit} within {window}";

constexpr std::array kAlgorithms{
    Algorithm{
        .name = "fixed-window",
        .summary = "a counter per window; up to twice the limit at an edge",
        .example = "allows 5 in each minute of the clock",
        .script = embedded::k_fixed_window.text,
        .sha1 = embedded::k_fixed_window.sha1,
        .allows_at_most = "twice the limit, half of it on each side of a window's edge",
        .why_kept = "its counter stops at {limit} in each window of {window}, and denied {denied}; "
                    "it never allowed more than {allowed} within {window}{to_a_key}",
        .why_exceeded = "its counter starts over at {edge}, so {before} before that and {after} "
                        "after it were allowed {within}",
        .has_periods = true,
        .make_model = make<FixedWindowModel>},
    Algorithm{.name = "sliding-window-log",
              .summary = "exact; keeps the time of each allowed unit",
              .example = "allows 5 in any 60 seconds",
              .script = embedded::k_sliding_window_log.text,
              .sha1 = embedded::k_sliding_window_log.sha1,
              .allows_at_most = "the limit",
              .why_kept = kWhyLogKept,
              .is_exact = true,
              .max_cost = kMaxLogCost,
              .make_model = make<SlidingWindowLogModel>},
    Algorithm{.name = "sliding-window-zset",
              .summary = "the same in a sorted set, which other tools can read",
              .example = "allows 5 in any 60 seconds",
              .script = embedded::k_sliding_window_zset.text,
              .sha1 = embedded::k_sliding_window_zset.sha1,
              .allows_at_most = "the limit",
              .why_kept = kWhyLogKept,
              .is_exact = true,
              .max_cost = kMaxLogCost,
              .make_model = make<SlidingWindowLogModel>},
    Algorithm{
        .name = "sliding-window-counter",
        .summary = "two counters; an estimate of the sliding window",
        .example = "allows about 5 in any 60 seconds",
        .script = embedded::k_sliding_window_counter.text,
        .sha1 = embedded::k_sliding_window_counter.sha1,
        .allows_at_most =
            "less than twice the limit: it assumes that the last window's requests were "
            "spread evenly",
        .why_kept = "it estimates the last {window} from two counters, and denied {denied} for "
                    "which the estimate would have been above {limit}",
        .why_exceeded =
            "it assumes that the requests before {edge} were spread evenly over their window, but "
            "{before} came so late in it that {they} and the {after} allowed after it lie {within}",
        .make_model = make<SlidingWindowCounterModel>},
    Algorithm{.name = "token-bucket",
              .summary = "tokens come back steadily; bursts up to --burst",
              .example = "allows 5 at once, and gives one back every 12 seconds",
              .script = embedded::k_token_bucket.text,
              .sha1 = embedded::k_token_bucket.sha1,
              .allows_at_most = "its burst plus the refill during the window",
              .why_kept = "its bucket holds {burst} and gets {limit} back in {window}; it had too "
                          "few tokens for {denied}",
              .why_exceeded =
                  "its bucket holds {burst}, and {back} {come} back meanwhile: {of_most} "
                  "were allowed {within}",
              .has_burst = true,
              .make_model = make<TokenBucketModel>},
    Algorithm{.name = "gcra",
              .summary = "like token-bucket, but exact and smaller",
              .example = "allows 5 at once, and another every 12 seconds",
              .script = embedded::k_gcra.text,
              .sha1 = embedded::k_gcra.sha1,
              .allows_at_most = "its burst plus the refill during the window",
              .why_kept = "it allows a burst of {burst} and then {limit} in {window}, evenly "
                          "spaced; {denied} came before {their} time",
              .why_exceeded =
                  "it allows a burst of {burst}, and {back} more {become} due meanwhile: "
                  "{of_most} were allowed {within}",
              .has_burst = true,
              .make_model = make<GcraModel>},
    Algorithm{.name = "leaky-bucket",
              .summary = "a queue that drains steadily; returns how long to wait",
              .example = "lets one go on every 12 seconds, and 5 wait",
              .script = embedded::k_leaky_bucket.text,
              .sha1 = embedded::k_leaky_bucket.sha1,
              .allows_at_most = "the limit, since delayed requests count when they may proceed",
              .why_kept =
                  "it lets requests proceed evenly spaced, {limit} in {window}: the longest "
                  "waited {delay}, and {denied} found the queue of {burst} full",
              .why_exceeded = "a request of {cost} proceeds as a whole as soon as its first unit "
                              "may, so {allowed} proceeded {within}",
              .has_burst = true,
              .has_refund = false,
              .has_delay = true,
              .make_model = make<LeakyBucketModel>},
    Algorithm{
        .name = "budget",
        .summary = "units per window, reserved and then settled",
        .example = "allows 5 units in each minute of the clock",
        .script = embedded::k_budget.text,
        .sha1 = embedded::k_budget.sha1,
        .allows_at_most = "twice the limit, half of it on each side of a window's edge",
        .why_kept = "it stops at {limit} in each window of {window}, and denied {denied}; it never "
                    "allowed more than {allowed} within {window}{to_a_key}",
        .why_exceeded = "what is spent starts over at {edge}, so {before} before that and {after} "
                        "after it were allowed {within}",
        .has_periods = true,
        .has_reservations = true,
        .make_model = make<BudgetModel>},
    Algorithm{.name = "concurrency",
              .summary = "how many hold a lease at the same time",
              .example = "limits no rate",
              .script = embedded::k_concurrency.text,
              .sha1 = embedded::k_concurrency.sha1,
              .has_refund = false,
              .max_cost = 1,
              .does_instead = "gives leases to holders and takes them back instead of counting "
                              "requests; rlctl-scripts(7) describes its script"},
};

/// Checks the ranges of the contract that involve more than one number.
void require_burst(const Limit& limit) {
  const auto burst = limit.burst_or_limit();
  if (burst < 1 || burst > kLargestLimit) {
    throw UsageError(fmt::format("burst must be from 1 to {}, not {}", kLargestLimit, burst));
  }
  if (Wide{limit.limit} * burst > kLargestProduct) {
    throw UsageError(
        fmt::format("limit {} x burst {} is more than 2^53; use a smaller limit or a smaller burst",
                    limit.limit, burst),
        "a bucket limits a rate; for a budget of that many units, use fixed-window or budget");
  }
  if (Wide{burst} * limit.window.count() > Wide{kLongestRefill.count()} * limit.limit) {
    throw UsageError(
        fmt::format("burst {} takes more than 4e15 us to refill at {}; use a smaller burst", burst,
                    format_limit(limit)));
  }
}

}  // namespace

std::span<const Algorithm> algorithms() {
  return kAlgorithms;
}

const Algorithm* find_algorithm(std::string_view name) {
  return find_by_name(kAlgorithms, name);
}

bool has_burst(const Algorithm& algorithm) {
  return algorithm.has_burst;
}

bool has_periods(const Algorithm& algorithm) {
  return algorithm.has_periods;
}

bool counts_requests(const Algorithm& algorithm) {
  return algorithm.does_instead.empty();
}

std::vector<std::string> commands_of(const Algorithm& algorithm) {
  constexpr std::string_view kCall = "call('";
  const auto script = algorithm.script;
  std::vector<std::string> commands{"EVALSHA", "SCRIPT LOAD"};
  for (auto at = script.find(kCall); at != script.npos; at = script.find(kCall, at)) {
    at += kCall.size();
    std::string name(script.substr(at, script.find('\'', at) - at));
    if (std::ranges::find(commands, name) == commands.end()) commands.push_back(std::move(name));
  }
  return commands;
}

std::optional<std::int64_t> effective_burst(const Algorithm& algorithm, const Limit& limit) {
  if (!algorithm.has_burst) return std::nullopt;
  return limit.burst_or_limit();
}

std::vector<std::string_view> list_names(bool (*wanted)(const Algorithm&)) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (wanted == nullptr || wanted(algorithm)) names.push_back(algorithm.name);
  }
  return names;
}

const Algorithm& default_algorithm(std::span<const Limit> limits) {
  const bool has_calendar =
      std::ranges::any_of(limits, [](const Limit& limit) { return limit.calendar != nullptr; });
  return *find_algorithm(has_calendar ? kDefaultForCalendar : kDefaultAlgorithm);
}

void require_usable(const Algorithm& algorithm, const Limit& limit, std::int64_t cost) {
  if (!algorithm.does_instead.empty()) {
    throw UsageError(fmt::format("{} {}", algorithm.name, algorithm.does_instead));
  }
  if (algorithm.has_burst) {
    require_burst(limit);
  } else if (limit.burst) {
    throw UsageError(fmt::format("{} has no burst; {} have one", algorithm.name,
                                 one_of(list_names(has_burst), "and")));
  }
  if (limit.calendar != nullptr && !algorithm.has_periods) {
    const auto names = list_names(has_periods);
    throw UsageError(fmt::format("{} has no windows of the calendar, such as {}; {} {} them",
                                 algorithm.name, limit.calendar->text(), one_of(names, "and"),
                                 names.size() == 1 ? "has" : "have"),
                     fmt::format("use {}", kDefaultForCalendar));
  }
  if (cost < 0 && !algorithm.has_refund) {
    throw UsageError(
        fmt::format("{} takes no refund: cost {} must be 0 or more", algorithm.name, cost));
  }
  if (cost > algorithm.max_cost || cost < -algorithm.max_cost) {
    const bool fits_others = cost <= kLargestCost && cost >= -kLargestCost;
    throw UsageError(fmt::format(
        "cost {} is too {} for {}, which takes {}{}{}", cost, cost < 0 ? "low" : "large",
        algorithm.name, cost < 0 ? "no less than " : "up to ",
        cost < 0 ? -algorithm.max_cost : algorithm.max_cost,
        algorithm.max_cost < kLargestCost && fits_others ? "; gcra takes more" : ""));
  }
}

void require_reservations(const Algorithm& algorithm) {
  if (algorithm.has_reservations) return;
  throw UsageError(fmt::format(
      "{} has no reservations; {} has them", algorithm.name,
      one_of(list_names([](const Algorithm& other) { return other.has_reservations; }), "and")));
}

namespace {

constexpr std::string_view kNothingDenied =
    "it denied nothing: no more than {allowed} were ever asked for within {window}{by_a_key}";
constexpr std::string_view kNoScheduleFound =
    "no schedule that was tried got more than {allowed} through within {window}";
/// No algorithm allows more in the order in which the server takes requests than its row says.
constexpr std::string_view kOtherOrder =
    "the server took requests in another order than that of their times, by which {allowed} were "
    "allowed {within}";

std::string_view template_of(const Algorithm& algorithm, const RunSummary& summary) {
  if (summary.allowed > summary.limit.limit) {
    const auto text = algorithm.why_exceeded;
    const bool is_about_edge = text.find("{edge}") != text.npos;
    const bool has_edge = summary.after_edge > 0 && summary.after_edge < summary.allowed;
    // A queue goes beyond the limit only if the last request is of several units.
    const bool has_cause = algorithm.has_delay ? summary.cost > 1 : !is_about_edge || has_edge;
    return text.empty() || !has_cause ? kOtherOrder : text;
  }
  const bool is_untouched = summary.denied == 0 && summary.longest_delay.count() == 0;
  if (!is_untouched) return algorithm.why_kept;
  return summary.is_search ? kNoScheduleFound : kNothingDenied;
}

}  // namespace

std::optional<std::string> why(const Algorithm& algorithm, const RunSummary& summary) {
  if (summary.allowed == 0) return std::nullopt;
  const auto& limit = summary.limit;
  // No more than this comes back during the span.
  const auto back =
      static_cast<std::int64_t>(Wide{summary.span.count()} * limit.limit / limit.window.count());
  const auto burst = effective_burst(algorithm, limit).value_or(limit.limit);
  auto denied = summary.denied == 0 ? "no request" : counted(summary.denied, "request");
  if (summary.has_several_keys && summary.denied > 0) {
    denied += " of " + counted(summary.keys_denied, "key");
  }
  const auto within =
      summary.span.count() == 0 ? "at one instant" : "within " + summary.text_of(summary.span);
  const auto before = summary.allowed - summary.after_edge;
  const auto most = burst + back;
  const auto of_most = summary.allowed == most
                           ? fmt::format("all {}", most)
                           : fmt::format("of these {}, {}", most, summary.allowed);
  return fmt::format(
      fmt::runtime(template_of(algorithm, summary)), fmt::arg("limit", limit.limit),
      fmt::arg("window", window_text(limit)), fmt::arg("allowed", summary.allowed),
      fmt::arg("within", within), fmt::arg("edge", instant_text(summary.edge)),
      fmt::arg("before", counted(before, summary.cost > 1 ? "unit" : "request")),
      fmt::arg("they", before == 1 ? "this one" : "they"), fmt::arg("after", summary.after_edge),
      fmt::arg("denied", denied), fmt::arg("burst", burst),
      fmt::arg("their", summary.denied > 1 ? "their" : "its"), fmt::arg("back", back),
      fmt::arg("come", back == 1 ? "comes" : "come"),
      fmt::arg("become", back == 1 ? "becomes" : "become"), fmt::arg("of_most", of_most),
      fmt::arg("delay", summary.text_of(summary.longest_delay)), fmt::arg("cost", summary.cost),
      fmt::arg("by_a_key", summary.has_several_keys ? " by one key" : ""),
      fmt::arg("to_a_key", summary.has_several_keys ? " to one key" : ""));
}

}  // namespace rlctl::limiter
