#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "redis/connection.h"
#include "redis/error.h"
#include "stored/inspection.h"

namespace rlctl::stored {

/// At least one key; they share a Cluster slot, such as those of a key with several limits. The
/// requests' `now` must be the same in the whole group.
using UsageGroup = std::vector<InspectedKey>;

struct GroupUsage {
  /// In the order of the group. Their figures are those of inspect(), except that they have no
  /// entries of logs and no bars, next_free is empty if the limit is reached, and no window is
  /// inferred: without a known window, `used` of a log is empty.
  std::vector<Inspection> keys = {};
  /// Why the keys of this group are missing: a redis::Error, or a UsageError if the asked limit
  /// cannot be that of a key. Null if they are there.
  std::exception_ptr error = {};
};

/// Reads all keys in one round trip (two before Redis 7.0, which has no EVALSHA_RO), each group at
/// one instant, with a script that only reads. Works on a replica; scans nothing. Throws
/// redis::Error if the server cannot be asked.
std::vector<GroupUsage> read_usage(redis::Connection& connection,
                                   std::span<const UsageGroup> groups);

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
std::vector<Surveyed> survey(redis::Connection& connection, std::span<const InspectedKey> keys);

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

}  // namespace rlctl::stored
