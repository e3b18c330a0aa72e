#include <optional>
#include <span>
#include <vector>

#include "cli/commands/adversary/holders.h"
#include "cli/commands/adversary/report.h"
#include "cli/trial/findings.h"
#include "cli/trial/json.h"

namespace rlctl::cli::adversary {
namespace {

using namespace json_type;
using limiter::Limit;
using rlctl::adversary::ClockAhead;
using rlctl::adversary::Finding;
using rlctl::adversary::HoldingFinding;
using rlctl::adversary::HoldingStep;
using trial::kIntegerOrNull;
using trial::kNameOf;
using trial::kNumberFromOneOrNull;
using trial::kRunOf;
using trial::kRunsAbout;
using trial::Plan;
using trial::Report;
using trial::RunOf;

constexpr JsonType kNumbers{R"("type": "array", "items": {"type": "integer", "minimum": 0})"},
    kCosts{R"("type": "array", "minItems": 1, "items": {"type": "integer"})"};

// --- Findings about requests ---------------------------------------------------------------------

struct FindingOf {
  const trial::SearchFindings& search;
  const Finding& finding;
};

/// A request of a schedule.
struct Step {
  const Finding& finding;
  std::size_t index;

  const auto& request() const { return finding.schedule[index]; }
  const auto& answer() const { return finding.answers[index]; }
};
constexpr JsonField<Step> kStepFields[] = {
    {trial::kTimeJson, [](const auto& step) { return step.request().at; }},
    {trial::kRequestJson,
     [](const auto& step) {
       const auto& answer = step.answer();
       return trial::AnsweredRequest{step.request().cost, answer.allowed, answer.remaining,
                                     answer.retry_after};
     }},
    {"delay_us", kDuration, "Microseconds by which the request is delayed.",
     [](const auto& step) { return step.answer().delay; }},
};
constexpr JsonObject<Step> kStep(kStepFields);

constexpr JsonField<FindingOf> kFindingFields[] = {
    {"worst", trial::kWorstJson, "The most units that were allowed within any span of one window.",
     [](const auto& of) {
       const auto& score = of.finding.score;
       trial::WorstSpan worst{.allowed = score.worst, .ratio = of.search.ratio_of(of.finding)};
       if (score.worst > 0) {
         worst.from = score.worst_from;
         worst.span = score.worst_span;
       }
       return worst;
     }},
    {"wrongly_denied", kNumbers, "The numbers of the requests that were denied wrongly, from 0.",
     [](const auto& of) { return std::span(of.finding.score.wrongly_denied); }},
    {"denied_at_edge", kCount,
     "How many of these an exact log would deny too if units left it one tick of the clock later: "
     "they were denied exactly one window after others.",
     [](const auto& of) { return of.finding.score.denied_at_edge; }},
    {"schedule", array_of(kStep), "The requests in the order of sending.",
     [](const auto& of, const auto& write) {
       for (std::size_t i = 0; i < of.finding.schedule.size(); ++i) write({of.finding, i});
     }},
};
constexpr JsonObject<FindingOf> kFinding("finding", "A schedule and its answers", kFindingFields);

template <std::optional<Finding> rlctl::adversary::SearchResult::*member>
constexpr auto kFound = [](const RunOf& of) {
  const auto& search = *of.run.search();
  const auto& found = search.result.*member;
  return found ? std::optional(FindingOf{search, *found}) : std::nullopt;
};

// --- Runs of searches ----------------------------------------------------------------------------

struct Tried {
  const std::optional<std::int64_t>& tried;
  std::int64_t undecided;
};
constexpr JsonField<Tried> kTriedFields[] = {
    {"tried", kCountOrNull, "The number of schedules that --exhaustive tried, or null.",
     [](const auto& of) { return of.tried; }},
    {"undecided", kCount,
     "The number of schedules that were left out, since their answers change if a key lives 20 ms "
     "longer or shorter.",
     [](const auto& of) { return of.undecided; }},
};
constexpr JsonObject<Tried> kTried(kTriedFields);

constexpr JsonField<std::int64_t> kAskedFields[] = {
    {"asked", kCount,
     "The number of requests or events, including those for shrinking. With --exhaustive, a "
     "program, "
     "or a script on a server, is sent a whole schedule to ask about its last one.",
     [](const auto& sent) { return sent; }},
};
constexpr JsonObject<std::int64_t> kAsked(kAskedFields);

constexpr JsonField<ClockAhead> kClockAheadFields[] = {
    {"ahead_us", kDuration, "By how much its clock is ahead, in microseconds.",
     [](const auto& of) { return of.ahead; }},
    {"requests", kCount, "The requests after it.",
     [](const auto& of) { return of.answers.size() - 1; }},
    {"allowed", kCount, "How many of them are allowed.", [](const auto& of) { return of.allowed; }},
    {"allowed_without", kCount, "How many of them are allowed without it.",
     [](const auto& of) { return of.usual; }},
};
constexpr JsonObject<ClockAhead> kClockAhead(kClockAheadFields);

constexpr JsonField<RunOf> kRunFields[] = {
    {trial::kLimiterJson, kNameOf},
    {kAsked, [](const auto& of) { return of.run.search()->result.requests_sent; }},
    {"tick_us", kNumberFromOne,
     "The unit of the script's clock in microseconds, in which most and most_stepping_back are "
     "measured; 1 if it is not known, or longer than a hundredth of the window.",
     [](const auto& of) { return of.run.search()->tick(); }},
    {"unbounded", kBoolean,
     "Whether one window allowed as many requests as a schedule may have, so that no bound was "
     "found.",
     [](const auto& of) { return of.run.search()->result.is_unbounded; }},
    {kTried,
     [](const auto& of) {
       const auto& result = of.run.search()->result;
       return Tried{result.tried, result.undecided};
     }},
    {"ttls_left_out", kCount, "The number of TTLs of the limiter's keys that were not waited for.",
     [](const auto& of) { return of.run.search()->result.ttls_left_out; }},
    {"clock_ahead", kClockAhead,
     "A request whose clock is ahead, and what it does to those after it; null if nobody is "
     "locked out, or it was not tried.",
     [](const auto& of) { return of.run.search()->clock_ahead; }},
    {"most", kFinding, "The schedule that allows the most.",
     [](const auto& of) {
       return FindingOf{*of.run.search(), of.run.search()->result.most};
     }},
    {"most_stepping_back", kFinding,
     "The same with a clock that steps back; null if nothing was found.",
     kFound<&rlctl::adversary::SearchResult::most_stepping_back>},
    {"by_rounding", kFinding,
     "A schedule that allows more only since the script's clock rounds the time, measured in "
     "microseconds; null if nothing was found.",
     kFound<&rlctl::adversary::SearchResult::by_rounding>},
    {"wrongly_denied", kFinding,
     "The schedule with a wrong denial, by a clock that steps back only if no other shows one as "
     "serious; null if nothing was found.",
     kFound<&rlctl::adversary::SearchResult::wrongly_denied>},
    {trial::kHintJson, kRunOf},
};
constexpr JsonObject<RunOf> kRun(kRunFields);

// --- Findings about leases and reservations ------------------------------------------------------

struct HoldingFindingOf {
  const HoldingFinding& finding;
  std::vector<HoldingStep> steps;
};

/// An event of a schedule.
struct HolderStep {
  const HoldingFinding& finding;
  const HoldingStep& after;
  std::size_t index;

