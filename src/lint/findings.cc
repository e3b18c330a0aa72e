#include "lint/findings.h"

#include "base/number.h"
#include "base/text.h"
#include "base/time.h"
#include "lint/calls.h"
#include "lua/substitute.h"
#include "redis/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace rlctl::lint {

namespace {

constexpr std::array kKinds{
    FindingKind{"undeclared-key", "a command names a key that is not in KEYS"},
    FindingKind{"cross-slot", "the KEYS of one call are in different slots of a Cluster"},
    FindingKind{"doubled-key", "one key is in KEYS twice, and a request counts twice"},
    FindingKind{"no-ttl", "a key that the script wrote never expires"},
    FindingKind{"short-ttl", "a key expires while what it counts still counts"},
    FindingKind{"long-ttl", "a key stays a thousand times as long as it counts"},
    FindingKind{"never-pruned", "under steady traffic, what is stored keeps growing"},
    FindingKind{"growing-work", "each request takes more calls than the one before"},
    FindingKind{"mixed-units", "seconds where milliseconds are meant, or the reverse"},
    FindingKind{"coarse-time", "times in whole seconds, for a window of a few"},
    FindingKind{"number-as-text", "tostring() or .. has cut digits off a number"},
    FindingKind{"non-unique-member", "two requests are one member of a set, or one field"},
    FindingKind{"late-pruning", "old requests are counted, and then removed"},
    FindingKind{"denied-write", "denied requests count, so that retries lock out"},
    FindingKind{"locked-out", "a client that keeps trying gets hardly anything"},
    FindingKind{"renewed-window", "allowed requests renew the window, which never ends"},
    FindingKind{"zero-wait", "a denial whose wait is 0 reads as allowed"},
    FindingKind{"endless-lease", "with --concurrency: a crashed holder keeps its slot forever"},
    FindingKind{"leaked-slot", "with --concurrency: a free slot is never given out"},
    FindingKind{"frees-another", "with --concurrency: a release frees another's slot"},
    FindingKind{"too-many-leases", "with --concurrency: more are held than the limit"},
    FindingKind{"holder-clock", "with --concurrency: a lease ends by a holder's clock"},
    FindingKind{"endless-hold", "with --reserve: a crashed holder keeps its units forever"},
    FindingKind{"leaked-units", "with --reserve: free units are never given out"},
    FindingKind{"spent-twice", "with --reserve: a repeated settle is spent again"},
    FindingKind{"double-refund", "with --reserve: a settle returns units twice"},
    FindingKind{"unspent", "with --reserve: a settle counts less than it reports"},
    FindingKind{"over-budget", "with --reserve: more is spent and held than the limit"},
    FindingKind{"unknown-flag", "a flag in the first line that Redis does not know"},
    FindingKind{"unused-excuse", "a comment excuses what is not found: remove it"},
    FindingKind{"wrong-limit", "more or fewer than the limit are allowed at one instant"},
    FindingKind{"lost-refill", "a client that asks slightly too often loses refills"},
    FindingKind{"shared-limit", "the requests of one client count against another"},
    FindingKind{"future-clock", "one clock that is ahead locks all others out"},
    FindingKind{"not-atomic", "a program reads a key, and another command writes it"},
    FindingKind{"free-pass", "after a pause, more is allowed at an instant than at first"},
    FindingKind{"wrong-cost", "a request counts for more or less than its cost"},
    FindingKind{"ignored-cost", "a request of any cost counts as cost 1"},
    FindingKind{"wrong-wait", "retry_after is not when the request is allowed"},
    FindingKind{"wrong-remaining", "remaining is not what is allowed next"},
    FindingKind{"wrong-reset", "reset_after is not when the whole limit is there"},
};

/// Collects findings; of each kind, the first of the most severe for a line.
class Flaws {
 public:
  void add(const Finding& finding) {
    const auto [found, is_new] = found_.try_emplace({finding.line, finding.name}, finding);
    if (!is_new && found->second.severity < finding.severity) found->second = finding;
  }
  bool has(int line, std::string_view name) const { return found_.contains({line, name}); }
  bool has(std::string_view name, Severity severity) const {
    return std::any_of(found_.begin(), found_.end(), [&](const auto& each) {
      return each.second.name == name && each.second.severity == severity;
    });
  }
  std::vector<Finding> take() {
    std::vector<Finding> all;
    for (auto& [place, finding] : found_) all.push_back(std::move(finding));
    return all;
  }

