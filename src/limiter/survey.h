#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/inspection.h"
#include "limiter/usage.h"
#include "redis/connection.h"
#include "redis/error.h"

namespace rlctl::limiter {

/// What a survey found at a key.
struct Surveyed {
  /// The figures of inspect(), without entries and bars, and of large entries and fields only what
  /// Parts::kCut keeps. If the key was deleted, or changed its
  /// type while it was read, it does not exist.
  Inspection inspection = {};
  /// The server refuses this key to the user. The inspection then has only the key's name.
  std::optional<redis::Error> refused = {};
};

/// Reads many keys, such as those that a Scan found, in a few round trips for all of them, with
/// commands that only read; also as a user who may call no script, and from a replica. Of a key
/// that is written meanwhile, the figures may be of different moments, unlike those of inspect().
/// The keys may be in any slots. Throws redis::Error, also if the server refuses a command.
[[nodiscard]] std::vector<Surveyed> survey(redis::Connection& connection,
                                           std::span<const UsageRequest> keys);

/// A set of keys, of which it keeps only hashes: 16 to 32 bytes a key, and up to 48 while it grows.
/// Of a hundred million keys, one is taken for another with a probability of 1 in 3,000.
class SeenKeys {
 public:
  /// Returns false if the key is in the set already.
  bool add(std::string_view key);

 private:
  void grow();
  [[nodiscard]] std::uint64_t& place_of(std::uint64_t hash);

  std::vector<std::uint64_t> places_;  ///< 0: empty; their number is a power of two
  std::size_t count_ = 0;
};

struct SurveyScan {
  std::string pattern = "*";
  bool once = true;  ///< each key once, not as often as SCAN returns it
  /// What is known of a key.
  std::function<InspectionRequest(const std::string& key)> ask;
  /// Called with the keys of each page, and with the share of the database that was scanned.
  std::function<void(std::span<const Surveyed> page, double share)> on_page;
};
/// Surveys all keys that match a pattern. Throws redis::Error.
void survey_all(redis::Connection& connection, const SurveyScan& scan);

}  // namespace rlctl::limiter
