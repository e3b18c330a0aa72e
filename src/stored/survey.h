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
#include "stored/libraries.h"

namespace rlctl::stored {

/// What a survey found at a key.
struct Surveyed {
  /// All figures, without the entries, and of large entries and fields only what Parts::kCut keeps.
  /// If the key was deleted, or changed its type while it was read, it does not exist.
  Inspection inspection = {};
  /// The server refuses this key to the user. The inspection then has only the key's name.
  std::optional<redis::Error> refused = {};
  /// The same, or a UsageError: the asked limit cannot be that of the key's algorithm. Else null.
  std::exception_ptr error = {};
};

/// Reads any number of keys in a few round trips for all of them, with commands that only read;
/// also as a user who may call no script, and from a replica. Of a key that is written meanwhile,
/// the figures may be of different moments. The keys may be in any slots. Throws redis::Error, also
/// if the server refuses a command.
std::vector<Surveyed> survey(redis::Connection& connection, std::span<const InspectedKey> keys,
                             const Libraries& libraries);

struct SurveyScan {
  std::string pattern = "*";
  bool once = true;  ///< each key once, not as often as SCAN returns it
  /// What is known of a key.
  std::function<InspectionRequest(const std::string& key)> ask;
  /// Called with the keys of each page, and with the share of the database that was scanned.
  std::function<void(std::span<const Surveyed> page, double share)> on_page;
};
/// Surveys all keys that match a pattern. Throws redis::Error.
void survey_all(redis::Connection& connection, const SurveyScan& scan, const Libraries& libraries);

}  // namespace rlctl::stored