 private:
  std::map<std::pair<int, std::string_view>, Finding> found_;
};

/// Calls a function for each call of each request.
template <typename Each>
void for_each_call(const Observation& observation, Each each) {
  for (const auto& request : observation.requests) {
    for (const auto& call : request.calls) each(request, call);
  }
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// ---- Keys ----

Finding undeclared(const Request& request, const Call& call, const std::string& key) {
  Finding finding{.name = "undeclared-key", .line = call.line, .what = text_of(call)};
  const auto& keys = request.keys;
  if (!keys.empty() && redis::slot_of(key) == redis::slot_of(keys.front())) {
    finding.severity = Severity::kNote;
    finding.detail = fmt::format(
        "{} is not in KEYS. It works in a Cluster, since the key is in the slot of {}, but Redis "
        "does not promise it: a script must get all its keys in KEYS.",
        quoted_and_masked(key), quoted_and_masked(keys.front()));
    finding.fix = "pass every key in KEYS";
    return finding;
  }
  finding.detail = fmt::format(
      "{} is not in KEYS. A Cluster runs the script on the node of its KEYS, where a call for a "
      "key of another slot fails.",
      quoted_and_masked(key));
  finding.fix = "pass every key in KEYS, all with one {hash tag}";
  return finding;
}

void find_undeclared_keys(const Observation& observation, Flaws& flaws) {
  for_each_call(observation, [&](const Request& request, const Call& call) {
    for (const auto& key : call.keys) {
      if (!contains(request.keys, key)) flaws.add(undeclared(request, call, key));
    }
  });
}

void find_cross_slots(const Observation& observation, Flaws& flaws) {
  std::optional<Finding> unused;
  for (const auto& request : observation.requests) {
    const auto& keys = request.keys;
    const auto other = std::find_if(keys.begin(), keys.end(), [&](const auto& key) {
      return redis::slot_of(key) != redis::slot_of(keys.front());
    });
    if (other == keys.end()) continue;
    const auto uses = [&](const Call& call) { return contains(call.keys, *other); };
    const auto call = std::find_if(request.calls.begin(), request.calls.end(), uses);
    const bool is_used = call != request.calls.end();
    Finding finding{
        .name = "cross-slot",
        .line = is_used ? call->line : 1,
        .what = is_used ? text_of(*call) : "KEYS " + text_of({.words = keys}),
        .detail = fmt::format(
            "The keys {} and {} are in the slots {} and {}. A Cluster refuses a call whose "
            "keys are in different slots.",
            quoted_and_masked(keys.front()), quoted_and_masked(*other),
            redis::slot_of(keys.front()), redis::slot_of(*other)),
        .fix =
            "give all keys of a call one hash tag: --keys '{{key}}:a' --keys '{{key}}:b'; pass "
            "what is not a key in --args"};
    if (is_used) return flaws.add(finding);
    unused = std::move(finding);
  }
  if (unused) flaws.add(*unused);
}

void find_doubled_keys(const Observation& observation, Flaws& flaws) {
  for_each_call(observation, [&](const Request& request, const Call& call) {
    // Other runs have other costs, which a loop may count.
    if (request.run != observation.requests.front().run || call.keys.size() != 1) return;
    const auto& key = call.keys.front();
    if (!call.writes || is_upkeep(call) || std::ranges::count(request.keys, key) < 2) return;
    const auto counts_first = [&](const Call& first) {
      if (first.keys != call.keys || command_of(first) != command_of(call)) return false;
      if (first.words != call.words) return first.line == call.line;
      return integer_reply(call).value_or(0) != 0 && first.reply != call.reply;
    };
    if (std::none_of(request.calls.data(), &call, counts_first)) return;
    flaws.add({.name = "doubled-key",
               .line = call.line,
               .severity = Severity::kCritical,
               .what = text_of(call),
               .detail = quoted_and_masked(key) + " is in KEYS twice, and counts twice.",
               .fix = "pass each key once, or let the script skip a key that it has seen"});
  });
}

// ---- TTLs ----

/// The last command that made the key, changed its value or dropped its TTL; null if the request
/// only removed elements of a key that another request had left without a TTL.
const Call* last_write(const Request& request, const std::string& key) {
  const auto found =
      std::find_if(request.calls.rbegin(), request.calls.rend(), [&](const auto& call) {
        const bool writes_value = !is_upkeep(call) || command_of(call) == "persist";
        return call.writes && writes_value && contains(call.keys, key);
      });
  return found == request.calls.rend() ? nullptr : &*found;
}

void find_missing_ttls(const Observation& observation, Flaws& flaws) {
  for (const auto& request : observation.requests) {
    for (const auto& left : request.left) {
      const auto* call = left.expires ? nullptr : last_write(request, left.key);
      if (call == nullptr) continue;
      const bool locks_out = observation.is_denied_for_ever;
      flaws.add({.name = "no-ttl",
                 .line = call->line,
                 .severity = locks_out ? Severity::kCritical : Severity::kWarning,
                 .what = text_of(*call),
                 .detail = fmt::format(
                     "{} has no TTL when the script returns. {}", quoted_and_masked(left.key),
                     locks_out ? "Its client is denied forever."
                               : "It stays in memory when its client never comes back."),
                 .fix = increments(*call)
                            ? "set a TTL when the key is new: if the new count is what this call "
                              "added, PEXPIRE it by the window"
                            : "set a TTL of at least the window on each call that writes the key: "
                              "PEXPIRE"});
    }
  }
}

// ---- What grows ----

/// A call of the line that has written the most different elements of the key, or has called the
/// command for the most; null if there is none.
const Call* growing_call(const Observation& observation, const Sizes::key_type& size) {
  const auto &command = size.first, &key = size.second;
  std::map<int, std::set<std::string>> elements;
  const Call* found = nullptr;
  for_each_call(observation, [&](const Request& /*request*/, const Call& call) {
    const bool adds = call.writes && !is_upkeep(call) && contains(call.keys, key);
    if (command.empty() ? !adds : command_of(call) != command) return;
    elements[call.line].insert(call.words.size() > 2 ? call.words[2] : call.words.back());
    if (!found || elements[call.line].size() > elements[found->line].size()) found = &call;
  });
  return found;
}

void find_growth(const Observation& observation, Flaws& flaws) {
  const auto& [span, half, whole] = observation.growth;
  for (const auto& [size, value] : whole) {
    const auto* call = growing_call(observation, size);
    const auto& [command, key] = size;
    const auto what = command.empty() ? "bytes of " + quoted_and_masked(key)
                                      : "calls of " + command + " for a request";
    flaws.add(
        {.name = command.empty() ? "never-pruned" : "growing-work",
         .line = call == nullptr ? 1 : call->line,
         .what = call == nullptr ? what : text_of(*call),
         .detail = fmt::format("While a client asks steadily, the {} grow: about {:.0f} "
                               "after {}, and {:.0f} after {}.",
                               what, half.at(size), span_text(span / 2), value, span_text(span)),
         .fix = "remove what has left the window before you count"});
  }
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

// ---- Members that are not unique ----

/// Whether the call added members, but none that was new.
bool adds_nothing(const Call& call) {
  return !members_of(call).empty() && integer_reply(call) == 0;
}

/// The calls so far that added members, by run.
using Added = std::vector<std::pair<int, const Call*>>;

template <typename Test>
bool was_added(const Added& before, int run, Test test) {
  return std::any_of(before.begin(), before.end(),
                     [&](const auto& other) { return other.first == run && test(*other.second); });
}

/// Whether a request that may have been allowed added nothing but members that were there already.
bool leaves_no_trace(const Request& request, const Added& before) {
  if (request.allowed == false) return false;
  return std::all_of(request.calls.begin(), request.calls.end(), [&](const Call& call) {
    if (!call.writes || is_upkeep(call)) return true;
    if (!adds_nothing(call)) return false;
    // A field may have got another value.
    return command_of(call) != "hset" || was_added(before, request.run, [&](const Call& each) {
             return each.words == call.words;
           });
  });
}

bool same_place(const Call& a, const Call& b) {
  return a.line == b.line && a.words[1] == b.words[1];
}

void find_shared_members(const Observation& observation, Flaws& flaws) {
  constexpr std::string_view kRandom =
      " (Before Redis 7, math.random() gives the same numbers in each call.)";
  const bool uses_random = observation.source.find("random") != std::string::npos;
  // Members that never change are a registry of clients, not a log of requests.
  std::map<std::pair<int, int>, std::set<std::vector<std::string>>> kinds;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    const auto members = members_of(call);
    if (!members.empty()) kinds[{call.line, request.client}].insert(members);
  });
  Added before;
  for (const auto& request : observation.requests) {
    const bool is_lost = leaves_no_trace(request, before);
    for (const auto& call : request.calls) {
      const auto members = members_of(call);
      if (members.empty()) continue;
      const bool is_repeated = was_added(before, request.run, [&](const Call& other) {
        return same_place(other, call) && members_of(other) == members;
      });
      if (!is_lost || !adds_nothing(call) || !is_repeated ||
          kinds[{call.line, request.client}].size() < 2)
        continue;
      flaws.add(
          {.name = "non-unique-member",
           .line = call.line,
           .severity = Severity::kCritical,
           .what = text_of(call),
           .detail = fmt::format(
               "Another request had added {}, so this one left no trace and is not counted.{}",
               quoted_and_masked(members.front()), uses_random ? kRandom : ""),
           .fix = "make each member unique, for example with an ID that the caller passes"});
    }
    for (const auto& call : request.calls) {
      if (!members_of(call).empty()) before.emplace_back(request.run, &call);
    }
  }
}

// ---- Denied requests that count ----

/// The call of a denied request that most likely makes the next one wait, since it writes or sets a
/// TTL: rather one about a key that allowed requests use too, then rather one that writes; null if
/// there is none.
const Call* counting_call(const Observation& observation, const std::vector<Call>& calls) {
  std::set<std::string> deciding;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    if (request.allowed == true) deciding.insert(call.keys.begin(), call.keys.end());
  });
  const Call* likeliest = nullptr;
  int most = 0;
  for (const auto& each : calls) {
    const bool writes = each.writes && !is_upkeep(each);
    // It may only renew the TTL of what others left: removing elements locks nobody out.
    if (!writes && !ttl_set_by(each)) continue;
    const bool decides = std::any_of(each.keys.begin(), each.keys.end(),
                                     [&](const auto& key) { return deciding.contains(key); });
    const auto likelihood = 1 + (writes ? 1 : 0) + (decides ? 2 : 0);
    if (likelihood > most) likeliest = &each;
    most = std::max(most, likelihood);
  }
  return likeliest;
}

