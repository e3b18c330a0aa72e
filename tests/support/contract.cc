#include "support/contract.h"

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

}  // namespace rlctl::test
