#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/limiters.h"

namespace rlctl::test {

// Shared by all tests of the contract.

inline constexpr microseconds kNow{1'700'000'000'123'457};
inline constexpr std::int64_t kHourMs = 3'600'000;

using Strings = std::vector<std::string>;

/// The algorithms with the usual contract; only $RLCTL_TEST_ALGORITHM if that is set.
std::vector<Algorithm> usual_algorithms();

bool contains(std::string_view text, std::string_view part);

/// How long a block of calls took, in ms, rounded up, plus one for the server's own rounding: a TTL
/// may have run down by this much.
class Elapsed {
 public:
  std::int64_t ms() const {
    const auto passed = std::chrono::steady_clock::now() - start_;
    return std::chrono::ceil<std::chrono::milliseconds>(passed).count() + 1;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The contents and TTLs of some keys.
struct Kept {
  Strings dumps;
  std::vector<std::int64_t> ttls_ms;
};

Kept look_up(TestServer& server, const Strings& keys);

/// Leaves the time to the server, whose clock moves between two calls: windows and holds last for
/// years, and so do not end meanwhile.
void use_servers_clock(Request& request);

}  // namespace rlctl::test