/// The last call in a request that was allowed, or in one that was denied, that set the TTL of a
/// key which had one; null if none did.
const Call* renewing_call(const Observation& observation, bool allowed) {
  std::map<std::pair<int, std::string>, double> ends;  // by run and key, in µs since 1970
  const Call* last = nullptr;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    const auto ttl = ttl_set_by(call);
    if (!ttl) return;
    for (const auto& key : call.keys) {
      auto& end = ends[{request.run, key}];
      const auto left = end - as_double(request.at);
      if (request.allowed == allowed && left > 0) last = &call;
      end = ttl->value * as_double(ttl->unit) + (ttl->is_absolute ? 0 : as_double(request.at));
    }
  });
  return last;
}

/// The text about those who are denied, after a blank.
std::string denial_detail(const Observation& observation) {
  if (observation.probed.lock_out)
    return " " + lock_out_detail(*observation.probed.lock_out, false);
  return observation.probed.renewal ? " " + renewal_detail(*observation.probed.renewal) : "";
}

bool has_cause(const Observation& observation, Cause::Kind kind) {
  return observation.cause && observation.cause->kind == kind;
}

constexpr auto kKeepTtl = "set the TTL only when the key is new",
               kLetLeave = "let a request leave the window when it ends";

void find_counted_denials(const Observation& observation, Flaws& flaws) {
  if (!observation.probed.lock_out || !observation.probed.lock_out->denial) return;
  if (has_cause(observation, Cause::Kind::kUnequalTtls)) return;
  for (const auto name : {"no-ttl", "late-pruning", "mixed-units"}) {
    if (flaws.has(name, Severity::kCritical)) return;  // that is why
  }
  const auto& requests = observation.requests;
  const Call *call = nullptr, *last = nullptr;
  const auto first = *observation.probed.lock_out->denial;
  for (auto i = first; i < requests.size() && requests[i].run == requests[first].run; ++i) {
    if (requests[i].allowed == true) continue;
    if (call == nullptr) call = counting_call(observation, requests[i].calls);
    if (!requests[i].calls.empty()) last = &requests[i].calls.back();
  }
  const bool counts = call != nullptr;
  const auto* renewing = has_cause(observation, Cause::Kind::kRenewedTtl)
                             ? renewing_call(observation, false)
                             : nullptr;
  if (!counts) call = last;
  if (renewing != nullptr) call = renewing;
  // A client that waited in silence is one whose denials left no trace.
  const bool is_cured = observation.probed.lock_out->counts_denials && !observation.probed.renewal;
  flaws.add({.name = counts ? "denied-write" : "locked-out",
             .line = call == nullptr ? 1 : call->line,
             .severity = Severity::kCritical,
             .what = call == nullptr ? "no call" : text_of(*call),
             .detail = (renewing != nullptr ? "Denied requests renew the TTL. " : "") +
                       lock_out_detail(*observation.probed.lock_out, counts && renewing == nullptr),
             .fix = renewing != nullptr  ? kKeepTtl
                    : counts && is_cured ? "count first, and write only if the request is allowed"
                                         : kLetLeave});
}

// ---- Windows that are renewed ----

