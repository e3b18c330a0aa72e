#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/commands/reset/session.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/server/asker.h"
#include "cli/server/connection.h"
#include "cli/server/targets.h"
#include "cli/terminal/terminal.h"
#include "limiter/check.h"
#include "redis/error.h"
#include "redis/scan.h"
#include "stored/backup.h"
#include "stored/families.h"
#include "stored/inspection.h"

namespace rlctl::cli::reset {
namespace {

using stored::KeptReason;
using stored::ResetOutcome;
using stored::ResetResult;
using stored::SeenKey;

// ---- KEY... ----

/// A key as the user gave it.
struct AskedKey {
  std::string key;
  std::vector<std::string> redis_keys;  ///< the key itself, and the keys for several limits
};

/// The limits of --limit or --policy, else of a policy in the configuration that matches the key.
std::vector<AskedKey> make_asked_keys(const Plan& plan, const Invocation& invocation) {
  const Limiter* limiter = plan.limiter ? &*plan.limiter : nullptr;
  const auto limits = limiter ? limiter->limits : std::vector<limiter::Limit>{};
  std::vector<AskedKey> asked;
  for (auto& key : asked_keys(limiter, invocation.operands)) {
    AskedKey each{.key = key, .redis_keys = {key}};
    auto derived = limiter::redis_keys(key, limits);
    if (const auto match = limiter
                               ? std::nullopt
                               : limiter::match_policy(invocation.configuration.policies(), key)) {
      each.redis_keys = {limiter::stored_key(*match, key)};
      derived.clear();
      if (!match->limit && limiter::can_carry_several_limits(each.redis_keys.front())) {
        derived = limiter::redis_keys(each.redis_keys.front(), match->policy->limits);
      }
    }
    for (auto& name : derived) {
      if (name != each.redis_keys.front()) each.redis_keys.push_back(std::move(name));
    }
    asked.push_back(std::move(each));
  }
  if (asked.empty()) {
    throw UsageError("no KEY given", "rlctl reset KEY, or rlctl reset --match PATTERN");
  }
  return asked;
}

/// Adds the stored keys of all limits to a key whose limits are not known.
void add_family(redis::Connection& connection, AskedKey& asked, Progress& progress) {
  auto family = stored::find_families(
      connection, {&asked.redis_keys.front(), 1}, stored::FamilyKeys::kLimiters,
      [&](double share) { progress.update(share, "the database"); });
  for (auto& name : family.front()) asked.redis_keys.push_back(std::move(name));
}

void add_new(std::vector<std::string>& names, std::span<const std::string> more) {
  for (const auto& name : more) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
}

/// The names that rlctl and the libraries derive from a key whose limits are not known: of common
/// windows, of leases, and of what may keep a user out although the key is gone. A limit with
/// another window has another name, which only a search of the whole database would find.
std::vector<std::string> known_names(const AskedKey& asked, const stored::Libraries& libraries) {
  const auto& key = asked.redis_keys.front();
  auto names = asked.redis_keys;
  add_new(names, stored::usual_family_names(key));
  if (limiter::can_carry_several_limits(key)) {
    const auto leases = limiter::leases_key(key);
    add_new(names, {&leases, 1});
  }
  add_new(names, libraries.lasting_siblings(key));
  return names;
}

/// Adds the known names of a few keys that exist and hold what such a name should hold.
void add_known_names(redis::Connection& connection, std::span<AskedKey> asked, Session& session) {
  std::vector<std::string> names;
  std::vector<std::size_t> ends;
  for (const auto& each : asked) {
    auto known = known_names(each, session.libraries);
    std::ranges::move(std::span(known).subspan(each.redis_keys.size()), std::back_inserter(names));
    ends.push_back(names.size());
  }
  auto wanted = names;
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  const auto readable = stored::readable_keys(connection, wanted);
  session.refused.add(readable);
  session.refused.found_readable();  // whether a KEY may be removed is seen when it is
  const auto contents = stored::read_contents(connection, readable, session.libraries);
  std::set<std::string_view> found;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto& name = readable.keys[i];
    const bool is_ours = stored::decode_ours(contents[i]).form != nullptr;
    const auto state = is_ours
                           ? stored::Decoded{}
                           : session.libraries.decode({.key = name, .content = &contents[i]}, {});
    // Others' parts are removed with the key to which they belong; a ban alone denies.
    const bool is_part = !state.part_of.empty() && (state.is_ban || session.plan.force);
    if (is_ours || is_part) found.insert(name);
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < asked.size(); begin = ends[i++]) {
    for (auto at = begin; at < ends[i]; ++at) {
      if (found.contains(names[at])) asked[i].redis_keys.push_back(names[at]);
    }
  }
}

void add_known_names(redis::Connection& connection, std::vector<AskedKey>& asked,
                     Session& session) {
  constexpr std::size_t kAtOnce = 100;
  for (std::span<AskedKey> rest(asked); !rest.empty();) {
    const auto some = rest.first(std::min(kAtOnce, rest.size()));
    add_known_names(connection, some, session);
    rest = rest.subspan(some.size());
    session.invocation.interrupt.check();
  }
}

/// Says at which names reset looks, since a name that is not known may keep a user out. Call it
/// before names are added.
std::string looked_at_text(std::span<const AskedKey> asked, const Session& session) {
  constexpr std::string_view kOthers =
      "; a limit with another window has another name: pass --limit or --policy";
  if (asked.size() > 1) {
    return fmt::format(
        "looked at each KEY, {{KEY}}:leases, and {{KEY}}:WINDOW for the windows {}{}",
        fmt::join(stored::usual_windows(), ", "), kOthers);
  }
  const auto& key = asked.front().redis_keys.front();
  const auto names = known_names(asked.front(), session.libraries);
  std::string out = "looked at " + key_text(key, session.look);
  if (!limiter::can_carry_several_limits(key)) return out;
  const auto prefix = limiter::family_prefix(key);
  std::string windows;
  for (const auto& name : std::span(names).subspan(1)) {
    if (name.starts_with(prefix) && stored::window_in_name(name)) {
      windows.append(windows.empty() ? "" : ", ").append(name, prefix.size());
    } else {
      out.append(", ").append(key_text(name, session.look));
    }
  }
  return fmt::format("{}, and {}WINDOW for the windows {}{}", out, key_text(prefix, session.look),
                     windows, kOthers);
}

std::string why_left(const ResetOutcome& outcome) {
  if (outcome.reason == KeptReason::kChanging) {
    return "other clients changed it before each attempt to remove it";
  }
  if (outcome.reason == KeptReason::kTooLarge) {
    return fmt::format("its dump is larger than {} MiB, and cannot be saved",
                       stored::kLongestDump >> 20);
  }
  if (!outcome.part_of.empty()) {
    return "it is a part of the state of " + quoted_and_masked(outcome.part_of);
  }
  if (outcome.reason == KeptReason::kForeign || outcome.reason == KeptReason::kUncertain) {
    const bool is_known = outcome.reason == KeptReason::kForeign && !outcome.form->library.empty();
    return "it holds " + stored::describe_form(*outcome.form) +
           (is_known ? ", not rlctl's" : ", and may belong to another program");
  }
  return "it holds " + stored::with_article(outcome.type) +
         " that is not known to be a limiter's state";
}

/// Reports the outcome for each Redis key, one line each, in the order of the asked keys. An asked
/// key for which nothing was found gets one line with its own name.
class KeysReport {
 public:
  KeysReport(std::vector<AskedKey> asked, Session& session)
      : asked_(std::move(asked)), session_(session) {
    std::unordered_set<std::string> seen;
    for (const auto& each : asked_) {
      for (const auto& key : each.redis_keys) {
        if (seen.insert(key).second) redis_keys_.push_back(key);
      }
      ends_.push_back(redis_keys_.size());
    }
  }

