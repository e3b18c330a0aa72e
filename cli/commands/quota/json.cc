#include "base/text.h"
#include "cli/commands/quota/report.h"
#include "cli/report/usage.h"

namespace rlctl::cli::quota {
namespace {

using namespace json_type;

constexpr JsonType kStatus{R"("enum": ["ok", "warning", "critical", "unknown"])"};

constexpr JsonField<LimitStatus> kLimitFields[] = {
    {report::kKeyJson,
     [](const auto& of) {
       report::KeyState key(of.inspection, of.policy);
       key.algorithm = of.algorithm;
       return key;
     }},
    {"status", kStatus, "The status of the limit.",
     [](const auto& of) { return lower_case(name_of(of.state)); }},
    {"exists", kBooleanOrNull, "Whether the key exists; null if it could not be read.",
     [](const auto& of) {
       return of.was_read ? std::optional(of.inspection.exists()) : std::nullopt;
     }},
    {"reason", kTextOrNull,
     "Why a budget denies every further reservation, whatever remains: it holds 500. Otherwise "
     "null.",
     [](const auto& of) {
       const bool is_closed = of.inspection.is_closed_by_reservations();
       return known_text(is_closed ? limiter::kAllReservationsHeld : "");
     }},
    {"error", kErrorJson,
     "Why the limit could not be evaluated; null unless the status is unknown.",
     [](const auto& of) { return of.problem; }},
};
constexpr JsonObject<LimitStatus> kLimit("limit", "A limit", kLimitFields);

/// A failure leaves no limits.
struct Judgement {
  std::span<const LimitStatus> limits;
  const std::optional<Problem>& failure;
};
constexpr JsonField<Judgement> kReportFields[] = {
    {"status", kStatus, "The worst status of the limits.",
     [](const auto& of) {
       return lower_case(name_of(of.failure ? PluginState::kUnknown : worst_of(of.limits).state));
     }},
    {"limits", array_of(kLimit), "The limits that were judged.",
     [](const auto& of) { return of.limits; }},
    {"error", kErrorJson, "Why nothing could be read, or null.",
     [](const auto& of) { return of.failure; }},
};
constexpr JsonObject<Judgement> kReport("report", "The report", kReportFields);

constexpr const JsonObjectInfo* kObjects[] = {&kReport};

}  // namespace

constinit const JsonOutput kJson{"One object, even for a failure.", kObjects};

void append_json(std::string& out, std::span<const LimitStatus> statuses,
                 const std::optional<Problem>& failure) {
  kReport.append_line(out, {statuses, failure});
}

}  // namespace rlctl::cli::quota