/// The last call of the observation that writes, or the last one.
const Call* any_call(const Observation& observation) {
  const Call* last = nullptr;
  for_each_call(observation, [&](const Request& /*request*/, const Call& call) {
    if (last == nullptr || call.writes || !last->writes) last = &call;
  });
  return last;
}

void find_renewed_windows(const Observation& observation, Flaws& flaws) {
  if (!observation.probed.renewal) return;
  const bool is_renewed = has_cause(observation, Cause::Kind::kRenewedTtl);
  const auto* call = renewing_call(observation, true);
  if (call == nullptr) call = any_call(observation);
  if (call == nullptr) return;
  flaws.add({.name = is_renewed ? "renewed-window" : "locked-out",
             .line = call->line,
             .severity = Severity::kCritical,
             .what = text_of(*call),
             .detail = fmt::format(
                 "{} {}", renewal_detail(*observation.probed.renewal),
                 is_renewed ? "Each allowed request renews the TTL, so that requests which have "
                              "left the window still count."
                            : "Requests which have left the window still count."),
             .fix = is_renewed ? kKeepTtl : kLetLeave,
             .may_follow = true});
}

// ---- What is forgotten too early ----

void find_forgotten(const Observation& observation, Flaws& flaws) {
  const bool is_unequal = has_cause(observation, Cause::Kind::kUnequalTtls);
  if ((!observation.probed.forgotten && !is_unequal) || has_cause(observation, Cause::Kind::kUnit))
    return;
  const auto forgotten = observation.probed.forgotten.value_or(Forgotten{});
  const auto ttl_sought = is_unequal ? std::chrono::microseconds{0} : forgotten.ttl;
  const Call* found = nullptr;
  auto nearest = std::chrono::microseconds::max();
  for_each_call(observation, [&](const Request& request, const Call& call) {
    const auto ttl = ttl_set_by(call);
    if (!ttl) return;
    const auto from = ttl->is_absolute ? request.at : std::chrono::microseconds{0};
    const std::chrono::microseconds end{std::llround(ttl->value * as_double(ttl->unit))};
    const auto distance = std::chrono::abs(end - from - ttl_sought);
    if (distance >= nearest) return;
    nearest = distance;
    found = &call;
  });
  if (found == nullptr || flaws.has(found->line, "mixed-units")) return;
  auto detail = fmt::format(
      "The key expires while what it counts still counts: after a TTL of {}, the script allows {} "
      "at one instant, and {} if the key stays.",
      span_text(forgotten.ttl), counted(forgotten.allowed, "request"), forgotten.allowed_if_kept);
  if (is_unequal) {
    detail = "One key ends before another; with a common end, the flaw disappears." +
             (observation.probed.forgotten ? " " + detail : denial_detail(observation));
  }
  flaws.add({.name = "short-ttl",
             .line = found->line,
             .severity = Severity::kCritical,
             .what = text_of(*found),
             .detail = std::move(detail),
             .fix = is_unequal ? "give all keys one TTL, and set it on each call that writes one"
                    : forgotten.is_window
                        ? "set a TTL of at least the window"
                        : "set a TTL of at least the window, and of the time in which a bucket "
                          "refills, on each call that writes"});
}

// ---- Free passes ----

void find_free_passes(const Observation& observation, Flaws& flaws) {
  const auto& pass = observation.probed.free_pass;
  const auto* calls = pass && pass->request ? &observation.requests[*pass->request].calls : nullptr;
  if (calls == nullptr || calls->empty()) return;
  const auto* counting = counting_call(observation, *calls);
  const auto ttl = std::ranges::find_if(*calls, reads_ttl);
  const auto& call = counting != nullptr ? *counting : ttl != calls->end() ? *ttl : calls->back();
  auto finding = free_pass_finding(*pass);
  finding.may_follow = true;
  if (counting == nullptr && pass->allowed == pass->sent) {
    finding = {.name = "zero-wait",
               .severity = Severity::kCritical,
               .detail = fmt::format("{} after the limit was reached, all {} requests of an "
                                     "instant were allowed: the reply to a denial reads as "
                                     "allowed then.",
                                     span_text(pass->after), pass->allowed),
               .fix =
                   "reply at least 1 for a denial, or whether it is allowed in a value of its "
                   "own"};
    if (ttl != calls->end()) {
      finding.detail += fmt::format(" A key's TTL is 0 in its last {}.",
                                    command_of(*ttl) == "pttl" ? "millisecond" : "half second");
    }
  }
  finding.line = call.line;
  finding.what = text_of(call);
  flaws.add(finding);
}

// ---- Counting before pruning ----

/// How many elements the calls after `count` removed from its key, other than those of the request
/// itself; 0 if the key was counted again. Sets `line` to that of the last such call.
std::int64_t removed_after(const std::vector<Call>& calls, const Call& count, int& line) {
  std::int64_t removed = 0;
  bool is_after = false;
  std::set<std::string> own;
  for (const auto& call : calls) {
    for (auto& member : members_of(call)) own.insert(std::move(member));
    if (&call == &count) {
      is_after = true;
    } else if (call.words.size() > 1 && call.words[1] == count.words[1]) {
      // A request may take back its own element.
      if (command_of(call).ends_with("push")) return 0;
      if (!is_after || (call.words.size() > 2 && own.contains(call.words[2]))) continue;
      if (counts_elements(call)) return 0;
      if (pruned_by(call) > 0) line = call.line;
      removed += pruned_by(call);
    }
  }
  return removed;
}

void find_late_pruning(const Observation& observation, Flaws& flaws) {
  for_each_call(observation, [&](const Request& request, const Call& count) {
    if (request.allowed != false || !counts_elements(count)) return;
    int line = 0;
    const auto removed = removed_after(request.calls, count, line);
    const auto counted = integer_reply(count).value_or(0);
    if (removed == 0 || counted - removed > observation.limit) return;  // denied anyway
    flaws.add(
        {.name = "late-pruning",
         .line = count.line,
         .severity = Severity::kCritical,
         .what = text_of(count),
         .detail = fmt::format("The request was denied because {} were counted, but line {} then "
                               "removed {} that had left the window.",
                               counted, line, removed),
         .fix = fmt::format("remove old requests (line {}) before you count", line)});
  });
}

// ---- Units ----

