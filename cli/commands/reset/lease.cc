
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands/reset/session.h"
#include "cli/options/values.h"
#include "limiter/lease.h"
#include "redis/error.h"
#include "state/inspection.h"

namespace rlctl::cli::reset {
namespace {

/// Whether HOST, HOST:PID or the whole of HOST:PID:SINCE is given.
bool names_holder(std::string_view given, std::string_view holder) {
  return holder == given || (holder.starts_with(given) && holder[given.size()] == ':');
}

/// The leases that have not lapsed; empty if the key holds something else.
std::vector<limiter::Lease> read_leases(redis::Connection& connection, const std::string& key) {
  auto found = state::inspect(connection, key, {.entries = std::nullopt});
  std::vector<limiter::Lease> leases;
  if (!found.is_limiter() || found.state.form->name != "concurrency") return leases;
  for (auto& entry : found.entries) {
    if (entry.at <= found.now) continue;
    leases.push_back({.key = key, .holder = std::move(entry.holder)});
  }
  return leases;
}

/// The lease that is meant; none if there is none. Throws UsageError if it may be one of several.
std::optional<limiter::Lease> find_lease(redis::Connection& connection, const std::string& key,
                                         const std::string& holder) {
  std::vector<std::string> keys{key};
  if (limiter::can_carry_several_limits(key)) keys.push_back(limiter::leases_key(key));
  std::vector<limiter::Lease> meant;
  for (const auto& each : keys) {
    for (auto& lease : read_leases(connection, each)) {
      if (lease.holder == holder) return std::move(lease);
      if (names_holder(holder, lease.holder)) meant.push_back(std::move(lease));
    }
  }
  if (meant.empty()) return std::nullopt;
  if (meant.size() == 1) return std::move(meant.front());
  std::vector<std::string> holders;
  for (auto& lease : meant) holders.push_back(std::move(lease.holder));
  throw UsageError("--holder: " + in_quotes(holder) + " stands for " +
                       std::to_string(holders.size()) + " holders: " + first_keys(holders),
                   "give one of them in full; " + inspect_hint(meant.front().key));
}

}  // namespace

ExitStatus free_lease(const Plan& plan, const std::string& key, Invocation& invocation) {
  const auto& holder = *plan.holder;
  require_not_empty(holder, "--holder: the holder");
  Session session(plan, invocation);
  auto connection = session.connector.open();
  std::optional<limiter::Lease> lease;
  try {
    lease = find_lease(connection, key, holder);
  } catch (const redis::Error& error) {
    throw ProblemError(drop_in_doubt_note(describe(error)));  // it only reads
  }
  // The holder may release it meanwhile.
  const bool is_there = lease && (plan.dry_run || limiter::release(connection, *lease).allowed);
  Line line{.key = key, .result = "none", .holder = holder};
  if (is_there) {
    line = {.key = lease->key,
            .result = plan.dry_run ? "would-remove" : "removed",
            .type = "zset",
            .library = state::kOurLibrary,
            .algorithm = "concurrency",
            .holder = lease->holder};
  }
  session.write(line);
  session.flush();
  return is_there ? ExitStatus::kDone : ExitStatus::kDenied;
}

}  // namespace rlctl::cli::reset
