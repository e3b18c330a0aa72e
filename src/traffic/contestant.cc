#include "traffic/contestant.h"

#include "traffic/foreign_script.h"

namespace rlctl::traffic {

std::string_view name_of(const Contestant& contestant) {
  return contestant.foreign ? std::string_view(contestant.foreign->name)
                            : contestant.algorithm->name;
}

void require_usable(const Contestant& contestant) {
  if (contestant.foreign) {
    require_usable(*contestant.foreign, contestant.limits.front());
    return;
  }
  for (const auto& limit : contestant.limits) {
    limiter::require_usable(*contestant.algorithm, limit);
  }
}

}  // namespace rlctl::traffic
