#include "cli/trial/holder_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "limiter/budget_model.h"

namespace rlctl::cli::trial {
namespace {

using std::chrono::microseconds;

std::string times_text(std::int64_t count, std::string_view what, microseconds longest) {
  return fmt::format("{} {}{}", grouped(count), what,
                     longest.count() > 0 ? ", for up to " + span_text(longest) : "");
}

std::string units_text(std::int64_t units) {
  return fmt::format("{} unit{}", grouped(units), plural(units));
}

HoldersVerdict lease_verdict(const Report& report, const Run& run) {
  const auto& held = run.leases()->held;
  const auto limit = *report.plan.concurrency;
  if (held.most.held > limit) {
    return {fmt::format("{} held at once, {} more than the limit", held.most.held,
                        held.most.held - limit),
            Tone::kBad};
  }
  if (run.outcome.measured.allowed == 0) return {"allowed nothing", Tone::kBad};
  if (held.leaked > 0) {
    return {fmt::format("lost up to {}", counted(held.leaked, "slot")), Tone::kBad};
  }
  if (held.most_ever.held > limit) {
    return {"within the limit but for leases that had ended, no slot lost", Tone::kWarning};
  }
  return {"within the limit, no slot lost", Tone::kGood};
}

HoldersVerdict budget_verdict(const Report& report, const Run& run) {
  const auto& spent = run.budget()->spent;
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

std::vector<Remark> remarks_on_leases(const Report& report, const Run& run) {
  const auto& held = run.leases()->held;
  const auto limit = *report.plan.concurrency;
  const auto name = report.runs.size() > 1 ? escaped_message(run.name) + ": " : std::string();
  std::vector<Remark> remarks;
  const auto add = [&](std::string_view label, const std::string& text) {
    remarks.push_back({label, name + text});
  };
  const auto key_of = [&](const std::string& key) {
    return traffic_keys(report) > 1 ? " of key " + quoted_and_masked(key) : std::string();
  };
  if (held.most.held > limit) {
    add("held", fmt::format("{} at once{}, whose leases had not ended, {} more than the limit",
                            held.most.held, key_of(run.leases()->key), held.most.held - limit));
  }
  if (held.most_ever.lapsed > 0) {
    add("lapsed", fmt::format("{} held at once{}, {} of them although {} lease had ended{}",
                              held.most_ever.held, key_of(run.leases()->ever_key),
                              held.most_ever.lapsed, held.most_ever.lapsed == 1 ? "its" : "their",
                              report.plan.leases.hold.renews ? "" : ": --renew keeps them"));
  }
  if (held.starved > 0) {
    add("starved", times_text(held.starved,
                              fmt::format("acquire{} denied although a slot was free",
                                          held.starved == 1 ? " was" : "s were"),
                              held.longest_starved));
  }
  if (!held.end) {
    add("end", "nobody asked for all slots when everybody had gone: some may be lost");
  } else if (held.end->keys < run.outcome.measured.keys) {
    add("end", fmt::format("of {} keys only {} were asked for all slots when everybody had gone",
                           grouped(run.outcome.measured.keys), grouped(held.end->keys)));
  }
  if (held.leaked > 0) {
    add("leaked", times_text(held.leaked,
                             fmt::format("slot{} at once that nobody had and nobody got",
                                         plural(held.leaked)),
                             held.longest_leaked));
  }
  if (held.end && held.end->taken > 0) {
    add("at the end",
        fmt::format("{} {} still taken {} after the last holder had gone",
                    counted(held.end->taken, "slot"), held.end->taken == 1 ? "was" : "were",
                    span_text(held.end->after)));
  }
  if (held.releases_refused.value_or(0) > 0) {
    add("refused", times_text(*held.releases_refused,
                              fmt::format("release{} of a lease that had not ended",
                                          plural(*held.releases_refused)),
                              {}));
  }
  if (held.renewals_refused > 0) {
    add("refused", times_text(held.renewals_refused,
                              fmt::format("renewal{} of a lease that had not ended",
                                          plural(held.renewals_refused)),
                              {}));
  }
  if (run.hint) add("hint", *run.hint);
  return remarks;
}

std::vector<Remark> remarks_on_budget(const Report& report, const Run& run) {
  const auto& spent = run.budget()->spent;
  const auto limit = report.plan.limits.front().limit;
  const auto name = report.runs.size() > 1 ? escaped_message(run.name) + ": " : std::string();
  std::vector<Remark> remarks;
  const auto add = [&](std::string_view label, const std::string& text) {
    remarks.push_back({label, name + text});
  };
  if (spent.exceeded > 0) {
    add("exceeded",
        fmt::format(
            "{} allowed although more than the limit was then spent or held{}: at most {} "
            "spent and {} held, {} more than the limit",
            spent.exceeded == 1 ? "1 reservation was"
                                : grouped(spent.exceeded) + " reservations were",
            traffic_keys(report) > 1 ? " by key " + quoted_and_masked(run.budget()->key) : "",
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

}  // namespace

std::string leases_text(const Plan& plan) {
  return fmt::format("{} of {}", counted(*plan.concurrency, "lease"), span_text(plan.leases.lease));
}

std::string holds_text(const Plan& plan) {
  const auto& hold = plan.leases.hold;
  auto text = hold.is_in_cost ? std::string("held as long as the log says")
                              : fmt::format("held for {}{}", span_text(hold.hold),
                                            hold.is_exponential ? " on average" : "");
  if (hold.crash_share > 0) text += fmt::format(", {:.6g} % die", 100 * hold.crash_share);
  if (hold.renews) text += ", renewed";
  return text;
}

std::string reservations_text(const Plan& plan) {
  const auto& spend = plan.budget.spend;
  const auto least = spend.least_actual.value_or(spend.units);
  const auto most = spend.most_actual.value_or(least);
  if (plan.search())
    return fmt::format("{} or all reserved for {}", spend.units, span_text(spend.hold));
  auto text =
      fmt::format("{} reserved for {}, settled with {}{} after {}{}", spend.units,
                  span_text(spend.hold), least, most > least ? fmt::format(" to {}", most) : "",
                  span_text(spend.settle_after), spend.is_exponential ? " on average" : "");
  if (spend.crash_share > 0) text += fmt::format(", {:.6g} % die", 100 * spend.crash_share);
  return text;
}

HoldersVerdict holders_verdict(const Report& report, const Run& run) {
  return run.budget() != nullptr ? budget_verdict(report, run) : lease_verdict(report, run);
}

std::vector<Remark> remarks_on_holders(const Report& report, const Run& run) {
  return run.budget() != nullptr ? remarks_on_budget(report, run) : remarks_on_leases(report, run);
}

}  // namespace rlctl::cli::trial
