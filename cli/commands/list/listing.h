#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/watch.h"
#include "cli/errors/refused_keys.h"
#include "cli/options/configuration.h"
#include "cli/options/options.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "state/survey.h"

namespace rlctl::cli::list {

using std::chrono::microseconds;

/// The sort order: keys ascending, the others descending, a row without that value last, and a key
/// that never expires before all others.
enum class SortKey { kUsed, kRatio, kTtl, kBytes, kKey };

/// The options of `rlctl list`.
struct Plan {
  std::string pattern = "*";
  std::optional<double> above = {};      ///< only rows whose ratio is greater
  std::optional<std::int64_t> top = {};  ///< at most this many
  std::optional<SortKey> sort = {};      ///< none: as they are found
  bool only_without_ttl = false;
  std::optional<std::string> algorithm = {}, policy = {};  ///< only keys of this one; none: of all
  bool include_unrecognized = false;  ///< also what only looks like a limiter's state
  bool only_totals = false;
  std::optional<limiter::Limit> limit = {};  ///< of keys whose limit is not known otherwise
  bool watches = false;
  std::chrono::microseconds watch_interval = Watch{}.interval;

  /// Whether some limiters are left out.
  [[nodiscard]] bool has_filter() const;
};

/// A limiter's key. Unknown values are empty; the words live as long as the program, and the policy
/// as long as the configuration.
struct Row {
  std::string key;
  std::string_view library, algorithm, policy;
  /// Some libraries give units back before they take them: then none are used, and all remain.
  std::optional<std::int64_t> used, remaining;
  std::optional<std::int64_t> limit, capacity, bytes;
  std::optional<microseconds> window, next_free, reset_after;
  bool window_is_inferred = false;  ///< and so is what depends on it
  std::optional<microseconds> ttl;  ///< none: it never expires

  /// The share of what is allowed at once that is used, 1 if it is full.
  [[nodiscard]] std::optional<double> ratio() const;
};

/// Whether `a` is listed before `b`.
[[nodiscard]] bool comes_before(const Row& a, const Row& b, SortKey sort);

/// How many keys were not listed, and why.
struct SkippedCounts {
  std::int64_t others = 0;        ///< no limiter's
  std::int64_t unrecognized = 0;  ///< only look like one's
  std::int64_t unknown = 0;       ///< limiters of which --above cannot tell
  RefusedKeys refused = {};
};

/// The listed keys whose limit has too short a window: see Inspection::longer_window.
struct WindowMismatch {
  std::int64_t keys = 0;
  std::string first;       ///< one of them
  microseconds window{0};  ///< the one that its TTL shows
};

/// Reads the limiters of a database, page by page.
class Listing {
 public:
  /// The configuration tells the policies' limits; it and `plan` must outlive this. Throws what
  /// ConfigurationSource::policies() throws.
  Listing(const Plan& plan, ConfigurationSource& configuration);

  /// Calls `on_rows` with the rows of each page that the plan asks for, and with the share of the
  /// database that was scanned. Each key comes once, unless the plan asks for the top only. Throws
  /// redis::Error, as does read(); a key that is refused to this user is counted in skipped().
  void scan(redis::Connection& connection,
            const std::function<void(std::vector<Row>, double)>& on_rows);
  /// The rows of these keys, of those that exist.
  [[nodiscard]] std::vector<Row> read(redis::Connection& connection, std::vector<std::string> keys);

  [[nodiscard]] const SkippedCounts& skipped() const noexcept { return skipped_; }
  [[nodiscard]] const WindowMismatch& window_mismatch() const noexcept { return window_mismatch_; }

 private:
  [[nodiscard]] state::InspectionRequest request_for(const std::string& key) const;
  [[nodiscard]] std::vector<Row> rows_of(std::span<const state::Surveyed> page);
  [[nodiscard]] std::optional<Row> row_of(const state::Surveyed& surveyed);
  [[nodiscard]] bool wants(const Row& row);

  const Plan& plan_;
  const limiter::Configuration& configuration_;
  SkippedCounts skipped_;
  WindowMismatch window_mismatch_;
};

/// Collects rows: the first ones in the plan's order, or all.
class RowCollection {
 public:
  /// Keeps the first `most` rows in that order; none: all.
  RowCollection(SortKey sort, std::optional<std::int64_t> most) : sort_(sort), most_(most) {}
  void add(std::vector<Row> rows);
  /// Returns the rows sorted and leaves the collection empty.
  [[nodiscard]] std::vector<Row> take();

 private:
  void cut();

  SortKey sort_;
  std::optional<std::int64_t> most_;
  std::vector<Row> rows_;
};

}  // namespace rlctl::cli::list
