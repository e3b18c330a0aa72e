#include "cli/inspector.h"

#include <algorithm>

#include "cli/bars.h"
#include "limiter/key_family.h"

namespace rlctl::cli {
namespace {

using limiter::Inspection;

/// Where the window is not known beforehand, bars are cut as of this one.
constexpr std::chrono::minutes kUsualWindow{1};

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

/// In place of a key that is not there, those of its limits that are.
void Inspector::add_family(redis::Connection& connection, const std::string& key,
                           Findings& findings) {
  auto known = families_.find(key);
  if (known == families_.end()) {
    const auto on_scanned = [this](double share) { on_inspecting_(share, "the database"); };
    known = families_.emplace(key, limiter::find_family(connection, key, on_scanned)).first;
  }
  if (known->second.empty()) return;
  findings.inspections.clear();
  for (const auto& member : known->second) {
    findings.inspections.push_back(look(connection, {.key = member}));
  }
}

/// Where a request that names another algorithm than the key's would be refused.
void Inspector::warn(const Inspection& inspection, Findings& findings) {
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

Findings Inspector::inspect(redis::Connection& connection, const std::string& key) {
  Findings findings;
  const auto all = targets(key);
  for (const auto& target : all) {
    auto inspection = look(connection, target);
    if (target.only_if_there && !inspection.exists()) continue;
    findings.inspections.push_back(std::move(inspection));
  }
  const bool limits_are_known = all.front().limit.has_value();
  if (!limits_are_known && !any_exists(findings)) add_family(connection, key, findings);
  for (const auto& inspection : findings.inspections) warn(inspection, findings);
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