  const auto& request() const { return finding.schedule[index]; }
};

constexpr JsonField<HolderStep> kHolderStepFields[] = {
    {trial::kTimeJson, [](const auto& step) { return step.request().at; }},
    {trial::kEventJson,
     [](const auto& step) {
       const auto& request = step.request();
       return trial::AnsweredEvent{request.event, request.holder, request.cost, request.actual,
                                   step.finding.answers[step.index].allowed};
     }},
    {"spent?", kCount,
     "The units that are spent in the window after the event. Present only with reservations.",
     [](const auto& step) {
       return traffic::is_of_reservation(step.request().event) ? std::optional(step.after.spent)
                                                               : std::nullopt;
     }},
    {"held", kCount, "The leases or units that are held after the event.",
     [](const auto& step) { return step.after.held; }},
};
constexpr JsonObject<HolderStep> kHolderStep(kHolderStepFields);

constexpr JsonField<HoldingFindingOf> kHolderFindingFields[] = {
    {"held", kCount,
     "The most leases that were held at once in this schedule; of reservations, the most units "
     "spent or held when one was allowed.",
     [](const auto& of) { return of.finding.score.held; }},
    {"leaked", kCount,
     "The most slots or units that were lost in it: at least this many are missing.",
     [](const auto& of) { return of.finding.score.leaked; }},
    {"schedule", array_of(kHolderStep, 1), "The events in the order of sending.",
     [](const auto& of, const auto& write) {
       for (std::size_t i = 0; i < of.steps.size(); ++i) write({of.finding, of.steps[i], i});
     }},
};
constexpr JsonObject<HoldingFindingOf> kHolderFinding("holder_finding",
                                                      "A schedule of leases or reservations",
                                                      kHolderFindingFields);

// --- Runs of searches for leases and reservations ------------------------------------------------

template <std::optional<HoldingFinding> rlctl::adversary::HoldingSearchResult::*member>
constexpr auto kHoldingFound = [](const RunOf& of) {
  const auto& found = of.run.holder_search()->result.*member;
  return found ? std::optional(HoldingFindingOf{
                     *found, holder_steps_of(*found, of.report.plan, of.run.is_bundled)})
               : std::nullopt;
};

constexpr JsonField<RunOf> kHolderRunFields[] = {
    {trial::kLimiterJson, kNameOf},
    {kAsked, [](const auto& of) { return of.run.holder_search()->result.requests_sent; }},
    {"tick_us", kNumberFromOne,
     "The unit of the limiter's clock in microseconds: the times of events are multiples of it.",
     [](const auto& of) { return of.run.holder_search()->tick; }},
    {kTried,
     [](const auto& of) {
       const auto& result = of.run.holder_search()->result;
       return Tried{result.tried, result.undecided};
     }},
    {"held", kCount,
     "The most leases that were held at once in any schedule; of reservations, the most units "
     "spent or held when one was allowed.",
     [](const auto& of) { return of.run.holder_search()->result.held; }},
    {"leaked", kCount,
     "The most slots or units that were lost in any schedule: at least this many are missing.",
     [](const auto& of) { return of.run.holder_search()->result.leaked; }},
    {"leaks_for_ever", kBoolean, "Whether the lost units are still missing a year later.",
     [](const auto& of) { return of.run.holder_search()->result.leaks_for_ever; }},
    {"overfilled", kHolderFinding,
     "The shortest schedule in which more than the limit is held, or spent; null if none was "
     "found.",
     kHoldingFound<&rlctl::adversary::HoldingSearchResult::overfilled>},
    {"leak", kHolderFinding,
     "The shortest schedule in which slots or units are lost; null if none was found.",
     kHoldingFound<&rlctl::adversary::HoldingSearchResult::leak>},
    {trial::kHintJson, kRunOf},
};
constexpr JsonObject<RunOf> kHolderRun(kHolderRunFields);

// --- Reports -------------------------------------------------------------------------------------

constexpr auto kLimitOf = [](const Report& report) -> const Limit& {
  return report.plan.limits.front();
};
constexpr auto kPlanOf = [](const Report& report) -> const Plan& { return report.plan; };
constexpr auto kRunsOf = [](const Report& report, const auto& write) {
  for (const auto& run : report.runs) write({report, run});
};

/// The first fields of a report.
constexpr JsonField<Report> kHeadFields[] = {
    {"pattern", JsonConstant{"adversary"}, "The pattern of the traffic."},
    {"seed", kIntegerOrNull, "The seed of the random numbers; null with --exhaustive.",
     [](const auto& report) {
       const auto& plan = report.plan;
       return plan.search()->exhaustive ? std::nullopt : std::optional(plan.request.seed);
     }},
    {"clock", JsonConstant{"virtual"}, "The clock."},
};
constexpr JsonObject<Report> kHead(kHeadFields);

/// How much was searched.
constexpr JsonField<Report> kExtentFields[] = {
    {"tries", kNumberFromOneOrNull, "The value of --tries; null with --exhaustive.",
     [](const auto& report) {
       const auto& search = *report.plan.search();
       return search.exhaustive ? std::nullopt : std::optional(search.tries);
     }},
    {"exhaustive", kNumberFromOneOrNull,
     "The number of requests or events of --exhaustive, or null.",
     [](const auto& report) { return report.plan.search()->exhaustive; }},
    {"base_us", kTime, "The time from which the report counts times, in microseconds since 1970.",
     [](const auto& report) { return search_base(report.plan); }},
    trial::kCommandJson,
};
constexpr JsonObject<Report> kExtent(kExtentFields);

constexpr JsonField<Report> kSearchFields[] = {
    kHead,
    {trial::kLimitJson, kLimitOf},
    {trial::kBurstJson, kLimitOf},
    {"cost", kInteger, "The first of the costs.",
     [](const auto& report) { return report.plan.request.cost; }},
    {"costs", kCosts, "All costs that the search uses, refunds below 0.",
     [](const auto& report) { return std::span(report.plan.costs); }},
    kExtent,
    {"runs", array_of(kRun), kRunsAbout, kRunsOf},
};
constexpr JsonObject<Report> kSearch("search", "The report of a search", kSearchFields);

constexpr JsonField<Report> kLeaseSearchFields[] = {
    kHead,
    {trial::kLeasesJson, kLimitOf},
    kExtent,
    {"runs", array_of(kHolderRun), kRunsAbout, kRunsOf},
};
constexpr JsonObject<Report> kLeaseSearch("lease_search", "The report of a search for leases",
                                          kLeaseSearchFields);

constexpr JsonField<Report> kBudgetSearchFields[] = {
    kHead,
    {trial::kLimitJson, kLimitOf},
    {trial::kReservationsJson, kPlanOf},
    kExtent,
    {"runs", array_of(kHolderRun), kRunsAbout, kRunsOf},
};
constexpr JsonObject<Report> kBudgetSearch("budget_search",
                                           "The report of a search for reservations",
                                           kBudgetSearchFields);

constexpr const JsonObjectInfo* kObjects[] = {&kSearch, &kLeaseSearch, &kBudgetSearch};

}  // namespace

constinit const JsonOutput kJson{"One object for the whole report.", kObjects};

void write_json(JsonWriter& json, const Report& report, bool /*with_events*/) {
  const auto& plan = report.plan;
  const auto& object = plan.concurrency ? kLeaseSearch : plan.reserve ? kBudgetSearch : kSearch;
  object.write(json, report);
}

}  // namespace rlctl::cli::adversary
