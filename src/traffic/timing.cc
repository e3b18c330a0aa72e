#include "traffic/timing.h"

namespace rlctl::traffic {

bool Timing::is_valid() const {
  constexpr double kLagOfService = 0.1;
  constexpr double kPercent = 99;
  if (lag.count() == 0) return true;
  if (sent_per_second < kKeptUp * offered_per_second) return false;
  const auto lag_p99 = lag.percentile(kPercent);
  const auto service_p99 = service.percentile(kPercent);
  const bool enough = lag_p99 && service_p99;
  const auto most_lag = enough ? *lag_p99 : lag.max();
  const auto most_service = enough ? *service_p99 : service.max();
  return static_cast<double>(most_lag.count()) <=
         kLagOfService * static_cast<double>(most_service.count());
}

}  // namespace rlctl::traffic
