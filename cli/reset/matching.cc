#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/text.h"
#include "cli/reset/session.h"
#include "cli/term/confirm.h"
#include "redis/scan.h"

namespace rlctl::cli {
namespace {

using limiter::ResetOutcome;
using limiter::ResetResult;

using limiter::SeenKey;

/// What a look found that would be removed.
using Found = std::vector<SeenKey>;

ResetOutcome would_remove(const SeenKey& seen) {
  return {.key = seen.key,
          .result = ResetResult::kWouldRemove,
          .type = seen.type,
          .form = seen.form,
          .reason = std::nullopt};
}

/// How far a scan is, for people.
std::string scanned(const ResetSession& session) {
  const auto removed = session.report.removed();
  return removed == 0 ? "the database" : "the database, " + count_of_keys(removed) + " removed";
}

void scan(ResetSession& session, const std::string& pattern, redis::Connection& connection,
          limiter::Resetter& resetter) {
  redis::Scan scan(connection, pattern);
  while (!scan.done()) {
    resetter.reset(scan.next());
    session.progress.update(scan.share(), scanned(session));
    session.invocation.interrupt.check();
  }
}

/// Each key once, in their order; SCAN may give a key twice.
Found look(const ResetPlan& plan, ResetSession& session) {
  Found found;
  std::unordered_set<std::size_t> left;  // hashes: there may be many, and they are only counted
  auto connection = session.connector.open();
  const auto add = [&](const ResetOutcome& outcome) {
    if (outcome.result == ResetResult::kWouldRemove) {
      found.push_back({std::string(outcome.key), std::string(outcome.type), outcome.form});
    } else if (left.insert(std::hash<std::string_view>{}(outcome.key)).second) {
      session.report.add(outcome);
    }
  };
  session.run(connection, true, add, [&](limiter::Resetter& resetter) {
    scan(session, *plan.match, connection, resetter);
  });
  session.progress.clear();
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  const auto end = std::unique(found.begin(), found.end(),
                               [](const auto& a, const auto& b) { return a.key == b.key; });
  found.erase(end, found.end());
  return found;
}

std::vector<std::string> keys_of(const Found& found) {
  std::vector<std::string> keys;
  keys.reserve(found.size());
  for (const auto& each : found) keys.push_back(each.key);
  return keys;
}

/// What --force takes besides limiter state stands above the question, by name.
void warn_of_others(const Found& found) {
  std::vector<std::string> others;
  for (const auto& each : found) {
    const auto outcome = would_remove(each);
    const bool is_limiter = outcome.form != nullptr && !outcome.form->is_foreign();
    if (!is_limiter) others.emplace_back(outcome.key);
  }
  if (others.empty()) return;
  write_stderr("NOT limiter state: " + count_of_keys(others.size()) + ", " + first_keys(others) +
               "\n");
}

bool ask(const Found& found, ResetSession& session) {
  const auto count = count_of_keys(found.size());
  if (!can_confirm()) {
    throw ProblemError({.status = ExitStatus::kUsage,
                        .code = "usage",
                        .message = "refusing to remove " + count + " without --yes",
                        .hint = "--dry-run lists what would be removed, --yes removes it"});
  }
  KindCounts kinds;
  for (const auto& each : found) kinds.add(kind_of(would_remove(each)));
  warn_of_others(found);
  const bool yes =
      confirm("remove " + count + " (" + kinds.text() + ") from " + session.connector.name() +
                  ": " + first_keys(keys_of(found)) + "?\n[y/N] ",
              session.invocation.interrupt);
  if (!yes) write_stderr("nothing was removed\n");
  return yes;
}

void remove(const Found& found, ResetSession& session) {
  // A new one: the server may have closed the other while somebody thought about it.
  auto connection = session.connector.open();
  session.run(
      connection, false,
      [&](const ResetOutcome& outcome) {
        if (outcome.result != ResetResult::kNone) session.report.add(outcome);
      },
      [&](limiter::Resetter& resetter) { resetter.reset(found); });
}

/// Memory does not grow with the number of keys.
void stream(const ResetPlan& plan, ResetSession& session) {
  auto connection = session.connector.open();
  session.run(
      connection, false,
      [&](const ResetOutcome& outcome) {
        if (outcome.result != ResetResult::kNone) session.report.add(outcome);
      },
      [&](limiter::Resetter& resetter) { scan(session, *plan.match, connection, resetter); });
}

/// What a pattern is most often when it matches nothing.
void hint_at_pattern(const std::string& pattern) {
  if (pattern.find_first_of("*?[") == pattern.npos) {
    write_stderr("  hint: the pattern has no * ? or [: was it quoted? It matches one key alone\n");
  } else if (!pattern.starts_with('{') && !pattern.starts_with('*')) {
    std::string line = "  hint: keys of several limits are named otherwise: --match '{";
    escape_message(line, pattern);
    write_stderr(line + "}:*'\n");
  }
}

ExitStatus finish(const ResetPlan& plan, ResetSession& session) {
  session.summarize();
  if (session.report.removed() == 0 && session.is_for_people()) hint_at_pattern(*plan.match);
  if (session.report.changed() > 0) return ExitStatus::kRejected;
  return session.report.removed() > 0 ? ExitStatus::kDone : ExitStatus::kDenied;
}

}  // namespace

ExitStatus reset_matching(const ResetPlan& plan, Invocation& invocation) {
  ResetSession session(plan, invocation);
  if (plan.yes && !plan.dry_run) {
    stream(plan, session);
    return finish(plan, session);
  }
  const auto found = look(plan, session);
  if (plan.dry_run) {
    for (const auto& each : found) session.report.add(would_remove(each));
    session.flush();
    return finish(plan, session);
  }
  if (found.empty()) return finish(plan, session);
  if (!ask(found, session)) return ExitStatus::kDenied;
  remove(found, session);
  return finish(plan, session);
}

}  // namespace rlctl::cli