struct Unit {
  std::string_view name;
  double in_us;
};
constexpr std::chrono::seconds kOneSecond{1};
constexpr double kSecondUs = 1e6, kMillisecondUs = 1e3;
constexpr std::array kUnits{Unit{"seconds", kSecondUs}, Unit{"milliseconds", kMillisecondUs},
                            Unit{"microseconds", 1}, Unit{"nanoseconds", 1e-3}};

bool is_near(double value, double wanted, double tolerance = 0.02) {
  return std::abs(value - wanted) <= tolerance * std::abs(wanted);
}

/// The unit in which the number is a time of about now; null if there is none.
const Unit* unit_of(double value, std::chrono::microseconds now) {
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& unit) {
    return is_near(value * unit.in_us, as_double(now));
  });
  return found == kUnits.end() ? nullptr : &*found;
}

// ---- TTLs in another unit ----

/// How much TTLs may differ: scripts spread them by a tenth, so that keys do not expire together.
constexpr double kJitter = 0.12;

/// The TTLs that a line set. If they differ by more than jitter, they are computed, and may be
/// small or large for good reason.
struct SetTtls {
  const Call* call = nullptr;
  TtlWord first = {}, longest = {};
  int count = 0;
  bool differ = false, is_too_long = false;
  bool is_passed = true;  ///< each is about a number that the caller passed, and none a constant
};

double ratio_of(const TtlWord& ttl, std::chrono::microseconds time) {
  return ttl.value * as_double(ttl.unit) / as_double(time);
}

/// Whether the TTL is about `factor` times this time, or twice that; false if the time is unknown.
bool is_multiple(const TtlWord& ttl, std::chrono::microseconds time, double factor) {
  if (time.count() <= 0) return false;
  const auto ratio = ratio_of(ttl, time);
  return is_near(ratio, factor, kJitter) || is_near(ratio, 2 * factor, kJitter);
}

/// Whether an argument, or twice that, is about this number.
bool is_argument(double value, const Request& request) {
  return std::any_of(
      request.arguments.begin(), request.arguments.end(), [value](const std::string& word) {
        const auto number = number_in(word).value_or(0);
        return is_near(value, number, kJitter) || is_near(value, 2 * number, kJitter);
      });
}

/// Too short a TTL lets requests in. A constant that is too long may be meant.
Severity severity_of(const SetTtls& set) {
  return set.is_too_long && !set.is_passed ? Severity::kWarning : Severity::kCritical;
}

void add_ttl_finding(const SetTtls& set, const std::string& detail, Flaws& flaws) {
  const bool takes_seconds = set.first.unit == kOneSecond;
  flaws.add({.name = "mixed-units",
             .line = set.call->line,
             .severity = severity_of(set),
             .what = text_of(*set.call),
             .detail = detail,
             .fix = fmt::format("pass {}{}", takes_seconds ? "seconds" : "milliseconds",
                                takes_seconds == set.is_too_long
                                    ? fmt::format(", or use the command for {}",
                                                  takes_seconds ? "milliseconds" : "seconds")
                                    : "")});
}

/// Whether the TTLs that a line set are in another unit than the window; sets `is_too_long`.
bool is_in_other_unit(SetTtls& set, const Observation& observation) {
  constexpr double kThousand = 1000;
  const auto window = observation.window, refill = observation.refill;
  bool is_too_short = false;
  if (set.first.unit == kOneSecond) {
    set.is_too_long = (!set.differ && is_multiple(set.first, window, kThousand)) ||
                      is_multiple(set.differ ? set.longest : set.first, refill, kThousand);
  } else {
    is_too_short = !set.differ && (is_multiple(set.first, window, 1 / kThousand) ||
                                   is_multiple(set.first, refill, 1 / kThousand));
    // An hour more than a short window is no other unit.
    set.is_too_long = !set.differ && is_near(ratio_of(set.first, window), kThousand);
  }
  return set.is_too_long || is_too_short;
}

void find_ttls_in_other_units(const Observation& observation, Flaws& flaws) {
  std::map<int, SetTtls> lines;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    const auto ttl = ttl_set_by(call);
    if (!ttl) return;
    if (ttl->is_absolute) {
      const auto* unit = unit_of(ttl->value, request.at);
      if (unit == nullptr || unit->in_us == as_double(ttl->unit)) return;
      return add_ttl_finding(
          {.call = &call, .first = *ttl, .is_too_long = unit->in_us < as_double(ttl->unit)},
          fmt::format("{} takes {}, but gets {}: {}.", ttl->name,
                      ttl->unit == kOneSecond ? "seconds since 1970" : "milliseconds since 1970",
                      unit->name,
                      unit->in_us > as_double(ttl->unit) ? "the key is removed at once"
                                                         : "the key stays forever"),
          flaws);
    }
    auto& set = lines[call.line];
    if (set.count++ == 0) {
      set.call = &call;
      set.first = set.longest = *ttl;
    }
    if (ttl->value > set.longest.value) set.longest = *ttl;
    set.differ |= ttl->unit != set.first.unit || !is_near(ttl->value, set.first.value, 2 * kJitter);
    const bool is_constant =
        observation.source.find(fmt::format("{:.0f}", ttl->value)) != std::string::npos;
    set.is_passed &= !is_constant && is_argument(ttl->value, request);
  });
  for (auto& [line, set] : lines) {
    if (set.count < 2 || !is_in_other_unit(set, observation)) continue;
    const auto ttl =
        std::chrono::microseconds(std::llround(set.first.value * as_double(set.first.unit)));
    add_ttl_finding(
        set,
        fmt::format("{} takes {}: the key has a TTL of {}, but the window is {}.", set.first.name,
                    set.first.unit == kOneSecond ? "seconds" : "milliseconds", span_text(ttl),
                    period_text(observation.window)),
        flaws);
  }
}

