#include "cli/trial/holder_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "limiter/budget_model.h"

namespace rlctl::cli::trial {
namespace {

using std::chrono::microseconds;

/// "1,200 slots"
std::string grouped_units(std::int64_t count, const HolderWords& words) {
  return fmt::format("{} {}{}", grouped(count), words.unit, plural(count));
}
std::string for_up_to(microseconds longest) {
  return longest.count() > 0 ? ", for up to " + span_text(longest) : "";
}
std::string_view was_or_were(std::int64_t count) {
  return count == 1 ? "was" : "were";
}

/// Judges a run of holders: each flaw is a remark, and the first that is worth a verdict is it.
class HolderJudge {
 public:
  HolderJudge(const Report& report, const Run& run)
      : report_(report),
        run_(run),
        found_(run.holders()->report),
        words_(holder_words(report.plan)),
        limit_(report.plan.limits.front().limit) {
    add_exceeded();
    if (run.outcome.measured.allowed == 0) judge({kAllowsNothing, Tone::kBad});
    if (found_.starved > 0) {
      add("starved", fmt::format("{} {} denied although there was room{}",
                                 counted(found_.starved, words_.request),
                                 was_or_were(found_.starved), for_up_to(found_.longest_starved)));
    }
    add_end();
    if (found_.leaked > 0) {
      judge({fmt::format("denied although up to {} {} free", grouped_units(found_.leaked, words_),
                         was_or_were(found_.leaked)),
             Tone::kBad});
      add("leaked", grouped_units(found_.leaked, words_) +
                        " at once that nobody had and nobody got" +
                        for_up_to(found_.longest_leaked));
    }
    add_refused();
    add_lapsed();
    const auto places = static_cast<std::int64_t>(limiter::kMostReservations);
    const bool is_budget = run_.is_bundled && report_.plan.reserve;
    if (is_budget && found_.starved > 0 && limit_ / report_.plan.budget.spend.units >= places) {
      add(kWhy, fmt::format("{} holds at most {} reservations of a key", run_.name, places));
    }
    if (run_.hint) judgement_.remarks.push_back({{"hint", *run_.hint}, true});
    judge({fmt::format("within the limit, no {} lost", words_.unit), Tone::kGood});
  }

  const Judgement& judgement() const { return judgement_; }

 private:
  void add(std::string_view label, const std::string& text) {
    judgement_.remarks.push_back({{std::string(label), text}});
  }
  void judge(const Text& verdict) {
    if (judgement_.verdict.words.empty()) judgement_.verdict = verdict;
  }
  std::string of_key(const std::string& key) const {
    return traffic_keys(report_) > 1 ? " of key " + quoted_and_masked(key) : std::string();
  }

  void add_exceeded() {
    const auto& most = found_.most;
    if (most.both() > limit_) {
      judge({exceeded_text(report_.plan, most.both()), Tone::kBad});
      const auto used = report_.plan.concurrency
                            ? fmt::format("{} held", most.held)
                            : fmt::format("{} spent and {} held", most.spent, most.held);
      add("exceeded", fmt::format("{} at once{}, {} more than the limit", used,
                                  of_key(run_.holders()->key), most.both() - limit_));
    } else if (found_.overspent > 0) {
      add("overspent",
          fmt::format("settles brought a key up to {} above the limit: they state what "
                      "happened, which is not the limiter's fault",
                      grouped_units(found_.overspent, words_)));
    }
  }

  void add_end() {
    const auto& end = found_.end;
    const auto asked = fmt::format("asked for all {}s when everybody had gone", words_.unit);
    if (!end) return add("end", fmt::format("nobody {}: some may be lost", asked));
    if (end->keys < run_.outcome.measured.keys) {
      add("end", fmt::format("of {} keys only {} were {}", grouped(run_.outcome.measured.keys),
                             grouped(end->keys), asked));
    }
    if (end->too_many > 0) {
      const auto units = grouped_units(end->too_many, words_);
      judge({fmt::format("allowed {} above the limit at the end", units), Tone::kBad});
      add("at the end", fmt::format("those who {} got up to {} above the limit", asked, units));
    }
    if (end->taken > 0) {
      const auto units = grouped_units(end->taken, words_);
      judge({"lost " + units, Tone::kBad});
      add("at the end", fmt::format("{} {} still taken {} after the last holder had gone", units,
                                    was_or_were(end->taken), span_text(end->after)));
    }
  }

  void add_refused() {
    const auto while_held = found_.refused_while_held.value_or(0);
    const auto late = found_.refused.value_or(0) - while_held;
    if (while_held > 0) {
      judge({fmt::format("refused to {} what was held", words_.end), Tone::kBad});
      add("refused", fmt::format("{} of a {} that had not ended", counted(while_held, words_.end),
                                 words_.hold));
    }
    if (found_.renewals_refused > 0) {
      judge({"refused to renew what was held", Tone::kBad});
      add("refused",
          counted(found_.renewals_refused, "renewal") + " of a lease that had not ended");
    }
    if (late > 0) {
      judge({"within the limit, but some settles came too late to count", Tone::kWarning});
      add("refused",
          fmt::format("{} after the hold had ended, so that the units were not spent{}",
                      counted(late, words_.end),
                      run_.is_bundled ? ": a reservation is remembered for as long again" : ""));
    }
  }

  void add_lapsed() {
    const auto& ever = found_.most_ever;
    if (ever.held > limit_) {
      judge({"within the limit but for leases that had ended, no slot lost", Tone::kWarning});
    }
    if (ever.lapsed == 0) return;
    add("lapsed", fmt::format("{} held at once{}, {} of them although {} lease had ended{}",
                              ever.held, of_key(run_.holders()->ever_key), ever.lapsed,
                              ever.lapsed == 1 ? "its" : "their",
                              report_.plan.leases.hold.renews ? "" : ": --renew keeps them"));
  }

  const Report& report_;
  const Run& run_;
  const simulation::HolderReport& found_;
  const HolderWords& words_;
  std::int64_t limit_;
  Judgement judgement_;
};

}  // namespace

const HolderWords& holder_words(const Plan& plan) {
  static constexpr HolderWords kOfLeases{"slot", "acquire", "release", "lease", "held at once"},
      kOfReservations{"unit", "reservation", "settle", "hold", "units spent and held"};
  return plan.concurrency ? kOfLeases : kOfReservations;
}

std::string exceeded_text(const Plan& plan, std::int64_t used) {
  return fmt::format("{} {}, {} more than the limit", used, holder_words(plan).used,
                     used - plan.limits.front().limit);
}

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

Judgement judge_holders(const Report& report, const Run& run) {
  return HolderJudge(report, run).judgement();
}

}  // namespace rlctl::cli::trial
