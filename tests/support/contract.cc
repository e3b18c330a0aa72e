#include "support/contract.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace rlctl::test {

std::vector<Algorithm> usual_algorithms() {
  const char* only = std::getenv("RLCTL_TEST_ALGORITHM");
  std::vector<Algorithm> usual;
  std::copy_if(limiter::algorithms().begin(), limiter::algorithms().end(),
               std::back_inserter(usual), [&](const Algorithm& a) {
                 return a.make_model != nullptr && (only == nullptr || a.name == only);
               });
  return usual;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Kept look_up(TestServer& server, const Strings& keys) {
  Kept kept;
  for (const auto& key : keys) {
    kept.dumps.push_back(server.dump(key));
    kept.ttls_ms.push_back(server.pttl(key));
  }
  return kept;
}

void use_servers_clock(Request& request) {
  constexpr microseconds kYears = std::chrono::seconds{80'000'000};
  request.now.reset();
  for (Limit& limit : request.limits) {
    limit.window = std::max(limit.window, kYears);
    limit.limit = std::min<std::int64_t>(limit.limit, 1000);
    limit.burst.reset();
  }
  auto& reservation = request.reservation;
  if (reservation) reservation->hold = std::max(reservation->hold, kYears);
}

}  // namespace rlctl::test