void find_long_ttls(const Observation& observation, Flaws& flaws) {
  constexpr double kThousand = 1000, kLongest = 1e18;
  constexpr std::chrono::microseconds kDay = std::chrono::hours{24};
  const auto longest = std::max(observation.window, observation.refill);
  for_each_call(observation, [&](const Request& request, const Call& call) {
    const auto ttl = ttl_set_by(call);
    if (!ttl || flaws.has(call.line, "mixed-units")) return;
    const auto length =
        ttl->value * as_double(ttl->unit) - (ttl->is_absolute ? as_double(request.at) : 0);
    if (length < std::max(kThousand * as_double(longest), as_double(kDay))) return;
    flaws.add({.name = "long-ttl",
               .line = call.line,
               .severity = Severity::kNote,
               .what = text_of(call),
               .detail = fmt::format(
                   "The key has a TTL of {}, but the window is {}.",
                   span_text(std::chrono::microseconds(std::llround(std::min(length, kLongest)))),
                   period_text(observation.window)),
               .fix = "set a TTL of about the window, unless it is meant for longer ones"});
  });
}

// ---- Scores in another unit ----

/// The units of the scores of each key.
using ScoreUnits = std::map<std::string, std::set<const Unit*>>;

ScoreUnits score_units(const Observation& observation) {
  ScoreUnits units;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    for (const auto score : scores_of(call)) {
      if (const auto* unit = unit_of(score, request.at)) units[call.words[1]].insert(unit);
    }
  });
  return units;
}

void add_bound_finding(const Call& call, std::string detail, Flaws& flaws) {
  flaws.add({.name = "mixed-units",
             .line = call.line,
             .severity = Severity::kCritical,
             .what = text_of(call),
             .detail = std::move(detail),
             .fix = "use one unit of time for scores, bounds and the window"});
}

/// How long ago the bounds of a line are. If always 60 ms, the window of 60 s is in another unit.
struct Distances {
  const Call* call = nullptr;
  const Unit* unit = nullptr;
  double distance = 0;
  int count = 0;
  bool always = true;
};

bool is_window_in_another_unit(double ratio) {
  constexpr std::array kRatios{1e-6, 1e-3, 1e3, 1e6};
  return std::any_of(kRatios.begin(), kRatios.end(),
                     [ratio](double each) { return is_near(ratio, each); });
}

void find_bounds_in_other_units(const Observation& observation, Flaws& flaws) {
  const auto units = score_units(observation);
  std::map<int, Distances> lines;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    for (const auto bound : score_bounds_of(call)) {
      const auto* unit = unit_of(bound, request.at);
      if (unit == nullptr) continue;
      const auto scores = units.find(call.words[1]);
      if (scores != units.end() && scores->second.count(unit) == 0) {
        add_bound_finding(call,
                          fmt::format("The scores of {} are in {}, but this bound is in {}.",
                                      quoted_and_masked(call.words[1]),
                                      (*scores->second.begin())->name, unit->name),
                          flaws);
        continue;
      }
      auto& seen = lines[call.line];
      const auto distance = std::floor(as_double(request.at) / unit->in_us) - bound;
      const auto ratio = distance * unit->in_us / as_double(observation.window);
      if (seen.count++ == 0) seen = {&call, unit, distance, 1};
      seen.always &= is_window_in_another_unit(ratio);
    }
  });
  for (const auto& [line, seen] : lines) {
    if (!seen.always || seen.count < 2) continue;
    add_bound_finding(*seen.call,
                      fmt::format("The bound is {:g} {} ago, but the window is {}.", seen.distance,
                                  seen.unit->name, period_text(observation.window)),
                      flaws);
  }
}

/// A time that the script compares with a window in another unit.
void find_time_in_other_unit(const Observation& observation, Flaws& flaws) {
  const auto* call = time_stored_in(observation);
  if (!has_cause(observation, Cause::Kind::kUnit) || call == nullptr) return;
  if (flaws.has("mixed-units", Severity::kCritical)) return;  // which a TTL's may explain
  const auto& [kind, given, meant] = *observation.cause;
  flaws.add(
      {.name = "mixed-units",
       .line = call->line,
       .severity = Severity::kCritical,
       .what = text_of(*call),
       .detail = fmt::format("The stored time is in another unit than what it is compared "
                             "with, so that requests do not leave the window of {} in "
                             "time.{} With {}, they do.",
                             period_text(observation.window), denial_detail(observation), meant),
       .fix = fmt::format("use {} in place of {}", meant, given)});
}

// ---- Times too coarse for the window ----

void add_coarse_time(const Observation& observation, const Call& call, Flaws& flaws) {
  flaws.add(
      {.name = "coarse-time",
       .line = call.line,
       .severity = observation.window <= 2 * kOneSecond ? Severity::kCritical : Severity::kWarning,
       .what = text_of(call),
       .detail = fmt::format(
           "Times are whole seconds. A request leaves the window of {} up to a second early, "
           "together with all others of its second.",
           period_text(observation.window)),
       .fix = "use milliseconds or microseconds"});
}

void find_coarse_scores(const Observation& observation, Flaws& flaws) {
  std::set<std::string> pruned;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    for (const auto bound : score_bounds_of(call)) {
      if (unit_of(bound, request.at) == kUnits.begin()) pruned.insert(call.words[1]);
    }
  });
  std::set<int> fractions;
  const Call* first = nullptr;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    if (call.words.size() < 2 || pruned.count(call.words[1]) == 0) return;
    for (const auto score : scores_of(call)) {
      if (unit_of(score, request.at) != kUnits.begin()) continue;
      if (score != std::floor(score)) fractions.insert(call.line);
      if (request.at % kOneSecond != std::chrono::microseconds{0} && first == nullptr)
        first = &call;
    }
  });
  if (first == nullptr || !fractions.empty()) return;
  add_coarse_time(observation, *first, flaws);
}

/// Whether the text contains the time of the request in whole seconds.
bool holds_second(const std::string& text, std::chrono::microseconds at) {
  const auto second = std::to_string(at / kOneSecond);
  for (auto i = text.find(second); i != text.npos; i = text.find(second, i + 1)) {
    const auto end = i + second.size();
    const bool is_whole = (i == 0 || !is_digit(text[i - 1])) &&
                          (end == text.size() || (!is_digit(text[end]) && text[end] != '.'));
    if (is_whole) return true;
  }
  return false;
}

