#include "cli/commands/burst/budgets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/holder_search.h"
#include "cli/commands/burst/leases.h"
#include "cli/errors/failure.h"
#include "cli/options/holder_options.h"
#include "cli/options/options.h"
#include "limiter/algorithm.h"
#include "limiter/budget_model.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;

constexpr std::string_view kReserve = "--reserve";

std::int64_t parse_actual(const std::string& text) {
  return parse_between(text, "--actual", 0, limiter::kLargestCost);
}

/// "80" or "50..150"
void parse_actuals(const std::string& text, traffic::SpendPlan& spend) {
  constexpr std::string_view kTo = "..";
  const auto dots = text.find(kTo);
  spend.least_actual = parse_actual(text.substr(0, dots));
  spend.most_actual =
      dots == text.npos ? spend.least_actual : parse_actual(text.substr(dots + kTo.size()));
  if (*spend.least_actual <= *spend.most_actual) return;
  throw UsageError("--actual: the lower number must come first, not " + quoted_and_masked(text));
}

void parse_settle_after(const std::string& text, traffic::SpendPlan& spend) {
  const auto [time, is_exponential] = parse_random_time(text, "--settle-after");
  spend.settle_after = time;
  spend.is_exponential = is_exponential;
}

std::string units_text(std::int64_t units) {
  return fmt::format("{} unit{}", grouped(units), plural(units));
}

}  // namespace

void add_budget_options(Options& options, Plan& plan) {
  auto& budget = plan.budget;
  options.group("Budgets");
  options.value(std::string(kReserve), "UNITS",
                into(plan.reserve, number_between(kReserve, 1, limiter::kLargestCost)),
                "reserve UNITS with each request, and settle later");
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
  of_budget(options.value(
      "--settle-twice", "SHARE",
      into(budget.spend.repeat_share,
           [](const std::string& text) { return parse_share(text, "--settle-twice"); }),
      "share of the holders that repeat their settle (default: 0%)"));
  of_budget(options.value("--settle", "FILE", budget.settle,
                          "the script that settles what --script reserves"));
  of_budget(options
                .value("--settle-args", "WORDS", budget.settle_arguments,
                       "its ARGV (default: those of --args)")
                .needs("--settle"));
}

void require_budget_options(const Options& options, const Plan& plan) {
  if (!plan.reserve) return;
  const auto refuse = [&](std::initializer_list<std::string_view> names, std::string_view why,
                          std::string_view hint = {}) {
    for (const auto name : names) {
      if (options.is_given(name)) refuse_both(name, kReserve, why, hint);
    }
  };
  std::ranges::for_each(plan.algorithms,
                        [](const auto* algorithm) { limiter::require_reservations(*algorithm); });
  refuse({"--concurrency"}, "a lease has no units");
  refuse({"--burst"}, "a budget has no burst");
  constexpr std::string_view kStatesUnits = "it states the units";
  refuse({"--cost"}, kStatesUnits);
  if (plan.log.fields.has_cost()) refuse_both("--fields cost", kReserve, kStatesUnits);
  refuse({"--compare"}, "holders follow from what each limiter allows",
         "name both: --script A.lua --script B.lua");
  refuse({"--suggest"}, "it finds limits of requests");
  if (writes(plan, ReportFormat::kHtml)) {
    refuse_both("-o *.html", kReserve, "the page is about requests", "draw a picture: -o FILE.svg");
  }
  refuse({"--delay"}, "a hold begins when it is given");
  constexpr std::string_view kOnlyVirtual = "reservations have the virtual clock";
  if (plan.is_real) refuse_both("--clock real", kReserve, kOnlyVirtual);
  if (plan.limit_texts.size() > 1) {
    throw UsageError("--reserve measures one limit, but there are several --limit");
  }
  if (plan.search) require_holder_search(options, plan);
  if (plan.budget.settle && plan.script.scripts.empty()) {
    throw UsageError("--settle requires --script: it settles what a script reserves");
  }
}