  /// All Redis keys, without duplicates.
  const std::vector<std::string>& redis_keys() const { return redis_keys_; }

  /// Adds the outcome for the next key.
  void add(const ResetOutcome& outcome) {
    while (owner_ < ends_.size() && ends_[owner_] <= outcomes_) ++owner_;
    ++outcomes_;
    if (outcome.result != ResetResult::kNone) {
      there_.insert(std::string(outcome.key));
      session_.add(outcome, looked_at(owner_));
    }
    if (outcome.reason && left_++ == 0) {
      first_left_key_ = outcome.key;
      first_left_ = "'" + std::string(outcome.key) + "': " + why_left(outcome);
    }
    const bool is_too_large = outcome.reason == KeptReason::kTooLarge;
    too_large_ = too_large_ || is_too_large;
    if (outcome.reason == KeptReason::kPart && part_hint_.empty()) {
      part_hint_ = "give " + quoted_and_masked(outcome.part_of) + " instead of " +
                   quoted_and_masked(outcome.key);
    }
    force_helps_ = force_helps_ ||
                   (outcome.reason && outcome.reason != KeptReason::kChanging && !is_too_large);
    for (; told_ < asked_.size() && ends_[told_] <= outcomes_; ++told_) tell(told_);
  }

  /// Call after the last add(). Throws ProblemError if a key was left.
  ExitStatus finish() const {
    if (left_ == 0) return session_.status_if(missing_ > 0);
    throw ProblemError(
        {.status = ExitStatus::kRejected,
         .code = "left",
         .message = (left_ == 1 ? "left " : count_of_keys(left_) + " were left; the first is ") +
                    first_left_,
         .hint = !part_hint_.empty() ? part_hint_
                 : force_helps_      ? inspect_hint(first_left_key_) + "; --force removes " +
                                      (left_ == 1 ? "it anyway" : "all of them, whatever they hold")
                 : too_large_ ? "without --save, rlctl reset removes it for good"
                              : "try again"});
  }