/// The words of a call that are a key, a field of a hash or its value.
std::vector<std::size_t> places_of_times(const Call& call) {
  std::vector<std::size_t> places;
  const auto command = command_of(call);
  const bool is_hash = command == "hset" || command == "hmset" || command == "hsetnx" ||
                       command == "hincrby" || command == "hincrbyfloat";
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    if (is_hash ? i > 1 || contains(call.keys, call.words[i]) : contains(call.keys, call.words[i]))
      places.push_back(i);
  }
  return places;
}

/// Keys and fields that are the second of each request.
void find_coarse_words(const Observation& observation, Flaws& flaws) {
  struct Seen {
    const Call* first = nullptr;
    std::set<std::string> words;
    bool always = true, is_rounded = false;
  };
  std::map<std::pair<int, std::size_t>, Seen> places;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    if (!call.writes || is_upkeep(call)) return;
    for (const auto i : places_of_times(call)) {
      auto& seen = places[{call.line, i}];
      if (seen.first == nullptr) seen.first = &call;
      seen.words.insert(call.words[i]);
      seen.always &= holds_second(call.words[i], request.at);
      // The start of a clock's window is exact.
      seen.is_rounded |= request.at % kOneSecond != std::chrono::microseconds{0} &&
                         request.at % observation.window >= kOneSecond;
    }
  });
  constexpr std::size_t kFew = 3;
  for (const auto& [place, seen] : places) {
    if (!seen.always || !seen.is_rounded || seen.words.size() < kFew) continue;
    add_coarse_time(observation, *seen.first, flaws);
  }
}

void find_coarse_times(const Observation& observation, Flaws& flaws) {
  constexpr int kPartOfWindow = 100;
  if (observation.window > kPartOfWindow * kOneSecond) return;
  if (has_cause(observation, Cause::Kind::kUnit)) return;  // their unit is why
  find_coarse_scores(observation, flaws);
  // The number of a window of one second is its time.
  if (observation.window > kOneSecond) find_coarse_words(observation, flaws);
}

// ---- Digits that are lost ----

/// As tostring() and .. write a number.
std::string as_lua_text(double value) {
  return fmt::format("{:.14g}", value);
}

bool is_exact(const std::string& text, double value) {
  return number_in(text) == value;
}

/// The numbers in a text: "1.7e+15" in "ann:1.7e+15".
std::vector<std::string> numbers_in(std::string_view text) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      ++i;
      continue;
    }
    auto end = i;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    const auto exponent = text.substr(end, 2);
    if (exponent == "e+" || exponent == "e-") {
      auto after = end + 2;
      while (after < text.size() && is_digit(text[after])) ++after;
      if (after > end + 2) end = after;
    }
    numbers.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return numbers;
}

/// The numbers that the script knows: its arguments and the time.
std::vector<double> known_numbers(const Request& request) {
  constexpr double kThousand = 1000;
  std::vector<double> known{as_double(request.at) / kSecondUs, as_double(request.at),
                            as_double(request.at) * kThousand};
  for (const auto& argument : request.arguments) {
    if (const auto value = number_in(argument)) known.push_back(*value);
  }
  return known;
}

/// Whether only "%.14g" writes a number like this: from 1e14 on with an exponent and at most 14
/// digits. Servers that use exponents themselves write all digits.
bool has_lua_exponent(const std::string& text) {
  constexpr double kMin = 1e14, kMax = 1e17;
  constexpr int kDigits = 14;
  const auto exponent = text.find("e+");
  const auto value = number_in(text);
  if (exponent == text.npos || !value || *value < kMin || *value >= kMax) return false;
  return std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(exponent),
                       [](char c) { return is_digit(c); }) <= kDigits;
}

/// The number whose last digits are missing in this text; std::nullopt if it may be complete.
std::optional<double> cut_number(const std::string& text, const Request& request) {
  for (const auto value : known_numbers(request)) {
    if (text == as_lua_text(value) && !is_exact(text, value)) return value;
  }
  return has_lua_exponent(text) ? number_in(text) : std::nullopt;
}

/// Whether the caller passed the number as this text.
bool was_passed(const std::string& number, const Request& request) {
  const auto holds = [&](const std::string& word) { return word.find(number) != word.npos; };
  return std::any_of(request.keys.begin(), request.keys.end(), holds) ||
         std::any_of(request.arguments.begin(), request.arguments.end(), holds);
}

void find_lost_digits(const Observation& observation, Flaws& flaws) {
  for_each_call(observation, [&](const Request& request, const Call& call) {
    for (std::size_t i = 1; i < call.words.size(); ++i) {
      for (const auto& number : numbers_in(call.words[i])) {
        const auto value = was_passed(number, request) ? std::nullopt : cut_number(number, request);
        if (!value) continue;
        const bool is_known = !is_exact(number, *value);
        flaws.add({.name = "number-as-text",
                   .line = call.line,
                   .what = text_of(call),
                   .detail = fmt::format(
                       "{} has lost digits{}. tostring() and .. write at most 14, so that "
                       "different times become the same text.",
                       number, is_known ? fmt::format(": it was {:.17g}", *value) : ""),
                   .fix = "pass the number itself, or string.format('%.0f', n) or '%.17g'"});
      }
    }
  });
}

}  // namespace

std::span<const FindingKind> finding_kinds() {
  return kKinds;
}

std::string lock_out_detail(const LockOut& lock_out, bool counts) {
  const auto cost = lock_out.cost == 1 ? "" : fmt::format(" of cost {}", lock_out.cost);
  return fmt::format(
      "{}A client that keeps trying is locked out. Of {} requests{} in {}, {} apart, {} were "
      "allowed; a client that waits in silence is let in after {}.",
      counts ? "The request was denied but still counts. " : "", lock_out.sent, cost,
      span_text(lock_out.span), span_text(lock_out.gap), lock_out.allowed,
      span_text(lock_out.wait));
}

std::string renewal_detail(const Renewal& renewal) {
  return fmt::format(
      "A client below the limit of {} was denied: {} of {} requests, one each {}, the first {} "
      "after a window of the clock began.",
      renewal.limit, renewal.denied, renewal.sent, span_text(renewal.gap),
      span_text(renewal.phase));
}

