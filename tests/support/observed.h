#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/limiters.h"

namespace rlctl::test {

/// A script with a TIME and PTTLs that the test gives. It shows which TTLs the script sets.
class ObservedScript {
 public:
  ObservedScript(TestServer& server, const Algorithm& algorithm)
      : server_(server), algorithm_(algorithm) {}

  microseconds servers_clock{0};             ///< what TIME replies
  std::optional<std::int64_t> left_ms = {};  ///< what PTTL replies; none: the truth
  redis::Reply eval(const std::vector<std::string>& keys,
                    const std::vector<std::string>& arguments);
  /// "KEY MS" for each TTL that was set since this was last called, in order.
  std::vector<std::string> ttls_set();

 private:
  TestServer& server_;
  const Algorithm& algorithm_;
};

}  // namespace rlctl::test
