#include "cli/trial/json.h"

#include "base/shell.h"
#include "cli/trial/measures.h"

namespace rlctl::cli::trial {
namespace {

using namespace json_type;
using limiter::Limit;

constexpr JsonField<Confirmation> kConfirmationFields[] = {
    {"server", kTextOrNull, "The server that was asked; null if none was: \"Redis 7.0.15\".",
     [](const auto& of) { return known_text(of.server); }},
    {"requests", kCount, "How many requests it decided like rlctl.",
     [](const auto& of) { return of.requests; }},
    {"first_only", kBoolean, "Whether it was asked for the first requests of a long run only.",
     [](const auto& of) { return of.is_part; }},
    {"why_not", kTextOrNull, "Why a server did not decide all that it was asked; null if it did.",
     [](const auto& of) { return known_text(of.why_not); }},
};
constexpr JsonObject<Confirmation> kConfirmationJson(kConfirmationFields);

constexpr JsonField<Report> kCommandFields[] = {
    {"command", JsonType{R"-("type": "string", "pattern": "^rlctl .*(burst|adversary)")-"},
     "The command that repeats the run.",
     [](const auto& report) { return command_line(report.plan.command); }},
    {"interrupted", kBoolean, "Whether Ctrl-C ended the run.",
     [](const auto& report) { return report.interrupted; }},
    {"confirmation", kConfirmationJson,
     "Whether a server decided like the scripts that ran in rlctl itself; null if none ran there.",
     [](const auto& report) { return report.confirmation; }},
};

constexpr JsonField<Limit> kLimitFields[] = {
    {"limit", kLimit, "", [](const auto& limit) { return limit.limit; }},
    {"window_us", kWindow, "", [](const auto& limit) { return limit.window; }},
};

constexpr JsonField<Limit> kBurstFields[] = {
    {"burst", kBurstOrNull, "The value of --burst; null if it was not given.",
     [](const auto& limit) { return limit.burst; }},
};

constexpr JsonField<Limit> kLeasesFields[] = {
    {"concurrency", kNumberFromOne, "The leases that may be held at once.",
     [](const auto& limit) { return limit.limit; }},
    {"lease_us", kNumberFromOne,
     "The microseconds after which a lease lapses unless it is renewed.",
     [](const auto& limit) { return limit.window; }},
};

constexpr JsonField<Plan> kReservationsFields[] = {
    {"reserve", kNumberFromOne,
     "The units of each reservation; a search also reserves the whole limit.",
     [](const auto& plan) { return *plan.reserve; }},
    {"hold_us", JsonType{R"("type": "integer", "minimum": 1000)"},
     "The microseconds for which they are held.",
     [](const auto& plan) { return plan.budget.spend.hold; }},
};

constexpr JsonField<std::string_view> kLimiterFields[] = {
    {"algorithm", kText, "The name of the algorithm, the script or the program.",
     [](const auto& name) { return name; }},
};

constexpr JsonField<Run> kHintFields[] = {
    {"hint", kTextOrNull,
     "What the replies of a script suggest about --allowed-when; null if they look right. See "
     "rlctl-burst(1).",
     [](const auto& run) { return run.hint; }},
};

constexpr JsonField<WorstSpan> kWorstFields[] = {
    {"allowed", kCount, kWorstAllowedAbout, [](const auto& worst) { return worst.allowed; }},
    {"ratio", kRatio, kWorstRatioAbout, [](const auto& worst) { return worst.ratio; }},
    {"from_us", kTimeOrNull, kWorstFromAbout, [](const auto& worst) { return worst.from; }},
    {"span_us", kDurationOrNull, kWorstSpanAbout, [](const auto& worst) { return worst.span; }},
};

constexpr JsonField<std::chrono::microseconds> kTimeFields[] = {
    {"at_us", kTime, "The time of the request or event, in microseconds since 1970.",
     [](const auto& at) { return at; }},
};

constexpr JsonField<AnsweredRequest> kRequestFields[] = {
    {"cost", kInteger, "The units that the request takes; below 0, those that it gives back.",
     [](const auto& request) { return request.cost; }},
    {"allowed", kBoolean, "The answer.", [](const auto& request) { return request.allowed; }},
    {"remaining", kIntegerOrNull, "The units that remain; null if the reply does not contain it.",
     [](const auto& request) { return reported(request.remaining, limiter::kNotTold); }},
    {"retry_after_us", kIntegerOrNull,
     "Microseconds until the request would be allowed, -1 if never; null if the reply does not "
     "contain it.",
     [](const auto& request) { return reported(request.retry_after, limiter::kTimeNotTold); }},
};

constexpr JsonField<AnsweredEvent> kEventFields[] = {
    {"event", JsonType{R"("enum": ["acquire", "renew", "release", "reserve", "settle"])"},
     "What the holder asked for.", [](const auto& of) { return event_name(of.event); }},
    {"holder?", JsonType{R"("type": "string", "pattern": "^h[1-9][0-9]*$")"},
     "The name of the holder. Present only with leases.",
     [](const auto& of) {
       return is_of_reservation(of.event) ? std::nullopt
                                          : std::optional(traffic::holder_name(of.holder));
     }},
    {"reservation?", JsonType{R"("type": "string", "pattern": "^r[1-9][0-9]*$")"},
     "The ID of the reservation. Present only with reservations.",
     [](const auto& of) {
       return is_of_reservation(of.event) ? std::optional(traffic::reservation_name(of.holder))
                                          : std::nullopt;
     }},
    {"units?", kNumberFromOne,
     "The units that it reserves, or had reserved. Present only with reservations.",
     [](const auto& of) {
       return is_of_reservation(of.event) ? std::optional(of.units) : std::nullopt;
     }},
    {"actual?", kCount, "The actual cost. Present only with a settle.",
     [](const auto& of) {
       return of.event == traffic::Event::kSettle ? std::optional(of.actual) : std::nullopt;
     }},
    {"allowed", kBoolean, "The answer.", [](const auto& of) { return of.allowed; }},
};

}  // namespace

constinit const JsonObject<Report> kCommandJson(kCommandFields);
constinit const JsonObject<Limit> kLimitJson(kLimitFields), kBurstJson(kBurstFields),
    kLeasesJson(kLeasesFields);
constinit const JsonObject<Plan> kReservationsJson(kReservationsFields);
constinit const JsonObject<std::string_view> kLimiterJson(kLimiterFields);
constinit const JsonObject<Run> kHintJson(kHintFields);
constinit const JsonObject<WorstSpan> kWorstJson(kWorstFields);
constinit const JsonObject<std::chrono::microseconds> kTimeJson(kTimeFields);
constinit const JsonObject<AnsweredRequest> kRequestJson(kRequestFields);
constinit const JsonObject<AnsweredEvent> kEventJson(kEventFields);

}  // namespace rlctl::cli::trial