void set_budget(Plan& plan, const Options& options) {
  auto& spend = plan.budget.spend;
  const auto& hold = plan.leases.hold;
  if (options.is_given("--hold")) spend.hold = hold.hold;
  if (hold.is_exponential) {
    throw UsageError("--hold is one time for all reservations",
                     "--settle-after takes times like 2s~");
  }
  if (spend.hold < limiter::kShortestHold) {
    throw UsageError("--hold must be at least 1ms, not " + format_duration(spend.hold));
  }
  spend.units = *plan.reserve;
  spend.crash_share = hold.crash_share;
  spend.seed = plan.request.seed;
  plan.costs = {*plan.reserve};  // the pattern's rate follows from it
  if (plan.algorithms.empty() && plan.script.scripts.empty() && plan.exec.programs.empty()) {
    plan.algorithms = {limiter::find_algorithm("budget")};
  }
}

void ask_for_reservations(traffic::Candidate& candidate, const Plan& plan) {
  if (!candidate.foreign) return;
  auto script = *candidate.foreign;
  const auto& budget = plan.budget;
  cli::ask_for_reservations(script, budget.spend.hold, budget.settle, budget.settle_arguments);
  candidate.foreign = std::make_shared<const traffic::ForeignLimiter>(std::move(script));
  const auto tick = clock_tick_of(candidate);
  if (tick < budget.spend.hold) return;
  throw UsageError(fmt::format(
      "--hold: {} is not longer than {}, the unit of the clock of {}, so "
      "that nothing would be known of what is held",
      format_duration(budget.spend.hold), format_duration(tick), escape(candidate.foreign->name)));
}

traffic::SpendRules spend_rules_of(const traffic::Candidate& candidate) {
  return {.limit = candidate.limits.front(),
          .has_clock_windows = candidate.is_bundled(),
          .tick = clock_tick_of(candidate)};
}

// ---- The report ----

std::string reservations_text(const Plan& plan) {
  const auto& spend = plan.budget.spend;
  const auto least = spend.least_actual.value_or(spend.units);
  const auto most = spend.most_actual.value_or(least);
  if (plan.search)
    return fmt::format("{} or all reserved for {}", spend.units, span_text(spend.hold));
  auto text =
      fmt::format("{} reserved for {}, settled with {}{} after {}{}", spend.units,
                  span_text(spend.hold), least, most > least ? fmt::format(" to {}", most) : "",
                  span_text(spend.settle_after), spend.is_exponential ? " on average" : "");
  if (spend.repeat_share > 0) text += fmt::format(", {:.6g} % twice", 100 * spend.repeat_share);
  if (spend.crash_share > 0) text += fmt::format(", {:.6g} % die", 100 * spend.crash_share);
  return text;
}

HoldersVerdict budget_verdict(const Report& report, const Run& run) {
  const auto& spent = *run.spent;
  const auto limit = report.plan.limits.front().limit;
  if (spent.exceeded > 0) {
    return {fmt::format("{} spent or held, {} more than the limit", spent.most.both(),
                        spent.most.both() - limit),
            Tone::kBad};
  }
  if (run.outcome.measured.allowed == 0) return {"allowed nothing", Tone::kBad};
  if (spent.end && spent.end->too_many > 0) {
    return {fmt::format("allowed {} above the limit at the end", units_text(spent.end->too_many)),
            Tone::kBad};
  }
  if (spent.end && spent.end->taken > 0) {
    return {"lost " + units_text(spent.end->taken), Tone::kBad};
  }
  if (spent.leaked > 0) {
    return {fmt::format("denied although up to {} were free", units_text(spent.leaked)),
            Tone::kBad};
  }
  if (spent.refused_while_held.value_or(0) > 0) {
    return {"refused to settle what was held", Tone::kBad};
  }
  if (spent.refused.value_or(0) > 0) {
    return {"within the limit, but some settles came too late to count", Tone::kWarning};
  }
  return {"within the limit, no unit lost", Tone::kGood};
}

