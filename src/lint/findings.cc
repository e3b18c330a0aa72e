#include "lint/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/time.h"
#include "lint/calls.h"
#include "lint/flaws.h"
#include "lua/shebang.h"
#include "redis/slots.h"

namespace rlctl::lint {
namespace {

constexpr std::array kKinds{
    FindingKind{"undeclared-key", "a command names a key that is not in KEYS"},
    FindingKind{"cross-slot", "the KEYS of one call are in different slots of a Cluster"},
    FindingKind{"no-ttl", "a key that the script wrote never expires"},
    FindingKind{"short-ttl", "a key expires while what it counts still counts"},
    FindingKind{"mixed-units", "seconds where milliseconds are meant, or the reverse"},
    FindingKind{"coarse-time", "times in whole seconds, for a window of a few"},
    FindingKind{"number-as-text", "tostring() or .. has cut digits off a number"},
    FindingKind{"non-unique-member", "two requests are one member of a set, or one field"},
    FindingKind{"late-pruning", "old requests are counted, and then removed"},
    FindingKind{"denied-write", "denied requests count, so that retries lock out"},
    FindingKind{"unknown-flag", "a flag in the first line that Redis does not know"},
};

// ---- Keys ----

Finding undeclared(const Request& request, const Call& call, const std::string& key) {
  Finding finding{.name = "undeclared-key", .line = call.line, .what = text_of(call)};
  const auto& keys = request.keys;
  if (!keys.empty() && redis::slot_of(key) == redis::slot_of(keys.front())) {
    finding.severity = Severity::kNote;
    finding.detail = fmt::format(
        "{} is not in KEYS. It works in a Cluster, since the key is in the slot of {}, but Redis "
        "does not promise it: a script must get all its keys in KEYS.",
        in_quotes(key), in_quotes(keys.front()));
    finding.fix = "pass every key in KEYS";
    return finding;
  }
  finding.detail = fmt::format(
      "{} is not in KEYS. A Cluster runs the script on the node of its KEYS, where a call for a "
      "key of another slot fails.",
      in_quotes(key));
  finding.fix = "pass every key in KEYS, all with one {hash tag}";
  return finding;
}

void find_undeclared_keys(const Observation& observation, Flaws& flaws) {
  for (const auto& request : observation.requests) {
    for (const auto& call : request.calls) {
      for (const auto& key : call.keys) {
        if (!contains(request.keys, key)) flaws.add(undeclared(request, call, key));
      }
    }
  }
}

void find_cross_slots(const Observation& observation, Flaws& flaws) {
  for (const auto& request : observation.requests) {
    const auto& keys = request.keys;
    const auto other = std::find_if(keys.begin(), keys.end(), [&](const auto& key) {
      return redis::slot_of(key) != redis::slot_of(keys.front());
    });
    if (other == keys.end()) continue;
    const auto uses = [&](const Call& call) { return contains(call.keys, *other); };
    const auto call = std::find_if(request.calls.begin(), request.calls.end(), uses);
    if (call == request.calls.end()) continue;
    flaws.add(
        {.name = "cross-slot",
         .line = call->line,
         .what = text_of(*call),
         .detail = fmt::format(
             "The keys {} and {} are in the slots {} and {}. A Cluster refuses a call whose "
             "keys are in different slots.",
             in_quotes(keys.front()), in_quotes(*other), redis::slot_of(keys.front()),
             redis::slot_of(*other)),
         .fix = "give all keys of a call one hash tag: --keys '{{key}}:a' --keys '{{key}}:b'"});
    return;
  }
}

// ---- TTLs ----

/// The last command that made the key, changed its value or dropped its TTL; null if the request
/// only removed elements, of a key that another one left without a TTL.
const Call* last_write(const Request& request, const std::string& key) {
  const auto found =
      std::find_if(request.calls.rbegin(), request.calls.rend(), [&](const auto& call) {
        const bool is_told_of = !is_upkeep(call) || command_of(call) == "persist";
        return call.writes && is_told_of && contains(call.keys, key);
      });
  return found == request.calls.rend() ? nullptr : &*found;
}

void find_missing_ttls(const Observation& observation, Flaws& flaws) {
  for (const auto& request : observation.requests) {
    for (const auto& left : request.left) {
      const auto* call = left.expires ? nullptr : last_write(request, left.key);
      if (call == nullptr) continue;
      const bool locks_out = observation.is_denied_for_ever;
      flaws.add(
          {.name = "no-ttl",
           .line = call->line,
           .severity = locks_out ? Severity::kCritical : Severity::kWarning,
           .what = text_of(*call),
           .detail =
               fmt::format("{} has no TTL when the script returns. {}", in_quotes(left.key),
                           locks_out ? "Its client is denied forever."
                                     : "It stays in memory when its client never comes back."),
           .fix = increments(*call)
                      ? "set a TTL when the key is new: if the new count is 1, PEXPIRE it by the "
                        "window"
                      : "set a TTL of at least the window on each call that writes the key: "
                        "PEXPIRE"});
    }
  }
}

/// The last command of the request that set the TTL of the key.
const Call* ttl_setter(const Request& request, const std::string& key) {
  const auto found = std::find_if(
      request.calls.rbegin(), request.calls.rend(),
      [&](const Call& call) { return contains(call.keys, key) && ttl_set_by(call).has_value(); });
  return found == request.calls.rend() ? nullptr : &*found;
}

void find_early_expiry(const Observation& observation, Flaws& flaws) {
  if (!observation.early_expiry) return;
  const auto& early = *observation.early_expiry;
  const auto* call = ttl_setter(observation.requests[early.request], early.key);
  if (call == nullptr || flaws.has(call->line, "mixed-units")) return;
  flaws.add({.name = "short-ttl",
             .line = call->line,
             .severity = Severity::kCritical,
             .what = text_of(*call),
             .detail = fmt::format(
                 "{} expires after {}, but the window is {}. What it counted is forgotten: a "
                 "request was allowed that is denied if the key stays.",
                 in_quotes(early.key), span_text(early.ttl), period_text(observation.window)),
             .fix = "set a TTL of at least the window"});
}

// ---- The first line ----

void find_unknown_flags(const Observation& observation, Flaws& flaws) {
  for (const auto flag : lua::unknown_flags(observation.source)) {
    flaws.add({.name = "unknown-flag",
               .line = 1,
               .severity = Severity::kCritical,
               .what = escaped_text(flag),
               .detail = "Redis and Valkey refuse a script with a flag that they do not know: each "
                         "call fails.",
               .fix = "remove the flag from the first line"});
  }
}

}  // namespace

std::span<const FindingKind> finding_kinds() {
  return kKinds;
}

std::vector<Finding> find_flaws(const Observation& observation) {
  Flaws flaws;
  find_undeclared_keys(observation, flaws);
  find_cross_slots(observation, flaws);
  find_missing_ttls(observation, flaws);
  find_units(observation, flaws);
  find_early_expiry(observation, flaws);
  find_lost_digits(observation, flaws);
  find_miscounts(observation, flaws);
  find_unknown_flags(observation, flaws);
  return flaws.take();
}

}  // namespace rlctl::lint
