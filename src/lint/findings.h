#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lint/observation.h"

namespace rlctl::lint {

/// From the least to the most.
enum class Severity {
  kNote,      ///< nothing fails today
  kWarning,   ///< memory is wasted, or something is at risk
  kCritical,  ///< requests are let in or locked out
};

/// A flaw of a script, at a line of its source.
struct Finding {
  std::string_view name;  ///< a row of finding_kinds(): "no-ttl"
  int line = 0;
  Severity severity = Severity::kWarning;
  std::string what = {};    ///< the call as observed, or the flag
  std::string detail = {};  ///< why it hurts
  std::string fix = {};     ///< what to do
};

/// The names of the findings with what they mean, in a few words.
struct FindingKind {
  std::string_view name, summary;
};
[[nodiscard]] std::span<const FindingKind> finding_kinds();

/// The flaws that the observation shows, by line; of each kind, one for a line.
[[nodiscard]] std::vector<Finding> find_flaws(const Observation& observation);

}  // namespace rlctl::lint
