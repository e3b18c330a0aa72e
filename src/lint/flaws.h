#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lint/findings.h"
#include "lint/observation.h"

namespace rlctl::lint {

/// Collects findings; of each kind, the first of the most severe for a line.
class Flaws {
 public:
  void add(Finding finding) {
    const std::pair place(finding.line, finding.name);
    const auto found = found_.find(place);
    if (found == found_.end()) {
      found_.emplace(place, std::move(finding));
    } else if (found->second.severity < finding.severity) {
      found->second = std::move(finding);
    }
  }
  [[nodiscard]] bool has(int line, std::string_view name) const {
    return found_.count({line, name}) > 0;
  }
  [[nodiscard]] std::vector<Finding> take() {
    std::vector<Finding> all;
    for (auto& [place, finding] : found_) all.push_back(std::move(finding));
    return all;
  }

 private:
  std::map<std::pair<int, std::string_view>, Finding> found_;
};

/// Calls a function for each call of each request.
template <typename Each>
void for_each_call(const Observation& observation, Each each) {
  for (const auto& request : observation.requests) {
    for (const auto& call : request.calls) each(request, call);
  }
}

[[nodiscard]] inline bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// ---- times.cc ----

/// mixed-units, coarse-time
void find_units(const Observation& observation, Flaws& flaws);
/// number-as-text
void find_lost_digits(const Observation& observation, Flaws& flaws);

// ---- counting.cc ----

/// non-unique-member, denied-write, late-pruning
void find_miscounts(const Observation& observation, Flaws& flaws);

}  // namespace rlctl::lint
