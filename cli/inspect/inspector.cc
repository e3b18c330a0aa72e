#include "cli/inspect/inspector.h"

#include <algorithm>

#include "cli/term/bars.h"
#include "limiter/key_family.h"

namespace rlctl::cli {
namespace {

using limiter::Inspection;

/// Where the window is not known beforehand, bars are cut as of this one.
constexpr std::chrono::minutes kUsualWindow{1};

/// What a scan has found counts for at least so long.
constexpr std::chrono::seconds kScanAgain{1};

bool any_exists(const Findings& findings) {
  return std::any_of(findings.inspections.begin(), findings.inspections.end(),
                     [](const Inspection& inspection) { return inspection.exists(); });
}

}  // namespace

/// Where nothing is stored of a key with several limits, each of them is shown as unused.
std::vector<Inspector::Target> Inspector::policy_targets(const std::string& key,
                                                         const limiter::PolicyMatch& match) const {
  const auto& [policy, asked, index] = match;
  if (index) return {{.key = key, .limit = policy->limits[*index], .algorithm = policy->algorithm}};
  std::vector<Target> targets;
  const auto keys = limiter::redis_keys(key, policy->limits);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    targets.push_back({.key = keys[i], .limit = policy->limits[i], .algorithm = policy->algorithm});
  }
  targets.push_back({.key = key, .only_if_there = true});
  return targets;
}

std::vector<Inspector::Target> Inspector::targets(const std::string& key) {
  if (!plan_.limiter) {
    const auto match = limiter::match_policy(configuration_.get(), key);
    return match ? policy_targets(key, *match) : std::vector<Target>{{.key = key}};
  }
  std::vector<Target> targets;
  const auto& limits = plan_.limiter->limits;
  const auto keys = limiter::redis_keys(key, limits);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    targets.push_back({.key = keys[i],
                       .limit = limits[i],
                       .algorithm = plan_.limiter->algorithm,
                       .limit_is_asked = true});
  }
  if (keys.size() > 1) targets.push_back({.key = key, .only_if_there = true});
  return targets;
}

Inspection Inspector::look(redis::Connection& connection, const Target& target) {
  limiter::InspectionRequest request{.algorithm = target.algorithm,
                                     .window_in_name = limiter::window_in_name(target.key),
                                     .now = plan_.now,
                                     .entries = plan_.entries};
  (target.limit_is_asked ? request.limit : request.usual_limit) = target.limit;
  if (plan_.columns_for_bars > 0) {
    const auto window = target.limit ? target.limit->window : request.window_in_name;
    request.bars = bars_for(window.value_or(kUsualWindow), plan_.columns_for_bars);
  }
  return limiter::inspect(
      connection, target.key, request, [this](std::int64_t done, std::int64_t total) {
        const auto share =
            static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(total, 1));
        on_inspecting_(share, std::to_string(total) + " entries");
      });
}

void Inspector::add_usual_family(redis::Connection& connection, const std::string& key,
                                 Findings& findings) {
  for (const auto& member : limiter::find_usual_family(connection, key)) {
    findings.inspections.push_back(look(connection, {.key = member}));
  }
}

/// In place of a key that is not there, those of its limits that are.
void Inspector::take_scanned_family(redis::Connection& connection, const std::string& key,
                                    Findings& findings) {
  const auto begin = Clock::now();
  if (begin >= scan_again_) {
    auto families = limiter::find_families(
        connection, keys_, [this](double share) { on_inspecting_(share, "the database"); });
    for (std::size_t i = 0; i < keys_.size(); ++i) families_[keys_[i]] = std::move(families[i]);
    const auto end = Clock::now();
    scan_again_ = end + std::max<Clock::duration>(kScanAgain, 10 * (end - begin));
  }
  const auto& family = families_[key];
  if (family.empty()) return;
  findings.inspections.clear();
  for (const auto& member : family) {
    findings.inspections.push_back(look(connection, {.key = member}));
  }
}

/// Where a request that names another algorithm than the key's would be refused.
void Inspector::warn_of_algorithm(const Inspection& inspection, Findings& findings) {
  if (!inspection.is_limiter()) return;
  const auto* policy = plan_.limiter ? plan_.limiter->policy
                                     : limiter::policy_for(configuration_.get(), inspection.key);
  const limiter::Algorithm* named = policy != nullptr ? policy->algorithm : nullptr;
  if (plan_.names_algorithm) named = plan_.limiter->algorithm;
  if (named == nullptr || named->name == inspection.state.form->name) return;
  std::string from = policy != nullptr ? "policy " + in_quotes(policy->name) : "--algorithm";
  findings.warnings.push_back(from.append(" says ").append(named->name).append(", but ") +
                              in_quotes(inspection.key) + " is " +
                              limiter::describe_content(inspection.content) + ": check would fail");
}

/// Where nothing is stored under the names that the limits give, but something under others.
void Inspector::warn_of_others(redis::Connection& connection, const std::string& key,
                               Findings& findings) {
  std::string others;
  for (const auto& name : limiter::find_usual_family(connection, key)) {
    others += (others.empty() ? "" : ", ") + in_quotes(name);
  }
  if (others.empty()) return;
  findings.warnings.push_back("nothing is stored under the names of these limits, but there is " +
                              others);
}

Findings Inspector::inspect(redis::Connection& connection, const std::string& key) {
  Findings findings;
  const auto all = targets(key);
  for (const auto& target : all) {
    auto inspection = look(connection, target);
    if (target.only_if_there && !inspection.exists()) continue;
    // A key that only stands beside those of several limits is none that check writes.
    if (!target.only_if_there) warn_of_algorithm(inspection, findings);
    findings.inspections.push_back(std::move(inspection));
  }
  const bool limits_are_known = all.front().limit.has_value();
  if (any_exists(findings)) {
    if (!limits_are_known) add_usual_family(connection, key, findings);
  } else if (limits_are_known) {
    warn_of_others(connection, key, findings);
  } else {
    take_scanned_family(connection, key, findings);
  }
  return findings;
}

ExitStatus status_of(const Findings& findings) {
  bool found = false;
  for (const auto& inspection : findings.inspections) {
    if (inspection.exists() && !inspection.is_limiter()) return ExitStatus::kRejected;
    found = found || inspection.exists();
  }
  return found ? ExitStatus::kDone : ExitStatus::kDenied;
}

}  // namespace rlctl::cli
