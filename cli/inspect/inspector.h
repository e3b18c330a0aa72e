#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "cli/configuration.h"
#include "cli/failure.h"
#include "cli/limits.h"
#include "limiter/inspection.h"
#include "limiter/policies.h"
#include "redis/connection.h"

namespace rlctl::cli {

/// What `rlctl inspect` was asked, its keys apart.
struct InspectPlan {
  std::optional<Limiter> limiter;  ///< as --limit or --policy says; counts before all else
  bool names_algorithm = false;    ///< --algorithm or --policy does; else it is the default
  std::optional<std::chrono::microseconds> now;
  std::optional<std::int64_t> entries = 20;  ///< none: all
  std::size_t columns_for_bars = 0;          ///< 0: no bars
};

/// What was found of one key that was asked for.
struct Findings {
  /// Of each key in Redis that belongs to it; at least one, which may not exist.
  std::vector<limiter::Inspection> inspections;
  /// Sentences about what does not fit together.
  std::vector<std::string> warnings;
};

/// Told about what takes long: how much of it is done, 0 to 1, and of what.
using OnInspecting = std::function<void(double, std::string_view)>;

/// Finds the keys in Redis that belong to a key, and with which limits to look at them:
/// - with --limit or --policy, those that redis_keys() names, and where there are several limits
///   the key itself besides, if it exists;
/// - else, where a policy of the configuration fits, the key itself and what the policy's limits
///   name; what is stored knows its own limit, and the policy's is for what does not;
/// - else the key itself and what is there under the names of several limits: with the windows that
///   people choose, or, where the key itself is not there, whatever a scan of the database finds.
///   What a scan has found counts for a while, so that watching does not keep the server busy.
/// Reads only. Throws redis::Error.
class Inspector {
 public:
  /// The configuration is read only where the plan has no limiter.
  /// `keys`: all that will be asked about, so that one scan does for all.
  Inspector(const InspectPlan& plan, ConfigurationSource& configuration,
            std::vector<std::string> keys, OnInspecting on_inspecting)
      : plan_(plan),
        configuration_(configuration),
        keys_(std::move(keys)),
        on_inspecting_(std::move(on_inspecting)) {}

  /// One of the keys.
  [[nodiscard]] Findings inspect(redis::Connection& connection, const std::string& key);

 private:
  /// One key in Redis, and what is known of it beforehand.
  struct Target {
    std::string key;
    std::optional<limiter::Limit> limit = {};
    const limiter::Algorithm* algorithm = nullptr;
    bool limit_is_asked = false;  ///< it counts before what the key says itself
    bool only_if_there = false;
  };

  [[nodiscard]] std::vector<Target> targets(const std::string& key);
  [[nodiscard]] std::vector<Target> policy_targets(const std::string& key,
                                                   const limiter::PolicyMatch& match) const;
  [[nodiscard]] limiter::Inspection look(redis::Connection& connection, const Target& target);
  void add_usual_family(redis::Connection& connection, const std::string& key, Findings& findings);
  void take_scanned_family(redis::Connection& connection, const std::string& key,
                           Findings& findings);
  void warn_of_algorithm(const limiter::Inspection& inspection, Findings& findings);
  void warn_of_others(redis::Connection& connection, const std::string& key, Findings& findings);

  const InspectPlan& plan_;
  ConfigurationSource& configuration_;
  std::vector<std::string> keys_;
  OnInspecting on_inspecting_;
  std::map<std::string, std::vector<std::string>> families_;  ///< as the last scan found them
  Clock::time_point scan_again_{};
};

/// kDone where a limiter's state was found, kDenied where nothing was, kRejected where something is
/// no limiter's.
[[nodiscard]] ExitStatus status_of(const Findings& findings);

}  // namespace rlctl::cli
