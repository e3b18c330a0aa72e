#include "cli/commands/list/listing.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "cli/server/targets.h"
#include "limiter/configuration.h"
#include "stored/families.h"

namespace rlctl::cli::list {

stored::InspectionRequest Listing::request_for(const std::string& key) const {
  auto target = found_target(key, configuration_);
  if (!plan_.limit) return cli::request_for(target);
  // A key whose name has another window is one of several limits.
  if (stored::window_in_name(key) && limiter::base_keys(key, *plan_.limit).empty()) {
    return cli::request_for(target);
  }
  target.limit = plan_.limit;
  target.limit_is_asked = true;
  target.limit_name = "--limit";
  return cli::request_for(target);
}

bool Listing::wants(const stored::Inspection& key) {
  if (!key.is_limiter()) {
    ++skipped_.others;
    return false;
  }
  const bool is_part = !key.state.part_of.empty();
  if (is_part && !plan_.include_unrecognized) return false;
  if (!key.is_recognized() && !plan_.include_unrecognized) {
    ++skipped_.unrecognized;
    return false;
  }
  if (plan_.limit && !key.limits_differ.empty()) overrules_stored_limits_ = true;
  if (!plan_.above) return true;
  const auto ratio = key.ratio();
  if (!ratio && !is_part) ++skipped_.unknown;
  constexpr double kRounding = 1e-12;
  if (ratio && *ratio >= *plan_.above * (1 - kRounding)) return true;
  ++skipped_.filtered;
  return false;
}

std::vector<KeyState> Listing::wanted_of(std::span<const stored::Surveyed> page) {
  std::vector<KeyState> keys;
  for (const auto* inspection : skipped_.refused.add(page)) {
    if (!wants(*inspection)) continue;
    const auto* policy = limiter::policy_for(configuration_, inspection->key);
    keys.emplace_back(*inspection, policy != nullptr ? policy->name : std::string_view());
  }
  return keys;
}

void Listing::scan(redis::Connection& connection,
                   const std::function<void(std::vector<KeyState>, double)>& on_keys) {
  // A key that comes twice to the top is noticed there, so that memory stays bounded.
  stored::survey_all(connection,
                     {.pattern = plan_.pattern,
                      .once = !plan_.top,
                      .ask = [this](const std::string& key) { return request_for(key); },
                      .on_page = [&](std::span<const stored::Surveyed> page,
                                     double share) { on_keys(wanted_of(page), share); }},
                     libraries_);
}

// ---- Keys in order ----

void FirstKeys::add(std::vector<KeyState> keys) {
  std::ranges::move(keys, std::back_inserter(keys_));
  // Cutting a little more seldom costs less.
  if (most_ && keys_.size() > 2 * static_cast<std::size_t>(*most_) + 1000) cut();
}

void FirstKeys::cut() {
  std::ranges::sort(keys_, {}, [this](const KeyState& key) {
    return std::pair(-order_.value(key), std::string_view(key.key));
  });
  // SCAN may return a key several times, with other figures if it was written meanwhile.
  std::unordered_set<std::string_view> seen;
  std::vector<KeyState> kept;
  kept.reserve(keys_.size());  // the views stay valid
  for (auto& key : keys_) {
    if (most_ && kept.size() == static_cast<std::size_t>(*most_)) break;
    if (seen.contains(key.key)) continue;
    kept.push_back(std::move(key));
    seen.insert(kept.back().key);
  }
  keys_ = std::move(kept);
}

std::vector<KeyState> FirstKeys::take() {
  cut();
  return std::exchange(keys_, {});
}

}  // namespace rlctl::cli::list