 private:
  /// The names that were looked at for this KEY, for its first line; else nothing.
  std::span<const std::string> looked_at(std::size_t index) {
    names_.clear();
    const bool is_first = index >= next_named_;
    const bool is_wanted = session_.invocation.json && !session_.plan.limiter;
    if (is_first && is_wanted) names_ = known_names(asked_[index], session_.libraries);
    next_named_ = std::max(next_named_, index + 1);
    return names_;
  }

  void tell(std::size_t index) {
    const auto& asked = asked_[index];
    const bool there = std::any_of(asked.redis_keys.begin(), asked.redis_keys.end(),
                                   [&](const auto& key) { return there_.contains(key); });
    if (there) return;
    if (++missing_ == 1) {
      const auto warning = literal_key_warning(asked.key);
      if (!warning.empty()) warn("warning: " + warning, "reset");
    }
    session_.add({.key = asked.key, .result = ResetResult::kNone}, looked_at(index));
  }

  std::vector<AskedKey> asked_;
  Session& session_;
  std::vector<std::string> redis_keys_;
  std::vector<std::size_t> ends_;  ///< for each asked key, the end of its Redis keys
  std::unordered_set<std::string> there_;
  std::size_t outcomes_ = 0, told_ = 0, left_ = 0, missing_ = 0;
  std::size_t owner_ = 0;       ///< the asked key of the next outcome
  std::size_t next_named_ = 0;  ///< the first asked key without a line
  std::vector<std::string> names_;
  std::string first_left_, first_left_key_, part_hint_;
  bool force_helps_ = false, too_large_ = false;
};

/// An error names the keys that this user may not access, since the server may not.
void reset_named(Session& session, stored::Resetter& resetter, std::span<const std::string> keys) {
  try {
    resetter.reset(keys);
  } catch (const redis::Error& error) {
    auto problem = describe(error);
    if (problem.code != "NOPERM" || !refuses_key(problem.message)) throw;
    // Replies may be outstanding on the other connection.
    auto connection = session.connector.open();
    auto refused = stored::readable_keys(connection, keys).refused;
    if (refused.empty()) refused = refused_keys(connection, keys);  // which it may only read
    if (refused.empty()) throw;
    // Valkey and Redis 8 name one.
    const bool is_named =
        problem.message.find(quoted_and_masked(refused.front())) != std::string::npos;
    if (refused.size() > 1 || !is_named) problem.message += ": " + first_keys(refused);
    if (session.removed() == 0) problem.message += "; nothing was removed";
    throw ProblemError(problem);
  }
}

/// Throws ProblemError if a key was left.
ExitStatus reset_keys(const Plan& plan, Invocation& invocation) {
  auto asked = make_asked_keys(plan, invocation);
  Session session(plan, invocation);
  auto connection = session.connector.open_for_looks(invocation.command);
  std::string looked_at;
  if (!plan.limiter) {
    looked_at = looked_at_text(asked, session);
    session.search([&] { add_known_names(connection, asked, session); });
  }
  KeysReport keys(std::move(asked), session);
  session.run(
      connection, plan.dry_run, [&](const ResetOutcome& outcome) { keys.add(outcome); },
      [&](stored::Resetter& resetter) { reset_named(session, resetter, keys.redis_keys()); });
  const bool is_worth_summing = session.removed() > 1 && !plan.dry_run;
  if (is_worth_summing || session.found_none()) session.summarize(session.summary());
  if (plan.limiter && session.found_none()) {
    looked_at =
        fmt::format("looked at {}; of several limits, each has a name of its own: pass all of them",
                    first_keys(keys.redis_keys()));
  }
  if (!looked_at.empty()) session.summarize(looked_at);
  if (session.refused.count() > 0 && !plan.quiet) {
    warn("warning: not looked at: " + session.refused.text(), invocation.command);
  }
  session.explain_undo();
  if (session.found_none() && session.is_for_people()) {
    const auto hint = hint_at_databases(session.connector);
    if (!hint.empty()) write_stderr("  hint: " + hint + "\n");
  }
  return keys.finish();
}

// ---- --match ----

/// The keys that would be removed.
using Found = std::vector<SeenKey>;

ResetOutcome would_remove(const SeenKey& seen) {
  return {
      .key = seen.key, .result = ResetResult::kWouldRemove, .type = seen.type, .form = seen.form};
}

void scan(Session& session, const std::string& pattern, redis::Connection& connection,
          stored::Resetter& resetter) {
  redis::Scan scan(connection, pattern);
  while (!scan.done()) {
    const auto keys = scan.next();
    try {
      const auto readable = redis::repeated_if_lost(
          connection, [&] { return stored::readable_keys(connection, keys); });
      session.refused.add(readable);
      redis::repeated_if_lost(
          connection, [&] { resetter.reset(readable.keys); },
          [&] { return resetter.in_doubt().empty(); });
    } catch (const redis::Error& error) {
      throw scan.incomplete(error);
    }
    const auto removed = session.removed();
    session.progress.update(
        scan.share(),
        removed == 0 ? "the database" : "the database, " + count_of_keys(removed) + " removed");
    session.invocation.interrupt.check();
  }
}

/// The matching keys, sorted, without duplicates.
Found look(const Plan& plan, Session& session) {
  Found found;
  auto connection = session.connector.open_for_looks(session.invocation.command);
  const auto add = [&](const ResetOutcome& outcome) {
    if (outcome.result == ResetResult::kWouldRemove) {
      found.push_back({std::string(outcome.key), std::string(outcome.type), outcome.form});
    } else {
      session.add(outcome);
    }
  };
  session.run(connection, true, add, [&](stored::Resetter& resetter) {
    scan(session, *plan.match, connection, resetter);
  });
  session.progress.clear();
  std::ranges::sort(found, {}, &SeenKey::key);
  const auto is_same = [](const SeenKey& a, const SeenKey& b) { return a.key == b.key; };
  found.erase(std::unique(found.begin(), found.end(), is_same), found.end());
  return found;
}

/// Asks whether to remove the keys. Lists, above the question, those without limiter state, which
/// --force removes. Throws ProblemError if there is no terminal to ask on.
bool ask(const Found& found, Session& session) {
  const auto count = count_of_keys(found.size());
  if (!can_confirm()) {
    throw ProblemError({.status = ExitStatus::kUsage,
                        .code = "usage",
                        .message = "refusing to remove " + count + " without --yes",
                        .hint =
                            "--dry-run lists what would be removed, --yes removes it, --save FILE "
                            "keeps a copy of what is removed"});
  }
  KindCounts kinds;
  std::vector<std::string> keys, others;
  for (const auto& each : found) {
    ++kinds[kind_of(would_remove(each))];
    keys.push_back(each.key);
    if (each.form == nullptr || each.form->is_foreign()) others.push_back(each.key);
  }
  if (!others.empty()) {
    write_stderr("NOT limiter state: " + count_of_keys(others.size()) + ", " + first_keys(others) +
                 "\n");
  }
  const bool yes =
      confirm("remove " + count + " (" + text_of(kinds) + ") from " + session.connector.name() +
                  ": " + first_keys(keys) + "?\n" +
                  (session.plan.save ? "" : "(--save FILE would keep a copy) ") + "[y/N] ",
              session.invocation.interrupt);
  if (!yes) write_stderr("nothing was removed\n");
  session.has_suggested = true;
  return yes;
}

/// Calls `work` with a new connection, since the server may have closed the previous one while the
/// user considered the question.
void remove(Session& session,
            const std::function<void(redis::Connection&, stored::Resetter&)>& work) {
  auto connection = session.connector.open();
  session.run(
      connection, false, [&](const ResetOutcome& outcome) { session.add(outcome); },
      [&](stored::Resetter& resetter) { work(connection, resetter); });
}

ExitStatus finish(const Plan& plan, Session& session) {
  session.summarize(session.summary());
  session.explain_undo();
  if (session.removed() == 0 && session.is_for_people()) {
    const auto hint = session.found_none() ? hint_at_nothing(*plan.match, session.connector)
                                           : hint_at_pattern(*plan.match);
    if (!hint.empty()) write_stderr("  hint: " + hint + "\n");
  }
  for (const auto reason : {KeptReason::kChanging, KeptReason::kChanged, KeptReason::kTooLarge}) {
    if (session.left(reason) > 0) return ExitStatus::kRejected;
  }
  session.refused.require_readable();
  return session.status_if(session.removed() == 0);
}

/// Throws ProblemError if --yes is missing and there is no terminal to ask on.
ExitStatus reset_matching(const Plan& plan, Invocation& invocation) {
  Session session(plan, invocation);
  if (plan.yes && !plan.dry_run) {
    // Remove keys during the scan, so that memory does not grow with the number of keys.
    remove(session, [&](redis::Connection& connection, stored::Resetter& resetter) {
      scan(session, *plan.match, connection, resetter);
    });
    return finish(plan, session);
  }
  const auto found = look(plan, session);
  if (plan.dry_run) {
    for (const auto& each : found) session.add(would_remove(each));
    session.flush();
    return finish(plan, session);
  }
  if (found.empty()) return finish(plan, session);
  if (!ask(found, session)) return ExitStatus::kDenied;
  remove(session, [&](redis::Connection&, stored::Resetter& resetter) { resetter.reset(found); });
  return finish(plan, session);
}

// ---- --holder ----

/// Whether HOST, HOST:PID or the whole of HOST:PID:SINCE is given.
bool names_holder(std::string_view given, std::string_view holder) {
  return holder == given || (holder.starts_with(given) && holder[given.size()] == ':');
}

/// The leases that have not lapsed; empty if the key holds something else, such as the leases of
/// another library.
std::vector<limiter::Lease> read_leases(redis::Connection& connection,
                                        const stored::Libraries& libraries,
                                        const std::string& key) {
  auto found = stored::inspect(connection, key, {.entries = std::nullopt}, libraries);
  std::vector<limiter::Lease> leases;
  if (!found.state.is_ours() || found.state.form->name != "concurrency") return leases;
  for (auto& entry : found.entries) {
    if (entry.at <= found.now) continue;
    leases.push_back({.key = key, .holder = *std::move(entry.holder)});
  }
  return leases;
}

/// The lease that is meant; none if there is none. Throws UsageError if it may be one of several.
std::optional<limiter::Lease> find_lease(redis::Connection& connection,
                                         const stored::Libraries& libraries, const std::string& key,
                                         const std::string& holder) {
  std::vector<std::string> keys{key};
  if (limiter::can_carry_several_limits(key)) keys.push_back(limiter::leases_key(key));
  std::vector<limiter::Lease> meant;
  for (const auto& each : keys) {
    for (auto& lease : read_leases(connection, libraries, each)) {
      if (lease.holder == holder) return std::move(lease);
      if (names_holder(holder, lease.holder)) meant.push_back(std::move(lease));
    }
  }
  if (meant.empty()) return std::nullopt;
  if (meant.size() == 1) return std::move(meant.front());
  std::vector<std::string> holders;
  for (auto& lease : meant) holders.push_back(std::move(lease.holder));
  throw UsageError("--holder: " + quoted_and_masked(holder) + " stands for " +
                       std::to_string(holders.size()) + " holders: " + first_keys(holders),
                   "give one of them in full; " + inspect_hint(meant.front().key));
}

/// The release of the reservation of this ID, from each key of the budget that holds its units.
/// Throws UsageError if the limits that must be known are not.
limiter::Request find_reservation(redis::Connection& connection, Session& session,
                                  const std::string& key, const std::string& id) {
  auto targets = find_targets(key, session.plan.limiter, session.invocation.configuration);
  if (!targets.front().limit) {
    // Released from some of its keys, it would be settled there and held elsewhere.
    AskedKey asked{.key = key, .redis_keys = {key}};
    session.search([&] { add_family(connection, asked, session.progress); });
    for (const auto& member : std::span(asked.redis_keys).subspan(1)) {
      targets.push_back({.key = member});
    }
  }
  limiter::Request release;
  release.cost = 0;
  release.reservation = limiter::ReservationCall{.settles = true, .id = id};
  for (const auto& target : targets) {
    const auto found =
        stored::inspect(connection, target.key, {.entries = std::nullopt}, session.libraries);
    const bool is_held = std::ranges::any_of(found.reservations, [&](const auto& each) {
      return each.id == id && each.state == limiter::ReservationState::kHeld;
    });
    if (!is_held) continue;
    release.keys.push_back(target.key);
    release.limits.push_back(limit_to_settle(target.key, found.state, found.now, target.limit));
  }
  return release;
}

ExitStatus free_reservation(Session& session, redis::Connection& connection,
                            const limiter::Request& release) {
  const auto& budget = *limiter::find_algorithm("budget");
  // It may be settled, or its hold may end, meanwhile.
  const bool is_there =
      session.plan.dry_run || limiter::Checker(connection, budget).check(release).reservation ==
                                  limiter::ReservationState::kHeld;
  for (const auto& key : release.keys) {
    Line line{.key = key, .result = "none", .holder = release.reservation->id};
    if (is_there) {
      line = {.key = key,
              .result = session.plan.dry_run ? "would-remove" : "removed",
              .type = stored::type_of_state(budget),
              .library = stored::kOurLibrary,
              .algorithm = budget.name,
              .holder = release.reservation->id};
    }
    session.write(line);
  }
  session.flush();
  if (!is_there) session.summarize(session.summary());
  return session.status_if(!is_there);
}

/// Frees one lease of the key, also if it is one of a key that has limits too, or one reservation.
/// plan.holder is the ID of the reservation, or the HOST:PID:SINCE of the lease, or the beginning
/// of that before a colon if it stands for only one. Throws UsageError if it stands for several,
/// and redis::Error.
ExitStatus free_holder(const Plan& plan, const std::string& key, Invocation& invocation) {
  const auto& holder = *plan.holder;
  require_not_empty(holder, "--holder: the holder");
  Session session(plan, invocation);
  auto connection = session.connector.open();
  std::optional<limiter::Lease> lease;
  limiter::Request release;
  try {
    lease = find_lease(connection, session.libraries, key, holder);
    if (!lease) release = find_reservation(connection, session, key, holder);
  } catch (const redis::Error& error) {
    throw ProblemError(drop_in_doubt_note(describe(error)));  // it only reads
  }
  if (!release.keys.empty()) return free_reservation(session, connection, release);
  // The holder may release it meanwhile.
  const bool is_there = lease && (plan.dry_run || limiter::release(connection, *lease).allowed);
  Line line{.key = key, .result = "none", .holder = holder};
  if (is_there) {
    line = {.key = lease->key,
            .result = plan.dry_run ? "would-remove" : "removed",
            .type = "zset",
            .library = stored::kOurLibrary,
            .algorithm = "concurrency",
            .holder = lease->holder};
  }
  session.write(line);
  session.flush();
  if (!is_there) session.summarize(session.summary());
  return session.status_if(!is_there);
}

// ---- The command ----

void add_options(Options& options, Plan& plan) {
  options.group("Options");
  options
      .value("--match", "PATTERN", plan.match,
             "reset every limiter whose key matches this pattern (of Redis: * ? [ab])")
      .once("run reset once for each pattern")
      .excludes_each({"--policy", "--limit"}, "the stored state already includes the limits",
                     "to match keys with several limits: --match '{login:*}:*'");
  options
      .value("--holder", "HOLDER", plan.holder,
             "free only the lease of this holder; HOST:PID:SINCE, as inspect shows it, or HOST:PID "
             "or HOST if only one lease is meant; or only the reservation of this ID")
      .excludes("--match", "leases are freed one by one")
      .excludes("--force");
  options
      .value("--save", "FILE", plan.save,
             "first save what is removed in this new file; --restore puts it back")
      .excludes("--holder", "only whole keys can be saved")
      .once("a reset has one file");
  options
      .value("--restore", "FILE", plan.restore,
             "put back the keys saved in this file; leave keys that already exist")
      .once("run reset once for each file")
      .excludes("--force", "--replace replaces keys that exist")
      .excludes_each({"--match", "--holder", "--limit", "--policy", "--save", "--yes"});
  options.flag("--replace", plan.replace, "with --restore: replace keys that already exist")
      .needs("--restore");
  options.flag("--dry-run", plan.dry_run,
               "list what would be removed (or restored), and change nothing");
  options.flag("--yes", plan.yes, "with --match: do not ask");
  options
      .flag("--must-exist", plan.must_exist,
            "exit with status 1 if there is nothing to remove (or for one of several KEYs)")
      .excludes("--restore");
  options.flag("--force", plan.force, "remove whatever a key holds, limiter state or not");
  options.flag("-q,--quiet", plan.quiet, kQuietHelp);
  options.group("Limits of KEY");
  add_limits_of_key(options, plan.limit);
}

ExitStatus run(Plan& plan, Invocation& invocation) {
  if (plan.restore) {
    if (!invocation.operands.empty()) {
      throw UsageError("--restore takes no KEY: unexpected argument " +
                       quoted_and_masked(invocation.operands[0]));
    }
    return restore_keys(plan, invocation);
  }
  if (plan.match) {
    require_pattern(*plan.match, invocation.operands);
    return reset_matching(plan, invocation);
  }
  invocation.operands =
      operands_or_lines(std::move(invocation.operands), invocation.typed, invocation.interrupt);
  plan.limiter = resolve_optional_limiter(plan.limit, invocation.configuration);
  if (plan.holder) {
    const auto key = only_key(plan.limiter.value_or(Limiter{}), invocation.operands,
                              "rlctl reset KEY --holder HOST:PID", "leases are freed one by one");
    return free_holder(plan, key, invocation);
  }
  return reset_keys(plan, invocation);
}

}  // namespace
const Command kCommand{
    .text =
        {.name = "reset",
         .summary = "remove what limiters store for a key",
         .synopsis = "[connection] reset [options] [--] KEY...\n"
                     "[connection] reset --policy NAME [options] [--] [ARGUMENT...]\n"
                     "[connection] reset --holder HOLDER [options] [--] KEY\n"
                     "[connection] reset [options] --match PATTERN\n"
                     "[connection] reset [options] --restore FILE",
         .about =
             "Removes the stored state of limiters, so that they start afresh: of each KEY, or\n"
             "of all keys that match. Other keys are left, except with --force.\n"
             "A KEY with several limits has several keys in Redis: reset removes those with\n"
             "common windows, and says at which names it looked; --limit or --policy names\n"
             "others. If the only KEY is -, reads KEYs from standard input, one per line.",
         .brief = "--match --holder --save --restore --dry-run "
                  "--yes --must-exist --force --policy --quiet",
         .statuses =
             {
                 "removed, or would be; or there was nothing to remove",
                 "with --must-exist, there was nothing to remove, or for one of several KEYs;\n"
                 "the answer was not yes; with --restore, all keys have expired",
                 "wrong usage, or --yes is needed: nothing was removed; or output that\n"
                 "cannot be written",
                 kStatusUnreachable,
                 kStatusRefused,
                 "a KEY was left: it holds no limiter state, or, with --restore, it exists;\n"
                 "or the server failed (READONLY)",
             },
         .epilogue = R"(
Examples:
  rlctl reset login:alice
  rlctl reset --limit 10/s --limit 100/min api:acme
  rlctl reset import --holder web1:4711
  rlctl reset --match 'login:*' --dry-run
  rlctl reset --match 'login:*' --yes --save removed.jsonl
  rlctl reset --restore removed.jsonl
)"},
    .add = add_command<Plan, add_options, run>,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::reset
