#include "cli/trial/holders.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "cli/options/holder_options.h"
#include "limiter/algorithm.h"

namespace rlctl::cli::trial {
namespace {

constexpr std::string_view kConcurrency = "--concurrency", kReserve = "--reserve";

}  // namespace

Option add_lease_options(Options& options, Plan& plan) {
  auto& leases = plan.leases;
  constexpr std::string_view kCounts = "it counts requests",
                             kHint = "a lease has --lease, not a window";
  options.group("Leases");
  auto concurrency =
      options.value(std::string(kConcurrency), "NUMBER",
                    into(plan.concurrency, number_between(kConcurrency, 1, limiter::kLargestLimit)),
                    "ask for leases instead, at most NUMBER held at once");
  concurrency.excludes_each({"--limit", "--burst"}, kCounts, kHint)
      .excludes("--cost", "each holder has one lease");
  options
      .value("--lease", "TIME", into(leases.lease, parse_lease),
             "a lease lapses after this unless it is renewed (default: 30s)")
      .needs(kConcurrency);
  return concurrency;
}

Option add_budget_options(Options& options, Plan& plan) {
  options.group("Budgets");
  auto reserve =
      options.value(std::string(kReserve), "UNITS",
                    into(plan.reserve, number_between(kReserve, 1, limiter::kLargestCost)),
                    "reserve UNITS with each request, and settle later");
  reserve.excludes("--concurrency", "a lease has no units")
      .excludes("--burst", "a budget has no burst")
      .excludes("--cost", "it states the units");
  return reserve;
}

void complete_budget(Plan& plan) {
  auto& spend = plan.budget.spend;
  if (spend.hold < limiter::kShortestHold) {
    throw UsageError("--hold must be at least 1ms, not " + format_duration(spend.hold));
  }
  spend.units = *plan.reserve;
  spend.seed = plan.request.seed;
  plan.costs = {*plan.reserve};  // the pattern's rate follows from it
}

void require_no_page(const Plan& plan) {
  if (!has_holders(plan) || !writes(plan, ReportFormat::kHtml)) return;
  refuse_both(
      "-o *.html", plan.concurrency ? kConcurrency : kReserve, "the page is about windows",
      plan.search() != nullptr ? "--json has the schedules" : "draw a picture: -o FILE.svg");
}

void ask_as_holders(script::Candidate& candidate, const ScriptOptions& options, const Plan& plan) {
  if (!candidate.foreign || !has_holders(plan)) return;
  auto script = *candidate.foreign;
  if (plan.concurrency) {
    ask_for_leases(script, options);
  } else {
    ask_for_reservations(script, plan.budget.spend.hold, options);
  }
  if (plan.leases.hold.renews && !tells_event(script)) {
    throw UsageError(fmt::format("--renew: nothing renews the leases of {}", escape(script.name)),
                     "let it renew when {event} in --args says so");
  }
  candidate.foreign = std::make_shared<const script::ForeignLimiter>(std::move(script));
  const auto tick = clock_tick_of(candidate);
  const auto shortest = plan.concurrency ? plan.leases.lease : plan.budget.spend.hold;
  if (tick < shortest) return;
  throw UsageError(fmt::format(
      "{}: {} is not longer than {}, the unit of the clock of {}, so that nothing would be known "
      "of what is held",
      plan.concurrency ? "--lease" : "--hold", format_duration(shortest), format_duration(tick),
      escape(candidate.foreign->name)));
}

simulation::HoldRules hold_rules_of(const script::Candidate& candidate, const Plan& plan) {
  const auto tick = clock_tick_of(candidate);
  const bool has_leases = plan.concurrency.has_value();
  return {.limit = candidate.limits.front(),
          .has_leases = has_leases,
          .is_budget = candidate.is_bundled(),
          .early = tick,
          .late = tick,
          .works_on = has_leases};
}

}  // namespace rlctl::cli::trial
