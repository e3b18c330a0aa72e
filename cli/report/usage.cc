#include "cli/report/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/time.h"

namespace rlctl::cli::report {
namespace {

using namespace json_type;

constexpr JsonField<KeyState> kFields[] = {
    {"key", kBytes, "The key in Redis.", [](const auto& of) { return JsonBytes{of.key}; }},
    {"library", kLibrary,
     "The library that wrote the key: rlctl, another one, or the value of --read-as. Null if the "
     "key does not exist or the library is not known.",
     [](const auto& of) { return known_text(of.library); }},
    {"algorithm", kStoredAlgorithm,
     "The algorithm, whoever wrote the key. A key whose algorithm is foreign-zset, "
     "foreign-counter or foreign-hash only looks like a limiter's state, and its figures are "
     "unknown. Null if the key holds no limiter state, if it may be of two algorithms of a "
     "library, or if it does not exist and no option or policy names the algorithm.",
     [](const auto& of) { return known_text(of.algorithm); }},
    {"policy", kTextOrNull, "The policy to which the key belongs, or null.",
     [](const auto& of) { return known_text(of.policy); }},
    {"part_of", kTextOrNull, "The key to whose state this one belongs, which has the figures.",
     [](const auto& of) { return known_text(of.part_of); }},
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

std::string time_remark(std::string_view what, const std::string& time) {
  if (time.empty() || time == "now") return {};
  return fmt::format("{} {}{}", what, time == "never" ? "" : "in ", time);
}

}  // namespace

constinit const JsonObject<KeyState> kKeyJson(kFields);

KeyState::KeyState(const stored::Inspection& inspection, std::string_view its_policy)
    : key(inspection.key),
      policy(its_policy),
      part_of(inspection.state.part_of),
      usage(inspection),
      ratio(inspection.ratio()) {
  if (!inspection.is_limiter()) return;
  library = inspection.state.form->library;
  algorithm = inspection.state.form->name;
}

std::string_view mark_of(const stored::Usage& usage) {
  return usage.window_is_inferred ? "~" : "";
}

std::string limit_text(const stored::Usage& usage) {
  if (usage.limit && usage.window && !usage.window_is_inferred) {
    return limiter::format_limit(
        {.limit = *usage.limit, .window = *usage.window, .burst = {}, .calendar = usage.calendar});
  }
  if (!usage.window) return usage.limit ? std::to_string(*usage.limit) : "";
  return fmt::format("{}/{}{}", usage.limit ? std::to_string(*usage.limit) : "?", mark_of(usage),
                     format_duration(*usage.window));
}

std::string used_text(const stored::Usage& usage) {
  return usage.used ? fmt::format("{}{}", mark_of(usage), *usage.used) : "";
}

std::string used_of_text(const stored::Inspection& key) {
  const auto most = key.capacity();
  return used_text(key) + (most ? fmt::format(" of {}", *most) : "");
}

std::string ratio_text(std::optional<double> ratio) {
  if (!ratio) return {};
  constexpr double kRounding = 1e-9;  // 0.29 * 100 is below 29
  const auto percent = std::floor(*ratio * 100 + kRounding);
  return fmt::format("{:.0f}%", *ratio < 1 ? std::min(percent, 99.0) : percent);
}

std::string time_text(const stored::Usage& usage, std::optional<microseconds> time) {
  if (!time) return {};
  if (*time == microseconds{0}) return "now";
  return *time == limiter::kNever ? "never" : fmt::format("{}{}", mark_of(usage), wait_text(*time));
}

std::string next_free_remark(const stored::Usage& usage) {
  return time_remark("next free", time_text(usage, usage.next_free));
}

std::string reset_remark(const stored::Usage& usage) {
  return time_remark("resets", time_text(usage, usage.reset_after));
}

std::string ttl_text(const stored::Usage& usage) {
  return usage.ttl ? wait_text(*usage.ttl, Rounding::kTenths) : "none";
}

std::string ban_text(const stored::Inspection& key) {
  if (!key.state.ban) return {};
  const auto remark = next_free_remark(key);
  return fmt::format("banned by '{}'{}{}", escaped_text(key.state.ban->key),
                     remark.empty() ? "" : ", ", remark);
}

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
