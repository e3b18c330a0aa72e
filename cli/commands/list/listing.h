#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configuration.h"
#include "cli/report/usage.h"
#include "cli/server/targets.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "stored/survey.h"

namespace rlctl::cli::list {

using report::KeyState;

/// An order of keys: those with a larger value come first, then by name. A key without the value is
/// last, and one that never expires before all others.
struct Order {
  std::string_view name;
  double (*value)(const KeyState& key);
};
constexpr std::array kOrders{
    Order{"used",
          [](const KeyState& key) { return static_cast<double>(key.usage.used.value_or(-1)); }},
    Order{"ratio", [](const KeyState& key) { return key.ratio.value_or(-1); }},
    Order{"ttl",
          [](const KeyState& key) {
            return key.usage.ttl ? static_cast<double>(key.usage.ttl->count()) : HUGE_VAL;
          }},
    Order{"bytes",
          [](const KeyState& key) { return static_cast<double>(key.usage.bytes.value_or(-1)); }},
    Order{"key", [](const KeyState&) { return 0.0; }}};

/// The options of `rlctl list`.
struct Plan {
  std::string pattern = "*";
  std::optional<double> above = {};      ///< only keys with at least this ratio
  std::optional<std::int64_t> top = {};  ///< at most this many
  std::optional<Order> sort = {};        ///< none: as they are found
  bool include_unrecognized = false;     ///< also what only looks like a limiter's state
  bool only_totals = false;
  std::optional<limiter::Limit> limit = {};  ///< of keys whose limit is not known otherwise
  std::optional<std::string> as = {};        ///< what other limiters' keys hold

  /// Whether some limiters are left out.
  bool has_filter() const { return pattern != "*" || above; }
};

/// How many keys were not listed, and why.
struct SkippedCounts {
  std::int64_t others = 0;        ///< no limiter's
  std::int64_t unrecognized = 0;  ///< only look like one's
  std::int64_t unknown = 0;       ///< limiters of which --above cannot tell
  std::int64_t filtered = 0;      ///< limiters that match the pattern, but not another option
  RefusedKeys refused = {};
};

/// Reads the limiters of a database, page by page.
class Listing {
 public:
  /// The configuration tells the policies' limits; it and `plan` must outlive this. Throws what
  /// ConfigurationSource::policies() throws.
  Listing(const Plan& plan, ConfigurationSource& configuration)
      : plan_(plan),
        configuration_(configuration.policies()),
        libraries_(libraries_of(configuration, plan.as)) {}

  /// Calls `on_keys` with the keys of each page that the plan asks for, and with the share of the
  /// database that was scanned. Each key comes once, unless the plan asks for the top only. Throws
  /// redis::Error; a key that is refused to this user is counted in skipped().
  void scan(redis::Connection& connection,
            const std::function<void(std::vector<KeyState>, double)>& on_keys);

  const SkippedCounts& skipped() const noexcept { return skipped_; }
  /// Whether --limit has judged a key that stores another limit, listed or not.
  bool overrules_stored_limits() const noexcept { return overrules_stored_limits_; }

 private:
  stored::InspectionRequest request_for(const std::string& key) const;
  std::vector<KeyState> wanted_of(std::span<const stored::Surveyed> page);
  /// Counts the key if it is left out.
  bool wants(const stored::Inspection& key);

  const Plan& plan_;
  const limiter::Configuration& configuration_;
  stored::Libraries libraries_;
  SkippedCounts skipped_;
  bool overrules_stored_limits_ = false;
};

/// Collects keys: the first ones in the plan's order, or all.
class FirstKeys {
 public:
  /// Keeps the first `most` keys in that order; none: all.
  FirstKeys(const Order& order, std::optional<std::int64_t> most) : order_(order), most_(most) {}
  void add(std::vector<KeyState> keys);
  /// Returns the keys sorted and leaves the collection empty.
  std::vector<KeyState> take();

 private:
  void cut();

  Order order_;
  std::optional<std::int64_t> most_;
  std::vector<KeyState> keys_;
};

}  // namespace rlctl::cli::list
