#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "lint/calls.h"
#include "lint/flaws.h"

namespace rlctl::lint {
namespace {

// ---- Members that are not unique ----

/// A call that adds members, of which none was new.
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

/// Whether a request that may have been allowed left no more behind than members that were there.
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
  // The members of a registry never change; those of a log do.
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
               in_quotes(members.front()), uses_random ? kRandom : ""),
           .fix = "make each member unique, for example with an ID that the caller passes"});
    }
    for (const auto& call : request.calls) {
      if (!members_of(call).empty()) before.emplace_back(request.run, &call);
    }
  }
}

// ---- Denied requests that count ----

void find_counted_denials(const Observation& observation, Flaws& flaws) {
  if (!observation.counted_denial) return;
  const auto& calls = observation.requests[*observation.counted_denial].calls;
  auto call = std::find_if(calls.begin(), calls.end(),
                           [](const Call& each) { return each.writes && !is_upkeep(each); });
  if (call == calls.end()) {
    // It only renews the TTL of what others left: removing elements locks nobody out.
    call = std::find_if(calls.begin(), calls.end(),
                        [](const Call& each) { return ttl_set_by(each).has_value(); });
  }
  if (call == calls.end()) return;
  flaws.add({.name = "denied-write",
             .line = call->line,
             .what = text_of(*call),
             .detail = "The request was denied but still counts: a client that keeps "
                       "trying is locked out for as long as it tries.",
             .fix = "count first, and write only if the request is allowed"});
}

// ---- Counting before pruning ----

/// The last call that counted the key, if it came before the call that removed `removed` elements.
const Call* stale_count(const Request& request, const Call& prune) {
  const Call* count = nullptr;
  bool is_pruned = false;
  for (const auto& call : request.calls) {
    if (&call == &prune) is_pruned = true;
    if (!counts_elements(call) || call.words[1] != prune.words[1]) continue;
    if (is_pruned) return nullptr;  // it counts again
    count = &call;
  }
  return count;
}

void find_late_pruning(const Observation& observation, Flaws& flaws) {
  for_each_call(observation, [&](const Request& request, const Call& prune) {
    if (request.allowed != false || command_of(prune) != "zremrangebyscore") return;
    const auto removed = integer_reply(prune).value_or(0);
    const auto* count = removed > 0 ? stale_count(request, prune) : nullptr;
    if (count == nullptr) return;
    const auto counted = integer_reply(*count).value_or(0);
    if (counted - removed > observation.limit) return;  // denied anyway
    flaws.add(
        {.name = "late-pruning",
         .line = count->line,
         .severity = Severity::kCritical,
         .what = text_of(*count),
         .detail = fmt::format("The request was denied because {} were counted, but line {} then "
                               "removed {} that had left the window.",
                               counted, prune.line, removed),
         .fix = fmt::format("remove old requests (line {}) before you count", prune.line)});
  });
}

}  // namespace

void find_miscounts(const Observation& observation, Flaws& flaws) {
  find_shared_members(observation, flaws);
  find_counted_denials(observation, flaws);
  find_late_pruning(observation, flaws);
}

}  // namespace rlctl::lint
