#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/burst/report.h"
#include "cli/trial/json.h"
#include "cli/trial/measures.h"

namespace rlctl::cli::burst {
namespace {

using namespace json_type;
using limiter::Limit;
using simulation::KeyWorst;
using std::chrono::microseconds;
using trial::Difference;
using trial::kIntegerOrNull;
using trial::kNameOf;
using trial::kNumberFromOneOrNull;
using trial::kRunOf;
using trial::kRunsAbout;
using trial::Plan;
using trial::Report;
using trial::Run;
using trial::RunOf;

// --- Values --------------------------------------------------------------------------------------

constexpr JsonType kLimitTextOrNull{
    R"("type": ["string", "null"], "pattern": "^[0-9]+M?/[0-9a-z]+([+][0-9]+)?(@.+)?$")"};
/// A share, from 0 to 1.
constexpr JsonType kShare{R"("type": "number", "minimum": 0, "maximum": 1)"};

constexpr auto kItself = [](const auto& of) -> const auto& {
  return of;
};

// --- Requests ------------------------------------------------------------------------------------

/// The limit to which units are compared.
constexpr JsonField<Limit> kComparedLimitFields[] = {
    trial::kLimitJson,
    {"calendar?", kCalendar, "",
     [](const auto& limit) { return limiter::text_of(limit.calendar); }},
};
constexpr JsonObject<Limit> kComparedLimit(kComparedLimitFields);

constexpr JsonField<RunOf> kWorstFields[] = {
    {trial::kWorstGroup.json, kRunOf},
    {"key", kBytesOrNull, "The key of these units; null if nothing was allowed.",
     [](const auto& of) {
       const bool is_any = of.run.outcome.measured.worst.allowed > 0;
       return is_any ? std::optional(JsonBytes{of.run.worst_key()}) : std::nullopt;
     }},
    {kComparedLimit,
     [](const RunOf& of) -> const Limit& {
       return of.report.plan.limits[of.run.outcome.measured.worst.limit];
     }},
};
constexpr JsonObject<RunOf> kWorst(kWorstFields);

struct WorstOfKey {
  std::string_view key;
  const KeyWorst& found;
  const Limit& limit;
};
constexpr JsonField<WorstOfKey> kWorstOfKeyFields[] = {
    {"key", kBytes, "", [](const auto& of) { return JsonBytes{of.key}; }},
    {trial::kWorstJson,
     [](const auto& of) {
       const auto& worst = of.found.worst;
       return trial::WorstSpan{worst.allowed, worst.ratio, worst.from, worst.span};
     }},
    {kComparedLimit, [](const WorstOfKey& of) -> const Limit& { return of.limit; }},
    {"denied", kCount, "The number of its requests that were denied.",
     [](const auto& of) { return of.found.denied; }},
};
constexpr JsonObject<WorstOfKey> kWorstOfKey(kWorstOfKeyFields);

using DeniedKey = std::pair<std::string, std::int64_t>;
constexpr JsonField<DeniedKey> kDeniedKeyFields[] = {
    {"key", kBytes, "", [](const auto& of) { return JsonBytes{of.first}; }},
    {"denied", kNumberFromOne, "The number of its requests that were denied.",
     [](const auto& of) { return of.second; }},
};
constexpr JsonObject<DeniedKey> kDeniedKey("denied_key", "A denied key", kDeniedKeyFields);

struct LimitTriedOf {
  const simulation::LimitTried& tried;
  bool of_keys;
};
constexpr JsonField<LimitTriedOf> kTriedFields[] = {
    {"limit", json_type::kLimit, "", [](const auto& of) { return of.tried.limit; }},
    {"denied", kCount, "The number of requests that it denies.",
     [](const auto& of) { return of.tried.denied; }},
    {"share", kShare, "The share of the requests or keys that it denies, from 0 to 1.",
     [](const auto& of) { return of.tried.share(of.of_keys); }},
    {"keys_denied", kCount, "The number of keys of which it denies a request.",
     [](const auto& of) { return of.tried.keys_denied; }},
};
constexpr JsonObject<LimitTriedOf> kTried(kTriedFields);

struct SuggestionOf {
  const simulation::DeniedShare& share;
  const simulation::Suggestion& found;
  microseconds window;
};
constexpr JsonField<SuggestionOf> kSuggestionFields[] = {
    {"most", kShare, "The share that may be denied, from 0 to 1.",
     [](const auto& of) { return of.share.most; }},
    {"of", JsonType{R"("enum": ["requests", "keys"])"}, "What the share is of.",
     [](const auto& of) { return of.share.of_keys ? "keys" : "requests"; }},
    {"limit", kLimitOrNull, "The limit; null if none denies so few.",
     [](const auto& of) {
       const auto& [tried, chosen] = of.found;
       return chosen ? std::optional(tried[*chosen].limit) : std::nullopt;
     }},
    {"window_us", kWindow, "", [](const auto& of) { return of.window; }},
    {"tried", array_of(kTried), "The limits that were tried.",
     [](const auto& of, const auto& write) {
       for (const auto& tried : of.found.tried) write({tried, of.share.of_keys});
     }},
};
constexpr JsonObject<SuggestionOf> kSuggestion(kSuggestionFields);

/// None if a script does not tell.
std::optional<std::vector<std::int64_t>> denied_by_limit(const simulation::Measured& measured) {
  const auto& denied = measured.denied_by_limit;
  if (std::reduce(denied.begin(), denied.end()) != measured.denied) return std::nullopt;
  return denied;
}

constexpr JsonField<RunOf> kTopDenied{"top_denied", array_of(kDeniedKey),
                                      "The keys that were denied most, ten at most.",
                                      [](const auto& of) { return std::span(of.run.top_denied); }};

/// The first fields of a run.
constexpr JsonField<RunOf> kRunHeadFields[] = {
    {trial::kLimiterJson, kNameOf},
    {trial::kCountGroup.json, kRunOf},
};
constexpr JsonObject<RunOf> kRunHead(kRunHeadFields);

constexpr JsonField<RunOf> kRunFields[] = {
    kRunHead,
    {"worst", kWorst, "The most units that were allowed within any span of one window.", kItself},
    {"worst_keys", array_of(kWorstOfKey),
     "The worst windows of the keys to which anything was allowed, the worst first, of 100 keys at "
     "most; keys says how many keys there are.",
     [](const auto& of, const auto& write) {
       const auto& names = of.run.requests()->worst_keys;
       for (std::size_t i = 0; i < names.size(); ++i) {
         const auto& found = of.run.outcome.measured.worst_keys[i];
         write({names[i], found, of.report.plan.limits[found.worst.limit]});
       }
     }},
    {"denied_by_limit",
     JsonType{R"("type": ["array", "null"], "items": {"type": "integer", "minimum": 0})"},
     "How many requests each limit denied, in the order of limits; one that several limits deny "
     "counts for the one to wait for longest. Null if a script or program, which does not tell, "
     "denied any.",
     [](const auto& of) { return denied_by_limit(of.run.outcome.measured); }},
    {trial::kMemoryGroup.json, kRunOf},
    {trial::kPaceGroup.json, kRunOf},
    {trial::kDenialGroup.json, kRunOf},
    {trial::kDelayGroup.json, kRunOf},
    {"retry_after", trial::kRetryGroup.json, "How right the replies' retry_after was.", kRunOf},
    {"remaining", trial::kRemainingGroup.json,
     "How right the replies' remaining was; null if none has it.",
     [](const auto& of) {
       return of.run.outcome.measured.remaining_error.compared > 0 ? &of.run : nullptr;
     }},
    {"reset_after", trial::kResetGroup.json,
     "How right the replies' reset_after was; null if none has it.",
     [](const auto& of) {
       return of.run.outcome.measured.reset_error.compared > 0 ? &of.run : nullptr;
     }},
    kTopDenied,
    {"worst_minute", trial::kMinuteGroup.json,
     "The minute of the clock in which the most requests were denied; null if none was.",
     [](const auto& of) { return of.run.outcome.measured.worst_minute ? &of.run : nullptr; }},
    {"suggestion", kSuggestion, "The lowest limit that denies so few; null without --suggest.",
     [](const auto& of) {
       const auto& plan = of.report.plan;
       const auto& found = of.run.requests()->suggestion;
       return found ? std::optional(SuggestionOf{*plan.traffic()->suggest, *found,
                                                 plan.limits.front().window})
                    : std::nullopt;
     }},
    {trial::kHintJson, kRunOf},
    {"why", kTextOrNull,
     "Why a bundled algorithm let more than the limit through, or kept it; null if not given.",
     [](const auto& of) { return of.run.why; }},
};
constexpr JsonObject<RunOf> kRun("run", "What one limiter did", kRunFields);

// --- Leases and reservations ---------------------------------------------------------------------

constexpr JsonField<Run> kHoldingFields[] = {
    trial::kLeaseGroup.json,
    trial::kHolderGroup.json,
    {"key", kBytes, "The key of which the most held.",
     [](const auto& run) { return JsonBytes{run.holders()->key}; }},
};
constexpr JsonObject<Run> kHolding(kHoldingFields);

constexpr JsonField<Run> kSpendingFields[] = {
    trial::kBudgetGroup.json,
    trial::kHolderGroup.json,
    {"key", kBytes, "The key of which the most were used.",
     [](const auto& run) { return JsonBytes{run.holders()->key}; }},
};
constexpr JsonObject<Run> kSpending(kSpendingFields);

/// The last fields of a run of holders.
constexpr JsonField<RunOf> kDenialsFields[] = {
    {trial::kDenialGroup.json, kRunOf},
    kTopDenied,
    {trial::kHintJson, kRunOf},
};
constexpr JsonObject<RunOf> kDenials(kDenialsFields);

constexpr JsonField<RunOf> kLeaseRunFields[] = {
    kRunHead,
    {"holding", kHolding, "What became of the leases.", kRunOf},
    kDenials,
};
constexpr JsonObject<RunOf> kLeaseRun("lease_run", "How a limiter gave leases", kLeaseRunFields);

constexpr JsonField<RunOf> kBudgetRunFields[] = {
    kRunHead,
    {"spending", kSpending, "What became of the units.", kRunOf},
    kDenials,
};
constexpr JsonObject<RunOf> kBudgetRun("budget_run", "How a limiter kept a budget",
                                       kBudgetRunFields);

// --- Logs ----------------------------------------------------------------------------------------

constexpr JsonField<replay::RecordedFile> kFileFields[] = {
    {"name", kString, "The file as typed.", [](const auto& file) { return file.name; }},
    {"format", kTextOrNull,
     "The format of the file: its name, or the value of --format; null if it is not known.",
     [](const auto& file) { return known_text(file.format); }},
    {"prefix", kTextOrNull,
     "The name of what was stripped from the beginning of each line; null if nothing was.",
     [](const auto& file) { return known_text(file.prefix); }},
    {"lines", kCount, "The number of lines.", [](const auto& file) { return file.counts.lines; }},
    {"requests", kCount, "The number of requests.",
     [](const auto& file) { return file.counts.requests; }},
    {"bad", kCount, "The number of lines that cannot be read.",
     [](const auto& file) { return file.counts.bad; }},
    {"blank", kCount, "The number of blank lines.",
     [](const auto& file) { return file.counts.blank; }},
    {"other", kCount, "The number of comments and headers.",
     [](const auto& file) { return file.counts.other; }},
};
constexpr JsonObject<replay::RecordedFile> kFile(kFileFields);

constexpr JsonField<replay::BadLine> kBadLineFields[] = {
    {"file", kString, "The file as typed.", [](const auto& bad) { return bad.file; }},
    {"line", kNumberFromOne, "The number of the line.", [](const auto& bad) { return bad.line; }},
    {"why", kText, "Why it cannot be read.", [](const auto& bad) { return bad.why; }},
};
constexpr JsonObject<replay::BadLine> kBadLine(kBadLineFields);

constexpr JsonField<replay::Recording> kLogFields[] = {
    {"files", array_of(kFile, 1), "The files, in the order of the command line.",
     [](const auto& log) { return std::span(log.files()); }},
    {"first_us", kTime, "The time of the first request, in microseconds since 1970.",
     [](const auto& log) { return log.first(); }},
    {"last_us", kTime, "The time of the last request, in microseconds since 1970.",
     [](const auto& log) { return log.last(); }},
    {"out_of_order", kCount,
     "The number of requests that their file has behind later ones. They are sent in the order of "
     "time.",
     [](const auto& log) { return log.out_of_order(); }},
    {"out_of_order_by_us", kDuration,
     "The most by which one of them is earlier than one before it; 0 if there is none.",
     [](const auto& log) { return log.out_of_order_by(); }},
    {"first_bad", kBadLine, "The first line that cannot be read, or null.",
     [](const auto& log) { return log.first_bad(); }},
};
constexpr JsonObject<replay::Recording> kLog("replay", "A log", kLogFields);

constexpr JsonField<replay::LogFormat> kFormatFields[] = {
    {"name", kString, "The name; that of variants is the same.",
     [](const auto& format) { return format.name; }},
    {"format", kString, "The format in the language of nginx's log_format.",
     [](const auto& format) { return format.format; }},
    {"is_prefix", kBoolean, "Whether it comes before each line of another format.",
     [](const auto& format) { return format.is_prefix(); }},
    {"example", kString, "A line, perhaps after a header.",
     [](const auto& format) { return format.example; }},
};
constexpr JsonObject<replay::LogFormat> kFormat(kFormatFields);

using LogFormats = std::span<const replay::LogFormat>;
constexpr JsonField<LogFormats> kFormatsFields[] = {
    {"formats", array_of(kFormat, 1), "The formats that have a name.", kItself},
};
constexpr JsonObject<LogFormats> kFormats("formats", "The formats of logs", kFormatsFields);

// --- Reports -------------------------------------------------------------------------------------

struct DifferenceOf {
  const Plan& plan;
  const std::optional<Difference>& found;
};
constexpr JsonField<DifferenceOf> kDifferenceFields[] = {
    {"algorithm", kText, "The other limiter.",
     [](const auto& of) { return name_of(of.plan.candidates[1]); }},
    {"differs", kBoolean, "Whether this traffic shows a difference.",
     [](const auto& of) { return of.found.has_value(); }},
    {"request", kNumberFromOneOrNull, "The number of the request in the traffic, from 1, or null.",
     [](const auto& of) { return of.found ? std::optional(of.found->request) : std::nullopt; }},
    {"at_us", kTimeOrNull, "Its time, in microseconds since 1970, or null.",
     [](const auto& of) { return of.found ? std::optional(of.found->at) : std::nullopt; }},
    {"key", kBytesOrNull, "Its key, or null.",
     [](const auto& of) {
       return of.found ? std::optional(JsonBytes{of.found->key}) : std::nullopt;
     }},
    {"allowed", kBooleanOrNull, "Whether the first limiter allows it, or null.",
     [](const auto& of) { return of.found ? std::optional(of.found->allowed) : std::nullopt; }},
    {"other_allowed", kBooleanOrNull, "Whether the other limiter allows it, or null.",
     [](const auto& of) { return of.found ? std::optional(!of.found->allowed) : std::nullopt; }},
};
constexpr JsonObject<DifferenceOf> kDifference(kDifferenceFields);

constexpr JsonField<Limit> kLimitFields[] = {
    kComparedLimit,
    trial::kBurstJson,
    {"text", kText, "The limit in the words of the other fields, such as 5/60s.",
     [](const auto& limit) { return limiter::format_limit(limit); }},
};
constexpr JsonObject<Limit> kLimit("limit", "A limit", kLimitFields);

/// A report for standard output, or with its requests for a file.
struct Printed {
  const Report& report;
  bool with_events;
};

constexpr auto kReportOf = [](const Printed& of) -> const Report& { return of.report; };
constexpr auto kPlanOf = [](const Printed& of) -> const Plan& { return of.report.plan; };
constexpr auto kFirstLimitOf = [](const Printed& of) -> const Limit& {
  return of.report.plan.limits.front();
};
constexpr auto kRunsOf = [](const Printed& of, const auto& write) {
  for (const auto& run : of.report.runs) write({of.report, run});
};

constexpr JsonField<Printed> kPatternFields[] = {
    {"pattern", JsonType{R"-("type": "string", "pattern": "^(?!adversary$)[a-z][a-z-]*$")-"},
     "The pattern of the traffic; replay for a log.",
     [](const auto& of) { return traffic_name(of.report); }},
    {"seed", kIntegerOrNull, "The seed of the random numbers; null for a log.",
     [](const auto& of) { return seed_of(of.report); }},
};
constexpr JsonObject<Printed> kPattern(kPatternFields);
constexpr JsonField<Printed> kVirtualClock{"clock", JsonConstant{"virtual"}, "The clock."};

constexpr JsonField<Printed> kLimitsFields[] = {
    {trial::kLimitJson, kFirstLimitOf},
    {"limits", array_of(kLimit, 1), "All limits; limit and window_us are those of the first.",
     [](const auto& of) { return std::span(of.report.plan.limits); }},
};
constexpr JsonObject<Printed> kLimits(kLimitsFields);

constexpr JsonField<Printed> kCrash{
    "crash", kShare, "The share of the holders that die, from 0 to 1.",
    [](const auto& of) { return of.report.plan.leases.hold.crash_share; }};

/// Where the traffic came from, and what repeats it.
constexpr JsonField<Printed> kOriginFields[] = {
    {"replay", kLog, "The log; null for a pattern.",
     [](const auto& of) { return of.report.recording.get(); }},
    {trial::kCommandJson, kReportOf},
};
constexpr JsonObject<Printed> kOrigin(kOriginFields);

constexpr JsonField<Printed> kReportFields[] = {
    kPattern,
    {"clock", JsonType{R"("enum": ["virtual", "real"])"}, "The clock.",
     [](const auto& of) { return of.report.plan.is_real() ? "real" : "virtual"; }},
    kLimits,
    kOrigin,
    {"runs", array_of(kRun), kRunsAbout, kRunsOf},
    {"compare?", kDifference,
     "How the decisions of two limiters differ. Present only with --compare; all but algorithm and "
     "differs are null if both decide alike.",
     [](const auto& of) {
       const auto& report = of.report;
       return tells_difference(report) ? std::optional(DifferenceOf{report.plan, report.difference})
                                       : std::nullopt;
     }},
    {"events?", trial::kEventsJson,
     "The single requests and decisions, in columns. A column is an array of numbers, of which all "
     "but the first are the difference to the one before; one number stands for all if they are "
     "equal. Present only in the files of -o, of at most 100,000 requests.",
     [](const auto& of) { return of.with_events ? event_table(of.report) : std::nullopt; }},
};
constexpr JsonObject<Printed> kReport("report", "The report of traffic", kReportFields);

constexpr JsonField<Printed> kLeaseReportFields[] = {
    kPattern,
    kVirtualClock,
    {trial::kLeasesJson, kFirstLimitOf},
    {"hold_us", kNumberFromOneOrNull,
     "The microseconds for which a lease is held, or their mean; null if a log has them.",
     [](const auto& of) {
       const auto& hold = of.report.plan.leases.hold;
       return hold.is_in_cost ? std::nullopt : std::optional(hold.hold);
     }},
    {"hold_is_exponential", kBoolean, "Whether these times have an exponential distribution.",
     [](const auto& of) { return of.report.plan.leases.hold.is_exponential; }},
    kCrash,
    {"renew", kBoolean, "Whether leases are renewed.",
     [](const auto& of) { return of.report.plan.leases.hold.renews; }},
    kOrigin,
    {"runs", array_of(kLeaseRun), kRunsAbout, kRunsOf},
};
constexpr JsonObject<Printed> kLeaseReport("lease_report", "The report of leases",
                                           kLeaseReportFields);

constexpr JsonField<Printed> kBudgetReportFields[] = {
    kPattern,
    kVirtualClock,
    kLimits,
    {trial::kReservationsJson, kPlanOf},
    {"least_actual", kCount, "The least actual cost.",
     [](const auto& of) {
       const auto& spend = of.report.plan.budget.spend;
       return spend.least_actual.value_or(spend.units);
     }},
    {"most_actual", kCount, "The highest actual cost.",
     [](const auto& of) {
       const auto& spend = of.report.plan.budget.spend;
       return spend.most_actual.value_or(spend.least_actual.value_or(spend.units));
     }},
    {"settle_after_us", kNumberFromOne,
     "The microseconds from a reservation to its settle, or their mean.",
     [](const auto& of) { return of.report.plan.budget.spend.settle_after; }},
    {"settle_after_is_exponential", kBoolean,
     "Whether these times have an exponential distribution.",
     [](const auto& of) { return of.report.plan.budget.spend.is_exponential; }},
    kCrash,
    kOrigin,
    {"runs", array_of(kBudgetRun), kRunsAbout, kRunsOf},
};
constexpr JsonObject<Printed> kBudgetReport("budget_report", "The report of reservations",
                                            kBudgetReportFields);

// --- Lines about single requests -----------------------------------------------------------------

struct Line {
  const Plan& plan;
  std::string_view limiter;
  std::int64_t number;
  std::string_view key;
  const traffic::Arrival& arrival;
  const limiter::Decision& decision;
};

/// The first fields of a line.
constexpr JsonField<Line> kLineHeadFields[] = {
    {trial::kLimiterJson, [](const auto& of) { return of.limiter; }},
    {trial::kTimeJson, [](const auto& of) { return of.arrival.at; }},
    {"key", kBytes, "", [](const auto& of) { return JsonBytes{of.key}; }},
};
constexpr JsonObject<Line> kLineHead(kLineHeadFields);

constexpr JsonField<Line> kDecisionFields[] = {
    kLineHead,
    {trial::kRequestJson,
     [](const auto& of) {
       const auto& decision = of.decision;
       return trial::AnsweredRequest{of.arrival.cost, decision.allowed, decision.remaining,
                                     decision.retry_after};
     }},
    {"reset_after_us", kIntegerOrNull,
     "Microseconds until nothing is used; null if the reply does not contain it.",
     [](const auto& of) {
       return trial::reported(of.decision.reset_after, limiter::kTimeNotTold);
     }},
    {"delay_us", kDuration, "Microseconds to wait before going on.",
     [](const auto& of) { return of.decision.delay; }},
    {"request", kNumberFromOne, "The number of the request in the traffic, from 1.",
     [](const auto& of) { return of.number; }},
    {"denied_by", kLimitTextOrNull,
     "The limit that denied the request, of several the one to wait for longest, such as 5/60s; "
     "null if it was allowed, and for a script or program, which does not tell.",
     [](const auto& of) {
       const auto limit = static_cast<std::size_t>(of.decision.denied_by) - 1;
       const auto& limits = of.plan.limits;
       return limit < limits.size() ? std::optional(limiter::format_limit(limits[limit]))
                                    : std::nullopt;
     }},
};
constexpr JsonObject<Line> kDecision("decision", "A line of a .jsonl about a request",
                                     kDecisionFields);

constexpr auto kEventOf = [](const Line& of) {
  const auto& arrival = of.arrival;
  return trial::AnsweredEvent{arrival.event, arrival.holder, arrival.cost, arrival.actual,
                              of.decision.allowed};
};
constexpr JsonField<Line> kEventFields[] = {
    kLineHead,
    {trial::kEventJson, kEventOf},
    {"request", kNumberFromOne, "The number of the event in the run, from 1.",
     [](const auto& of) { return of.number; }},
};
constexpr JsonObject<Line> kEvent("event", "A line of a .jsonl about a lease or a reservation",
                                  kEventFields);

constexpr const JsonObjectInfo* kObjects[] = {&kReport,   &kLeaseReport, &kBudgetReport,
                                              &kDecision, &kEvent,       &kFormats};

}  // namespace

constinit const JsonOutput kJson{
    "One object for the whole report. A .jsonl has a line for each decision.", kObjects};

void write_json(JsonWriter& json, const Report& report, bool with_events) {
  const auto& plan = report.plan;
  const auto& object = plan.concurrency ? kLeaseReport : plan.reserve ? kBudgetReport : kReport;
  object.write(json, {report, with_events});
}

void append_decision_json(std::string& out, const Plan& plan, std::string_view run,
                          std::int64_t number, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision) {
  const auto& object = arrival.holder == 0 ? kDecision : kEvent;
  object.append_line(out, {plan, run, number, key, arrival, decision});
}

void append_formats_json(std::string& out) {
  kFormats.append_line(out, replay::log_formats());
}

}  // namespace rlctl::cli::burst