std::vector<Remark> remarks_on_budget(const Report& report, const Run& run) {
  const auto& spent = *run.spent;
  const auto limit = report.plan.limits.front().limit;
  const auto name = report.runs.size() > 1 ? escaped_message(run.name) + ": " : std::string();
  std::vector<Remark> remarks;
  const auto add = [&](std::string_view label, const std::string& text) {
    remarks.push_back({label, name + text});
  };
  if (spent.exceeded > 0) {
    add("exceeded",
        fmt::format("{} allowed although more than the limit was then spent or held{}: at most {} "
                    "spent and {} held, {} more than the limit",
                    spent.exceeded == 1 ? "1 reservation was"
                                        : grouped(spent.exceeded) + " reservations were",
                    traffic_keys(report) > 1 ? " by key " + quoted_and_masked(run.spent_key) : "",
                    spent.most.spent, spent.most.held, spent.most.both() - limit));
  }
  if (spent.overspent > 0 && spent.exceeded == 0) {
    add("overspent", fmt::format("settles brought a key up to {} above the limit: they state what "
                                 "happened, which is not the limiter's fault",
                                 units_text(spent.overspent)));
  }
  if (spent.starved > 0) {
    add("starved", fmt::format("{} denied although there was room{}",
                               spent.starved == 1 ? "1 reservation was"
                                                  : grouped(spent.starved) + " reservations were",
                               spent.longest_starved.count() > 0
                                   ? ", for up to " + span_text(spent.longest_starved)
                                   : ""));
  }
  if (spent.leaked > 0) {
    add("leaked", units_text(spent.leaked) + " at once that nobody had and nobody got");
  }
  if (!spent.end) {
    add("end", "nobody asked for all units when everybody had gone: some may be lost");
  } else if (spent.end->keys < run.outcome.measured.keys) {
    add("end", fmt::format("of {} keys only {} were asked for all units when everybody had gone",
                           grouped(run.outcome.measured.keys), grouped(spent.end->keys)));
  }
  if (spent.end && spent.end->too_many > 0) {
    add("at the end", fmt::format("those who asked when everybody had gone got up to {} above the "
                                  "limit",
                                  units_text(spent.end->too_many)));
  }
  if (spent.end && spent.end->taken > 0) {
    add("at the end",
        fmt::format("{} {} still taken when all holds had ended", units_text(spent.end->taken),
                    spent.end->taken == 1 ? "was" : "were"));
  }
  if (spent.refused_while_held.value_or(0) > 0) {
    add("refused", fmt::format("{} of a reservation whose hold had not ended",
                               counted(*spent.refused_while_held, "settle")));
  }
  if (spent.refused.value_or(0) > spent.refused_while_held.value_or(0)) {
    add("refused",
        fmt::format("{} after the hold had ended, so that the units were not spent{}",
                    counted(*spent.refused - *spent.refused_while_held, "settle"),
                    run.is_bundled ? ": a reservation is remembered for as long again" : ""));
  }
  const auto places = static_cast<std::int64_t>(limiter::kMostReservations);
  if (run.is_bundled && spent.starved > 0 && limit / report.plan.budget.spend.units >= places) {
    add("why", fmt::format("{} holds at most {} reservations of a key", run.name, places));
  }
  if (run.hint) add("hint", *run.hint);
  return remarks;
}

void append_reservation_json(std::string& out, std::string_view run, std::int64_t number,
                             std::string_view key, const traffic::Arrival& arrival,
                             const limiter::Decision& decision) {
  const bool settles = arrival.event == traffic::Event::kSettle;
  JsonWriter json(out);
  json.begin_object().field("algorithm", run).field("at_us", arrival.at).bytes_field("key", key);
  json.field("event", traffic::event_name(arrival.event));
  json.field("reservation", traffic::reservation_name(arrival.holder));
  json.field("units", arrival.cost);
  json.field("actual", settles ? std::optional(arrival.actual) : std::nullopt);
  json.field("allowed", decision.allowed).field("request", number).end_object();
  out += '\n';
}

}  // namespace rlctl::cli::burst
