#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/list/plan.h"
#include "cli/options/configuration.h"
#include "cli/server/targets.h"
#include "redis/connection.h"
#include "stored/survey.h"

namespace rlctl::cli::list {

/// A limiter's key. Unknown words are empty; they live as long as the Listing, and the policy as
/// long as the configuration.
struct Row {
  std::string key;
  std::string_view library, algorithm, policy;
  std::string part_of;  ///< the key to whose state this one belongs; only with --all
  stored::Usage usage;
  std::optional<double> ratio;  ///< see Inspection::ratio()
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

  /// Calls `on_rows` with the rows of each page that the plan asks for, and with the share of the
  /// database that was scanned. Each key comes once, unless the plan asks for the top only and does
  /// not watch. Throws redis::Error, as does read_again(); a key that is refused to this user is
  /// counted in skipped().
  void scan(redis::Connection& connection,
            const std::function<void(std::vector<Row>, double)>& on_rows);
  /// The present rows of these keys, of those that exist.
  std::vector<Row> read_again(redis::Connection& connection, const std::vector<Row>& rows);

  const SkippedCounts& skipped() const noexcept { return skipped_; }
  /// Whether --limit has judged a key that stores another limit, listed or not.
  bool overrules_stored_limits() const noexcept { return overrules_stored_limits_; }

 private:
  stored::InspectionRequest request_for(const std::string& key) const;
  std::vector<Row> rows_of(std::span<const stored::Surveyed> page);
  std::optional<Row> row_of(const stored::Inspection& inspection);
  bool wants(const Row& row);

  const Plan& plan_;
  const limiter::Configuration& configuration_;
  stored::Libraries libraries_;
  SkippedCounts skipped_;
  bool overrules_stored_limits_ = false;
};

/// Collects rows: the first ones in the plan's order, or all.
class RowCollection {
 public:
  /// Keeps the first `most` rows in that order; none: all.
  RowCollection(SortKey sort, std::optional<std::int64_t> most) : sort_(sort), most_(most) {}
  void add(std::vector<Row> rows);
  /// Returns the rows sorted and leaves the collection empty.
  std::vector<Row> take();

 private:
  void cut();

  SortKey sort_;
  std::optional<std::int64_t> most_;
  std::vector<Row> rows_;
};

}  // namespace rlctl::cli::list
