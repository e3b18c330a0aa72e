#include "traffic/contestant.h"

namespace rlctl::traffic {

void require_usable(const Contestant& contestant) {
  for (const auto& limit : contestant.limits) {
    limiter::require_usable(*contestant.algorithm, limit);
  }
}

}  // namespace rlctl::traffic
