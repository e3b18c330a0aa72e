#include "limiter/policies.h"

#include <unordered_map>

#include "base/table.h"

namespace rlctl::limiter {

const Policy* find_policy(const Configuration& configuration, std::string_view name) {
  return find_by_name(configuration.policies, name);
}

const ScriptSection* find_script(const Configuration& configuration, std::string_view name) {
  return find_by_name(configuration.scripts, name);
}

std::optional<PolicyMatch> match_policy(const Configuration& configuration, std::string_view key) {
  std::optional<PolicyMatch> best;
  std::size_t most = 0;  // the best policy's own bytes
  for (const Policy& policy : configuration.policies) {
    const auto consider = [&](std::string_view asked, std::optional<std::size_t> limit) {
      if (!fits(policy, asked)) return;
      const auto own = own_size(policy) + key.size() - asked.size();
      if (best && own <= most) return;
      best = PolicyMatch{&policy, std::string(asked), limit};
      most = own;
    };
    if (policy.limits.size() == 1) {
      consider(key, 0);
      continue;
    }
    for (std::size_t i = 0; i < policy.limits.size(); ++i) {
      for (const auto asked : base_keys(key, policy.limits[i])) consider(asked, i);
    }
    if (can_carry_several_limits(key)) consider(key, std::nullopt);
  }
  return best;
}

std::vector<PolicyClash> policy_clashes(const Configuration& configuration) {
  std::vector<PolicyClash> clashes;
  // The first policy for each template of a key in Redis.
  std::unordered_map<std::string, const Policy*> firsts;
  for (const Policy& policy : configuration.policies) {
    const Policy* first = nullptr;
    for (auto& key : redis_keys(policy.key, policy.limits)) {
      const auto* owner = firsts.emplace(std::move(key), &policy).first->second;
      if (first == nullptr && owner->algorithm != policy.algorithm) first = owner;
    }
    if (first != nullptr) clashes.push_back({first, &policy});
  }
  return clashes;
}

const Policy* policy_for(const Configuration& configuration, std::string_view key) {
  const auto match = match_policy(configuration, key);
  return match ? match->policy : nullptr;
}

}  // namespace rlctl::limiter