Finding free_pass_finding(const FreePass& pass) {
  return {.name = "free-pass",
          .severity = Severity::kCritical,
          .what = pass.schedule,
          .detail = fmt::format("{} after the limit was reached, {} of {} requests of an instant "
                                "were allowed, more than at first.",
                                span_text(pass.after), pass.allowed, pass.sent),
          .fix = "count at the end of a window, or of a wait, as at any other time"};
}

void drop_followers(std::vector<Finding>& findings) {
  const bool is_explained = std::ranges::any_of(findings, [](const auto& each) {
    return each.severity == Severity::kCritical && each.excuse.empty() && !each.may_follow;
  });
  if (is_explained) std::erase_if(findings, [](const auto& each) { return each.may_follow; });
}

const Call* time_stored_in(const Observation& observation) {
  const Call* first = nullptr;
  for_each_call(observation, [&](const Request& request, const Call& call) {
    const bool holds_time = std::ranges::any_of(call.words, [&](const auto& word) {
      return unit_of(number_in(word).value_or(0), request.at) != nullptr;
    });
    if (first == nullptr && call.writes && !is_upkeep(call) && holds_time) first = &call;
  });
  return first;
}

std::vector<Finding> find_flaws(const Observation& observation) {
  Flaws flaws;
  find_undeclared_keys(observation, flaws);
  find_cross_slots(observation, flaws);
  find_doubled_keys(observation, flaws);
  find_missing_ttls(observation, flaws);
  find_growth(observation, flaws);
  find_ttls_in_other_units(observation, flaws);
  find_long_ttls(observation, flaws);  // after the units, which may explain it
  find_forgotten(observation, flaws);  // likewise
  find_bounds_in_other_units(observation, flaws);
  find_time_in_other_unit(observation, flaws);
  find_coarse_times(observation, flaws);
  find_lost_digits(observation, flaws);
  find_shared_members(observation, flaws);
  find_late_pruning(observation, flaws);
  find_counted_denials(observation, flaws);
  find_free_passes(observation, flaws);
  find_renewed_windows(observation, flaws);
  find_unknown_flags(observation, flaws);
  return flaws.take();
}

std::vector<Finding> find_lease_flaws(const LeaseObservation& observation) {
  std::vector<Finding> findings;
  const auto& [limit, held, overfilled, is_by_release, leak, is_for_ever, clock] = observation;
  if (!leak.empty() && is_for_ever) {
    findings.push_back({.name = "endless-lease",
                        .severity = Severity::kCritical,
                        .what = leak,
                        .detail = "A slot that nobody has is still taken a year later.",
                        .fix =
                            "store when each lease ends, and remove those that have ended "
                            "before you count; give the key a TTL, also if a release writes it"});
  } else if (!leak.empty()) {
    findings.push_back({.name = "leaked-slot",
                        .severity = Severity::kCritical,
                        .what = leak,
                        .detail = "New holders do not get a slot that nobody has, long after its "
                                  "lease ended.",
                        .fix = "store when each lease ends, not only when the key does, and "
                               "remove those that have ended before you count"});
  }
  if (!overfilled.empty()) {
    const auto detail = fmt::format("Up to {} hold at once, against a limit of {}.", held, limit);
    findings.push_back(
        {.name = is_by_release ? "frees-another" : "too-many-leases",
         .severity = Severity::kCritical,
         .what = overfilled,
         .detail =
             is_by_release
                 ? "A release by a client without a lease frees the slot of another. " + detail
                 : detail,
         .fix = is_by_release ? "store the holder's name with each lease, and let a release remove "
                                "only its own"
                              : "let each lease end by a time of its own"});
  }
  if (!clock.empty()) {
    findings.push_back({.name = "holder-clock",
                        .severity = Severity::kWarning,
                        .what = clock + " in --args",
                        .detail = "Leases end by the clocks of the holders: one whose clock is "
                                  "fast ends the leases of all others too early.",
                        .fix = "let the script call TIME"});
  }
  return findings;
}

std::vector<Finding> find_budget_flaws(const BudgetObservation& observation) {
  std::vector<Finding> findings;
  const auto& seen = observation;
  const auto add = [&](std::string_view name, const std::string& what, std::string detail,
                       std::string fix) {
    findings.push_back({.name = name,
                        .severity = Severity::kCritical,
                        .what = what,
                        .detail = std::move(detail),
                        .fix = std::move(fix)});
  };
  if (!seen.leak.empty() && seen.is_for_ever) {
    add("endless-hold", seen.leak,
        "Units are still held a year after the holder died or settled: nothing ends the hold.",
        "store when each hold ends, and give back the units of those that have ended before you "
        "count");
  } else if (!seen.leak.empty() && seen.is_repeated) {
    add("spent-twice", seen.leak, "A settle that comes twice, as a retry does, is spent twice.",
        "remember which reservations were settled, and do nothing the second time");
  } else if (!seen.leak.empty()) {
    add("leaked-units", seen.leak,
        "A reserve is denied although its units are neither spent nor held.",
        "give back the units of each hold that has ended before you count");
  }
  if (!seen.overfilled.empty()) {
    const auto detail = fmt::format(
        "Up to {} units are spent and held at once, against a limit of {}.", seen.used, seen.limit);
    if (!seen.is_held) {
      add("unspent", seen.overfilled, "What a settle says was spent is not all counted. " + detail,
          "let each first settle add the actual cost, also when it is more than the units, or when "
          "the hold has ended");
    } else if (seen.is_by_settle) {
      add("double-refund", seen.overfilled,
          "A settle gives back units that were given back before, or never held. " + detail,
          "let a settle give back units only if its reservation still holds them");
    } else {
      add("over-budget", seen.overfilled, detail,
          "let each hold end by a time of its own, and not before");
    }
  }
  if (!seen.endless_key.empty()) {
    findings.push_back({.name = "no-ttl",
                        .what = seen.endless_key,
                        .detail = "A key that the scripts wrote never expires: the keys of all who "
                                  "never come back stay in memory.",
                        .fix = "set a TTL that covers the window and all holds"});
  }
  return findings;
}

}  // namespace rlctl::lint
