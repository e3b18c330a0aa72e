#include "cli/report/usage.h"

namespace rlctl::cli::report {
namespace {

using namespace json_type;

constexpr JsonField<UsageFigures> kFields[] = {
    {"limit", kLimitOrNull,
     "The limit to which the other fields refer: the units that it allows in one window.",
     [](const auto& of) { return of.usage.limit; }},
    {"window_us", kWindowOrNull, "Its window in microseconds.",
     [](const auto& of) { return of.usage.window; }},
    {"window_inferred", kBoolean,
     "Whether the window follows from the key's name, and so does what depends on it: used, "
     "remaining, next_free_us and reset_after_us.",
     [](const auto& of) { return of.usage.window_is_inferred; }},
    {"calendar?", kCalendar, "",
     [](const auto& of) { return limiter::text_of(of.usage.calendar); }},
    {"burst", kBurstOrNull,
     "Its burst: the requests allowed at once. Null if the algorithm has none.",
     [](const auto& of) { return of.usage.burst; }},
    {"limits_differ", kTextOrNull,
     "The two limits, as in: stored 10/20s, policy 1000/20s. Null unless the key stores another "
     "limit than its policy, or than --limit or --policy names. Units come back at the stored "
     "rate until the next request is allowed; see rlctl-scripts(7).",
     [](const auto& of) { return known_text(of.usage.limits_differ); }},
    {"used", kCountOrNull,
     "The units that count now, rounded up. They include the units that the reservations of a "
     "budget hold.",
     [](const auto& of) { return of.usage.used; }},
    {"ratio", kRatioOrNull, "Used units to those that are allowed at once; 1 if the key is full.",
     [](const auto& of) { return of.ratio; }},
    {"remaining", kCountOrNull, "The number of requests of cost 1 that would be allowed now.",
     [](const auto& of) { return of.usage.remaining; }},
    {"next_free_us", kWaitOrNull,
     "Microseconds until a request of cost 1 is allowed: 0 if units remain, -1 if never.",
     [](const auto& of) { return of.usage.next_free; }},
    {"reset_after_us", kDurationOrNull,
     "Microseconds until the key is as if it had never been used.",
     [](const auto& of) { return of.usage.reset_after; }},
    {"ttl_us", kDurationOrNull, "Microseconds until Redis deletes the key; null if it has no TTL.",
     [](const auto& of) { return of.usage.ttl; }},
    {"bytes", kCountOrNull, "The memory that the key uses; null if the server does not report it.",
     [](const auto& of) { return of.usage.bytes; }},
};

}  // namespace

constinit const JsonObject<UsageFigures> kUsageJson(kFields);

Tone tone_of_use(std::optional<double> ratio, Tone low) {
  constexpr double kNearlyFull = 0.8;
  if (!ratio) return Tone::kPlain;
  return *ratio >= 1 ? Tone::kBad : *ratio >= kNearlyFull ? Tone::kWarning : low;
}

std::string_view readings_of(std::string_view type) {
  return type == "string" ? "--read-as count or --read-as remaining"
         : type == "zset" ? "--read-as times or --read-as leases"
                          : "";
}

}  // namespace rlctl::cli::report
