#include "cli/commands/list/listing.h"

#include <algorithm>
#include <cmath>
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

/// Returns nothing if the key is not a limiter's, or if the plan leaves it out.
std::optional<Row> Listing::row_of(const stored::Inspection& inspection) {
  if (!inspection.is_limiter()) {
    ++skipped_.others;
    return std::nullopt;
  }
  const auto& form = *inspection.state.form;
  if (!inspection.state.part_of.empty() && !plan_.include_unrecognized) return std::nullopt;
  if (!inspection.is_recognized() && !plan_.include_unrecognized) {
    ++skipped_.unrecognized;
    return std::nullopt;
  }
  Row row{.key = inspection.key,
          .library = form.library,
          .algorithm = form.library.empty() ? std::string_view() : form.name,
          .policy = {},
          .part_of = inspection.state.part_of,
          .usage = inspection,
          .ratio = inspection.ratio()};
  if (!configuration_.policies.empty()) {
    const auto* policy = limiter::policy_for(configuration_, row.key);
    if (policy != nullptr) row.policy = policy->name;
  }
  if (wants(row)) return row;
  ++skipped_.filtered;
  return std::nullopt;
}

bool Listing::wants(const Row& row) {
  if (plan_.limit && !row.usage.limits_differ.empty()) overrules_stored_limits_ = true;
  if (!plan_.above) return true;
  if (!row.ratio && row.part_of.empty()) ++skipped_.unknown;
  constexpr double kRounding = 1e-12;
  return row.ratio && *row.ratio >= *plan_.above * (1 - kRounding);
}

std::vector<Row> Listing::rows_of(std::span<const stored::Surveyed> page) {
  std::vector<Row> rows;
  for (const auto* inspection : skipped_.refused.add(page)) {
    if (auto row = row_of(*inspection)) rows.push_back(*std::move(row));
  }
  return rows;
}

std::vector<Row> Listing::read_again(redis::Connection& connection, const std::vector<Row>& rows) {
  std::vector<stored::InspectedKey> keys;
  for (const auto& row : rows) keys.push_back({.key = row.key, .request = request_for(row.key)});
  return rows_of(stored::survey(connection, keys, libraries_));
}

void Listing::scan(redis::Connection& connection,
                   const std::function<void(std::vector<Row>, double)>& on_rows) {
  skipped_ = {};
  overrules_stored_limits_ = false;
  // A key that comes twice to the top is noticed there, so that memory stays bounded.
  stored::survey_all(connection,
                     {.pattern = plan_.pattern,
                      .once = !plan_.top || plan_.watch.is_given,
                      .ask = [this](const std::string& key) { return request_for(key); },
                      .on_page = [&](std::span<const stored::Surveyed> page,
                                     double share) { on_rows(rows_of(page), share); }},
                     libraries_);
}

// ---- Rows in order ----

/// Rows with a larger value come first.
static double value_of(const Row& row, SortKey sort) {
  constexpr double kUnknown = -1;
  const auto& usage = row.usage;
  switch (sort) {
    case SortKey::kUsed:
      return usage.used ? static_cast<double>(*usage.used) : kUnknown;
    case SortKey::kRatio:
      return row.ratio.value_or(kUnknown);
    case SortKey::kTtl:
      return usage.ttl ? static_cast<double>(usage.ttl->count()) : HUGE_VAL;
    case SortKey::kBytes:
      return usage.bytes ? static_cast<double>(*usage.bytes) : kUnknown;
    case SortKey::kKey:
      break;
  }
  return 0;
}

void RowCollection::add(std::vector<Row> rows) {
  rows_.insert(rows_.end(), std::move_iterator(rows.begin()), std::move_iterator(rows.end()));
  // Cutting a little more seldom costs less.
  if (most_ && rows_.size() > 2 * static_cast<std::size_t>(*most_) + 1000) cut();
}

void RowCollection::cut() {
  std::ranges::sort(rows_, {}, [this](const Row& row) {
    return std::pair(-value_of(row, sort_), std::string_view(row.key));
  });
  // SCAN may return a key several times, with other figures if it was written meanwhile.
  std::unordered_set<std::string_view> seen;
  std::vector<Row> kept;
  kept.reserve(rows_.size());  // the views stay valid
  for (auto& row : rows_) {
    if (most_ && kept.size() == static_cast<std::size_t>(*most_)) break;
    if (seen.contains(row.key)) continue;
    kept.push_back(std::move(row));
    seen.insert(kept.back().key);
  }
  rows_ = std::move(kept);
}

std::vector<Row> RowCollection::take() {
  cut();
  return std::exchange(rows_, {});
}

}  // namespace rlctl::cli::list
