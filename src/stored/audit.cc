#include "stored/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "redis/cluster.h"
#include "redis/server.h"
#include "stored/families.h"

namespace rlctl::stored {
namespace {

using std::chrono::milliseconds;

/// TTLs are in milliseconds, and libraries set them in seconds.
constexpr std::chrono::seconds kTtlRounding{1};
/// A TTL that is this many times as long as the key can be in use...
constexpr int kTooManyWindows = 1000;
/// ... and longer than this, which the scripts add for a caller's clock, and as much again.
constexpr std::chrono::hours kLongTtl{2};
/// Few limiters count for longer than a year: above that, the TTL of a key whose window is not
/// known is suspicious, and so is the TTL of another key if it is this many times its window.
constexpr std::chrono::days kLongestPeriod{367};
constexpr int kTooManyPeriods = 10;
/// As few reservations that were never settled may be those of a caller that died...
constexpr std::int64_t kFewUnsettled = 2;
/// ... or be settled late, unless they are at least one in so many of those that have ended.
constexpr std::int64_t kOneUnsettledIn = 10;
/// More entries are kept in a skip list with a hash table (zset-max-listpack-entries).
constexpr std::int64_t kManyEntries = 128;

using Words = std::vector<std::string>;

Words inspect_command(const Inspection& key) {
  return {"rlctl", "inspect", "--", key.key};
}

/// Whether no other program keeps the key. Others keep lists of numbers that may be times, too:
/// such a log is only known by a policy, or by the window in its name and its TTL.
bool is_surely_ours(const Inspection& key) {
  if (!key.state.is_ours()) return false;
  if (key.state.form->layout != Layout::kTimes) return key.state.certain;
  const bool is_told = key.window && !key.window_is_inferred;
  return is_told || (key.state.certain && window_in_name(key.key));
}

/// Sets the command that changes or removes the key; of a key that others may keep, what to look
/// at.
void set_fix(Finding& finding, const Inspection& key, Words command) {
  finding.command = std::move(command);
  if (is_surely_ours(key)) return;
  if (key.state.is_ours()) {
    finding.advice = "it may belong to another program, look at it first";
    finding.command = inspect_command(key);
  } else {
    finding.advice = "another program keeps it, find out first whether it may be changed";
    if (finding.command.front() == "rlctl") {
      finding.command.insert(finding.command.begin() + 2, "--force");
    }
  }
}

void set_reset(Finding& finding, const Inspection& key) {
  set_fix(finding, key, {"rlctl", "reset", "--", key.key});
}

void set_expire(Finding& finding, const Inspection& key, microseconds needed) {
  auto ttl = std::chrono::ceil<milliseconds>(needed);
  if (key.state.budget) {
    // Until then the script sets no TTL that ends earlier.
    const auto relied_on = key.state.budget->expires - key.server_now;
    ttl = std::max(ttl, std::chrono::ceil<milliseconds>(relied_on) + milliseconds{1});
  }
  set_fix(finding, key, {"redis-cli", "PEXPIRE", key.key, std::to_string(ttl.count())});
}

/// How long a full key takes to be unused: a bucket with a burst longer than its window; a budget
/// remembers its reservations.
microseconds longest_use(const Inspection& key) {
  const auto window = key.window.value_or(microseconds{0});
  if (key.state.budget) return std::max(window, key.reset_after.value_or(microseconds{0}));
  const auto capacity = key.capacity();
  if (!capacity || !key.limit || *key.limit <= 0) return window;
  const double share = static_cast<double>(*capacity + 1) / static_cast<double>(*key.limit);
  const double us = static_cast<double>(window.count()) * std::max(share, 1.0);
  constexpr auto kMax = static_cast<double>(limiter::kLongestRefill.count());
  return microseconds{static_cast<std::int64_t>(std::min(us, kMax))};
}

/// How long the key must be there; 0 if that is not known.
microseconds needed_ttl(const Inspection& key) {
  // kNever is less than 0.
  return std::max({microseconds{0}, key.reset_after.value_or(microseconds{0}),
                   key.window.value_or(microseconds{0})});
}

bool is_full(const Inspection& key) {
  const auto capacity = key.capacity();
  return key.used && capacity && *key.used >= *capacity;
}

std::string used_text(const Inspection& key) {
  const auto capacity = key.capacity();
  const auto& counts = key.state.counts;
  if (!key.used && key.state.left) return looks_text(key.state) + " left";
  if (capacity && key.used) return fmt::format("{} of {}", key.used_text(), *capacity);
  const auto used = key.used || counts.empty() ? key.used.value_or(0) : counts.back().units;
  if (capacity) return fmt::format("{} of {}", used, *capacity);
  return key.state.fraction ? looks_text(key.state) + " units" : counted(used, "unit");
}

/// The count of a window that only a TTL ends, and what it means without one.
std::string endless_text(const Inspection& key) {
  const auto& state = key.state;
  const auto& counts = state.counts;
  const auto count = state.fraction.value_or(counts.empty() ? 0 : as_double(counts.back().units));
  if (count < 0 && !state.left) {
    return fmt::format("at {0:.15g}, it allows {1:.15g} units more than its limit", count, -count);
  }
  return used_text(key) + (is_full(key) ? " used, denied forever" : " used forever");
}

std::optional<Finding> no_ttl(const Inspection& key) {
  if (key.ttl || (key.state.form->never_expires && !key.state.is_ban)) return std::nullopt;
  if (!key.state.part_of.empty() && !key.state.is_ban) return std::nullopt;
  Finding finding{.kind = FindingKind::kNoTtl};
  if (key.state.is_ban) {
    finding.is_critical = true;
    finding.detail =
        fmt::format("no TTL: it denies all requests for '{}' forever", escape(key.state.part_of));
    set_reset(finding, key);
    return finding;
  }
  if (key.state.form->ends_by_ttl) {
    finding.is_critical = true;
    finding.detail = "no TTL, and only a TTL would end its window: " + endless_text(key);
    set_reset(finding, key);
    return finding;
  }
  finding.detail = "no TTL: it stays in memory when nothing of it counts any more";
  const auto needed = needed_ttl(key);
  // Removing it would let in whoever is denied.
  if (needed > microseconds{0}) {
    set_expire(finding, key, needed);
  } else {
    finding.command = inspect_command(key);
  }
  return finding;
}

/// The latest time that the key stores, and how far ahead of the clock it may be.
struct LatestTime {
  microseconds at{0}, most_ahead{0};
};

std::optional<LatestTime> latest_time(const Inspection& key) {
  const auto& state = key.state;
  const auto& form = *state.form;
  if (form.layout == Layout::kLeases) {
    // Leases lapse in the future, but were taken in the past.
    if (form.held.count() == 0 || !key.reset_after) return std::nullopt;
    return LatestTime{.at = key.server_now + *key.reset_after - form.held};
  }
  if (key.newest) return LatestTime{.at = *key.newest};
  if (state.time) {
    // A theoretical arrival time is ahead by what is used, at most by the burst.
    const bool is_arrival = form.name == "gcra" || form.name == "leaky-bucket";
    if (!is_arrival) return LatestTime{.at = *state.time};
    if (!key.limit || !key.window) return std::nullopt;
    return LatestTime{.at = *state.time, .most_ahead = longest_use(key)};
  }
  if (state.counts.empty() || state.counts.back().at.count() == 0) return std::nullopt;
  return LatestTime{.at = state.counts.back().at};
}

std::optional<Finding> future(const Inspection& key, microseconds clock_behind) {
  const auto latest = latest_time(key);
  if (!latest) return std::nullopt;
  const auto ahead = latest->at - key.server_now;
  const auto most = latest->most_ahead + kClockError;
  if (ahead <= most) return std::nullopt;
  Finding finding{.kind = FindingKind::kFuture, .is_critical = true};
  finding.detail = fmt::format("holds the time {}, {} ahead of the server",
                               instant_text(latest->at), wait_text(ahead));
  if (ahead <= most + clock_behind) {
    finding.detail += fmt::format(
        ", whose clock is {} behind the one of this machine: until both are right, "
        "requests are denied for longer than the limit says",
        wait_text(clock_behind));
    finding.advice = "set the clocks of the server and of this machine right, then look again";
    return finding;
  }
  finding.detail += ": a clock was wrong, and requests are denied for longer than the limit says";
  set_reset(finding, key);
  return finding;
}

std::optional<Finding> ttl_short(const Inspection& key) {
  if (!key.ttl || !key.reset_after || *key.reset_after == limiter::kNever) return std::nullopt;
  // Other libraries store the times of their callers.
  const microseconds error = key.state.is_ours() ? kTtlRounding : kClockError;
  if (key.state.form->ends_by_ttl || *key.ttl + error >= *key.reset_after) return std::nullopt;
  Finding finding{.kind = FindingKind::kTtlShort,
                  .is_critical = true,
                  .detail = fmt::format("expires in {}, but what is used counts for {}: the limit "
                                        "is forgotten early",
                                        wait_text(*key.ttl), wait_text(*key.reset_after))};
  set_expire(finding, key, *key.reset_after);
  return finding;
}

bool is_ttl_too_long(const Inspection& key) {
  const auto use = longest_use(key);
  return (*key.ttl > kLongTtl && *key.ttl / kTooManyWindows > use) ||
         (*key.ttl > kLongestPeriod && *key.ttl / kTooManyPeriods > use);
}

std::optional<Finding> ttl_long(const Inspection& key) {
  if (!key.ttl || !key.reset_after) return std::nullopt;
  Finding finding{.kind = FindingKind::kTtlLong};
  if (!key.window) {
    if (!key.state.form->ends_by_ttl || *key.ttl <= kLongestPeriod) return std::nullopt;
    finding.detail =
        fmt::format("its window ends only in {}: {} used", wait_text(*key.ttl), used_text(key));
    set_reset(finding, key);
    return finding;
  }
  if (!is_ttl_too_long(key)) return std::nullopt;
  if (key.state.form->ends_by_ttl) {
    finding.is_critical = is_full(key);
    finding.detail = fmt::format("its window of {} ends only in {}: {} used",
                                 format_duration(*key.window), wait_text(*key.ttl), used_text(key));
    set_reset(finding, key);
  } else {
    finding.detail = fmt::format("expires in {}, with a window of {}: it wastes memory",
                                 wait_text(*key.ttl), format_duration(*key.window));
    set_expire(finding, key, needed_ttl(key));
  }
  return finding;
}

std::optional<Finding> zset_log(const Inspection& key) {
  if (key.state.form->layout != Layout::kScores || key.stored <= kManyEntries) {
    return std::nullopt;
  }
  const auto bytes = key.bytes ? fmt::format(" in {} bytes", *key.bytes) : std::string();
  return Finding{.kind = FindingKind::kZsetLog,
                 .detail = fmt::format("{} entries of a sorted set{}: a list takes a twelfth",
                                       key.stored, bytes),
                 .advice = "count with sliding-window-log, which keeps the same in a list"};
}

std::optional<Finding> negative(const Inspection& key) {
  const auto& state = key.state;
  const auto tokens = state.bucket ? std::optional(state.bucket->tokens) : std::nullopt;
  if (!tokens || *tokens >= 0) return std::nullopt;
  Finding finding{.kind = FindingKind::kNegative,
                  .detail = fmt::format("{} tokens: more were taken than there were, and requests "
                                        "are denied until they have come back",
                                        *tokens)};
  set_reset(finding, key);
  return finding;
}

/// What only looks like a count or a window, and expires never or in years: perhaps it locks
/// somebody out, or it is something else.
std::optional<Finding> maybe_locked(const Inspection& key) {
  const bool is_long = key.ttl && *key.ttl > kLongestPeriod;
  if ((key.ttl && !is_long) || !key.state.form->library.empty()) return std::nullopt;
  const bool is_window = key.state.form->layout == Layout::kScores;
  Finding finding{.kind = is_long ? FindingKind::kTtlLong : FindingKind::kNoTtl,
                  .command = inspect_command(key)};
  if (is_long) {
    finding.detail = fmt::format("expires in {}: if this {}", wait_text(*key.ttl),
                                 is_window ? "is a limiter's window, it stays in memory until then"
                                           : "counts requests, it resets only then");
  } else {
    finding.detail = is_window ? "no TTL: if it is a limiter's window, it stays in memory, and "
                                 "nothing removes what has left it"
                               : "no TTL: if this counts requests, it never resets";
  }
  return finding;
}

std::optional<Finding> incomplete(const Inspection& key) {
  if (!key.state.is_incomplete) return std::nullopt;
  return Finding{.kind = FindingKind::kIncomplete,
                 .detail = key.state.unknown + ": how much is used is not known",
                 .command = inspect_command(key)};
}

/// Counts reservations that are still remembered: as long after their hold as it lasted, however
/// they ended.
std::optional<Finding> unsettled(const Inspection& key) {
  const auto lapsed = key.count(limiter::ReservationState::kLapsed);
  const auto ended = lapsed + key.count(limiter::ReservationState::kSettled);
  if (lapsed <= kFewUnsettled || lapsed * kOneUnsettledIn < ended) return std::nullopt;
  Finding finding{.kind = FindingKind::kUnsettled,
                  .detail = fmt::format("{} of {} reservations lapsed and were not settled: what "
                                        "they cost is not counted",
                                        lapsed, ended)};
  if (is_full(key) && key.held > 0) {
    finding.is_critical = true;
    finding.detail += fmt::format(", and {} held units deny requests now", *key.held);
  }
  finding.advice =
      "settle or release each reservation, also after an error, and hold for long enough";
  finding.command = inspect_command(key);
  return finding;
}

std::optional<Finding> many_held(const Inspection& key) {
  const auto held = key.holds;
  if (held < static_cast<std::int64_t>(limiter::kManyReservations)) return std::nullopt;
  const bool is_closed = key.is_closed_by_reservations();
  return Finding{
      .kind = FindingKind::kManyHeld,
      .is_critical = is_closed,
      .detail =
          is_closed
              ? fmt::format("{}: any other is denied until one of them ends, although {} "
                            "units remain",
                            limiter::kAllReservationsHeld, key.remaining.value_or(0))
              : fmt::format("{0} reservations are held: at {1}, any other is denied, whatever "
                            "remains",
                            held, limiter::kMostReservations),
      .command = inspect_command(key),
      .advice =
          "settle or release reservations early, hold for a shorter time, or use several keys"};
}

std::optional<Finding> two_slots(const Inspection& key) {
  const auto& partner = key.state.partner;
  if (partner.empty() || !key.state.form->is_called_with_partner ||
      redis::slot_of(key.key) == redis::slot_of(partner))
    return std::nullopt;
  return Finding{.kind = FindingKind::kTwoSlots,
                 .detail = fmt::format("a decision also needs '{}', which is in another slot: the "
                                       "script fails with CROSSSLOT",
                                       escape(partner)),
                 .advice = "give the keys of a decision a common hash tag"};
}

}  // namespace

bool is_ttl_judged(const Inspection& inspection) {
  return !inspection.ttl || inspection.reset_after;
}

std::vector<Finding> audit(const Inspection& inspection, bool has_slots,
                           microseconds clock_behind) {
  std::vector<Finding> findings;
  if (!inspection.is_limiter()) return findings;
  const auto add = [&](std::optional<Finding> finding) {
    if (!finding) return;
    finding->key = inspection.key;
    if (!inspection.limits_differ.empty()) finding->detail += "; " + inspection.limits_differ;
    findings.push_back(*std::move(finding));
  };
  if (!inspection.is_recognized()) {
    add(maybe_locked(inspection));
    return findings;
  }
  add(no_ttl(inspection));
  // A clock that was wrong has made the TTL wrong, too.
  auto ahead = future(inspection, clock_behind);
  if (!ahead && is_ttl_judged(inspection)) {
    add(ttl_short(inspection));
    add(ttl_long(inspection));
  }
  add(std::move(ahead));
  add(negative(inspection));
  add(incomplete(inspection));
  add(unsettled(inspection));
  add(many_held(inspection));
  add(zset_log(inspection));
  if (has_slots) add(two_slots(inspection));
  return findings;
}

std::string evictions_text(std::int64_t count) {
  if (count <= 0) return "";
  return fmt::format("; {} {} evicted", counted(count, "key"), count == 1 ? "was" : "were");
}

ServerAudit audit_servers(redis::Connection& connection) {
  const auto servers = connection.servers();
  constexpr std::array<std::string_view, 1> kInfo{"INFO"}, kTime{"TIME"};
  const auto asked_at = system_time();
  for (const auto& server : servers) {
    connection.append_to(server, kTime);
    connection.append_to(server, kInfo);
  }
  ServerAudit result;
  for (const auto& server : servers) {
    const auto time = connection.read();
    const auto info = connection.read();
    if (const auto* failed = redis::failure_of(info)) {
      result.lost = *failed;
      continue;
    }
    if (time.size() == 2) {
      const auto behind = asked_at - redis::server_time(time);
      if (behind > kClockError) result.clock_behind = std::max(result.clock_behind, behind);
    }
    if (info.is_error()) {
      result.is_complete = false;
      continue;
    }
    const auto fact = [&](std::string_view name) { return redis::info_field(info.text(), name); };
    const auto policy = fact("maxmemory_policy");
    if (fact("maxmemory") == "0" || policy.empty() || policy == "noeviction") continue;
    const auto evicted = to_number<std::int64_t>(fact("evicted_keys")).value_or(0);
    result.findings.push_back(
        {.kind = FindingKind::kEviction,
         .is_critical = evicted > 0,
         .detail =
             fmt::format("{}{}maxmemory-policy {} may delete limiters to make room, which then "
                         "allow their full limit{}",
                         server, server.empty() ? "" : ": ", policy, evictions_text(evicted)),
         .advice = "set maxmemory-policy noeviction, on a server of its own for limiters"});
  }
  return result;
}

}  // namespace rlctl::stored
