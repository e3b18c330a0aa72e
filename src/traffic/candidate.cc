#include "traffic/candidate.h"

#include "traffic/foreign_script.h"

namespace rlctl::traffic {

std::string_view name_of(const Candidate& candidate) {
  return candidate.foreign ? std::string_view(candidate.foreign->name) : candidate.algorithm->name;
}

void require_usable(const Candidate& candidate) {
  if (candidate.foreign) {
    require_usable(*candidate.foreign, candidate.limits.front());
    return;
  }
  for (const auto& limit : candidate.limits) {
    limiter::require_usable(*candidate.algorithm, limit);
  }
}

}  // namespace rlctl::traffic
