#include "adversary/holdings.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "adversary/holding_rules.h"
#include "base/error.h"

namespace rlctl::adversary {
namespace {

void require_enough_tries(const HoldingSearch& search) {
  constexpr std::int64_t kMinProbes = 50;
  if (search.tries / kMinProbes >= search.limit.limit) return;
  throw UsageError(fmt::format(
      "--tries: {} events are too few for {} leases: give at least {}, or search with fewer "
      "leases, which show the same flaws",
      search.tries, search.limit.limit, kMinProbes * search.limit.limit));
}

/// Whether what is lost is still taken a year later.
bool is_for_ever(SearchEngine& engine, Trial& trial, const HoldingRules& rules,
                 const HoldingSearch& search, const HoldingFinding& leak) try {
  auto schedule = leak.schedule;
  const auto last = schedule.back().at;
  // Those who ask for what is lost.
  for (auto i = schedule.size(); i-- > 0;) {
    const auto event = schedule[i].event;
    if (event != traffic::Event::kRequest && event != traffic::Event::kReserve) break;
    if (schedule[i].at != last) break;
    schedule[i].at += kYear;
    if (event != traffic::Event::kReserve) continue;
    // Reserves before the last one may be what takes the units. By then, all should be free.
    schedule[i].cost = search.limit.limit;
    break;
  }
  const auto answers = engine.run(trial, {&schedule, 1});
  return !answers.front().empty() && rules.score_of(schedule, answers.front()).leaked > 0;
} catch (const Interrupted&) {
  return false;
}

/// A complete search, whose findings are not confirmed.
HoldingSearchResult search_once(Trial& trial, const HoldingSearch& search,
                                const Interrupt& interrupt, const OnProgress& on_progress) {
  const auto rules = search.has_leases ? make_lease_rules(search) : make_budget_rules(search);
  SearchEngine engine(search.tries, interrupt, on_progress);
  const auto typical = rules->typical_schedules();
  auto ttls = learned_ttls(trial, typical);
  std::erase_if(ttls, [](microseconds ttl) { return ttl >= kYear; });
  rules->set_ttls(std::move(ttls));
  const auto sent_to_learn = requests_of(typical);
  if (search.exhaustive) {
    engine.try_all(trial, *rules, *search.exhaustive);
  } else {
    traffic::Random random(search.seed);
    engine.try_some(trial, *rules, random, search.tries - sent_to_learn);
  }
  auto result = rules->result();
  for (auto* finding : {&result.overfilled, &result.leak}) {
    if (!*finding) continue;
    auto& [schedule, answers, score] = **finding;
    engine.shrink(trial, *rules, schedule, answers, [&](Schedule& simpler, Answers& to_it) {
      return rules->shows(finding == &result.leak, simpler, to_it);
    });
    score = rules->score_of(schedule, answers);
  }
  if (result.leak && !engine.is_interrupted()) {
    result.leaks_for_ever = is_for_ever(engine, trial, *rules, search, *result.leak);
  }
  result.grace = rules->grace();
  static_cast<SearchTotals&>(result) = engine.totals();
  result.requests_sent += sent_to_learn;
  return result;
}

}  // namespace

std::vector<const HoldingFinding*> HoldingSearchResult::findings() const {
  std::vector<const HoldingFinding*> findings;
  for (const auto* found : {&overfilled, &leak}) {
    if (*found) findings.push_back(&**found);
  }
  return findings;
}

microseconds latest_time(microseconds ends, std::optional<int> events) {
  constexpr int kEventsOfRandom = 50;
  // TTLs that are longer than a year are left out.
  return (events.value_or(kEventsOfRandom) + 4) * (ends + kTtlMargin) + 2 * kYear;
}

HoldingSearchResult search_holdings(Trial& trial, const HoldingSearch& search,
                                    const Interrupt& interrupt, const OnProgress& on_progress) {
  if (search.has_leases && !search.exhaustive) require_enough_tries(search);
  return confirmed(trial, search_once(trial, search, interrupt, on_progress));
}

}  // namespace rlctl::adversary
