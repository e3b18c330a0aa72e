#include "cli/commands/burst/holders.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "cli/options/holder_options.h"
#include "cli/trial/holders.h"
#include "cli/trial/report.h"

namespace rlctl::cli::burst {
namespace {

using trial::Plan;

constexpr std::string_view kConcurrency = "--concurrency", kReserve = "--reserve";

void parse_hold(const std::string& text, simulation::HolderPlan& hold) {
  const auto [time, is_exponential] = parse_random_time(text, "--hold");
  hold.hold = time;
  hold.is_exponential = is_exponential;
}

std::int64_t parse_actual(const std::string& text) {
  return parse_between(text, "--actual", 0, limiter::kLargestCost);
}

/// "80" or "50..150"
void parse_actuals(const std::string& text, simulation::HolderPlan& spend) {
  constexpr std::string_view kTo = "..";
  const auto dots = text.find(kTo);
  spend.least_actual = parse_actual(text.substr(0, dots));
  spend.most_actual =
      dots == text.npos ? spend.least_actual : parse_actual(text.substr(dots + kTo.size()));
  if (*spend.least_actual <= *spend.most_actual) return;
  throw UsageError("--actual: the lower number must come first, not " + quoted_and_masked(text));
}

void parse_settle_after(const std::string& text, simulation::HolderPlan& spend) {
  const auto [time, is_exponential] = parse_random_time(text, "--settle-after");
  spend.settle_after = time;
  spend.is_exponential = is_exponential;
}

/// Sets how long leases are held, and for how many a pattern asks.
void set_leases(Plan& plan, const Options& options) {
  auto& hold = plan.leases.hold;
  hold.seed = plan.request.seed;
  const auto& log = plan.traffic()->log;
  if (log.given()) {
    hold.is_in_cost = log.fields.has_hold();
    if (hold.is_in_cost && options.is_given("--hold")) {
      refuse_both("--hold", "--fields hold", "the log has the times");
    }
    return;
  }
  // So that the pattern asks for as many leases as there are.
  plan.request.limit = {.limit = *plan.concurrency,
                        .window = std::max(hold.hold, limiter::kShortestWindow)};
}

void set_budget(Plan& plan, const Options& options) {
  auto& spend = plan.budget.spend;
  const auto& hold = plan.leases.hold;
  if (options.is_given("--hold")) spend.hold = hold.hold;
  if (hold.is_exponential) {
    throw UsageError("--hold is one time for all reservations",
                     "--settle-after takes times like 2s~");
  }
  spend.crash_share = hold.crash_share;
}

}  // namespace

void add_holder_options(Options& options, Plan& plan) {
  auto& leases = plan.leases;
  options.value(
      "--hold", "TIME", [&leases](const std::string& text) { parse_hold(text, leases.hold); },
      "how long each holder keeps its lease; 2s~: exponential, 2s on average (default: 1s); "
      "or how long reserved units are held (default: 30s)");
  options.value("--crash", "SHARE",
                into(leases.hold.crash_share,
                     [](const std::string& text) { return parse_share(text, "--crash"); }),
                "share of the holders that die and never release or settle (default: 0%)");
  options.flag("--renew", leases.hold.renews, "renew each lease after a third of it")
      .needs(kConcurrency);
}

void add_settle_options(Options& options, Plan& plan) {
  auto& budget = plan.budget;
  const auto of_budget = [](Option row) { row.needs(kReserve); };
  of_budget(options.value(
      "--actual", "UNITS",
      [&budget](const std::string& text) { parse_actuals(text, budget.spend); },
      "actual cost with which each is settled, or a range: 50..150 (default: what it reserved)"));
  of_budget(options.value(
      "--settle-after", "TIME",
      [&budget](const std::string& text) { parse_settle_after(text, budget.spend); },
      "time from a reservation to its settle, perhaps after --hold; 2s~: exponential, 2s on "
      "average (default: 1s)"));
}

void require_holders(const Plan& plan, const Options& options) {
  const auto& fields = plan.traffic()->log.fields;
  if (!plan.concurrency && fields.has_hold()) {
    throw UsageError("--fields hold requires --concurrency");
  }
  if (!has_holders(plan)) {
    for (const std::string_view name : {"--hold", "--crash"}) {
      if (!options.is_given(name)) continue;
      throw UsageError(fmt::format("{} requires --concurrency or --reserve", name));
    }
    return;
  }
  const auto holders = plan.concurrency ? kConcurrency : kReserve;
  if (fields.has_cost()) {
    refuse_both("--fields cost", holders,
                plan.concurrency ? "each holder has one lease" : "it states the units");
  }
  if (plan.is_real()) refuse_both("--clock real", holders, "holders have the virtual clock");
  trial::require_no_page(plan);
}

void set_holders(Plan& plan, const Options& options) {
  if (plan.concurrency) set_leases(plan, options);
  if (!plan.reserve) return;
  set_budget(plan, options);
  trial::complete_budget(plan);
}

void limit_acquires(Plan& plan) {
  constexpr int kLeases = 3;
  constexpr std::int64_t kMostAcquires = 100'000;
  auto& request = plan.request;
  if (request.duration || request.requests || plan.pattern()->rate.empty()) return;
  request.duration = kLeases * std::max(plan.leases.lease, plan.leases.hold.hold);
  request.requests = kMostAcquires;
}

void add_holders(trial::Resolved& values, const Plan& plan) {
  const auto random_text = [](std::chrono::microseconds time, bool is_exponential) {
    return format_duration(time) + (is_exponential ? "~" : "");
  };
  const auto& hold = plan.leases.hold;
  if (plan.concurrency && !hold.is_in_cost) {
    values["--hold"] = {random_text(hold.hold, hold.is_exponential)};
  }
  if (!plan.reserve) return;
  const auto& spend = plan.budget.spend;
  values["--hold"] = {format_duration(spend.hold)};
  values["--settle-after"] = {random_text(spend.settle_after, spend.is_exponential)};
}

}  // namespace rlctl::cli::burst
