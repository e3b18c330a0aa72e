#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "state/state.h"

namespace rlctl::state {

/// The time of an entry of a list or sorted set of this form, as Redis prints the element or the
/// score. Throws redis::Error(kRejected).
[[nodiscard]] microseconds entry_time(const StateForm& form, std::string_view text);
/// ZCOUNT's upper bound for the scores before an instant.
[[nodiscard]] std::string score_before(const StateForm& form, microseconds instant);

/// The key changed since reading began: it is gone, has another type, or has fewer entries.
class KeyChanged : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the key has changed"; }
};

/// One entry as it is stored.
struct StoredEntry {
  microseconds at{0};
  std::string member;  ///< of a sorted set; empty for a list
};

/// The entries of a key whose state is kept as kTimes, kScores or kLeases, oldest first. Returns
/// the time at an index and the number of entries before an instant. Holds the newest kPage entries
/// and reads others when needed, in pages or by bisection, so that memory does not grow with the
/// number of entries. Reads only; throws redis::Error and KeyChanged. Concurrent writes shift
/// indices: callers that need consistency use WATCH and EXEC.
class Entries {
 public:
  /// Entries per page: few enough that other clients do not wait noticeably.
  static constexpr std::int64_t kPage = 1000;
  /// Called during a long read with the number of entries read and the total.
  using OnProgress = std::function<void(std::int64_t, std::int64_t)>;

  /// Queues the first reads, so that they share a round trip with the caller's own commands.
  Entries(redis::Connection& connection, const StateForm& form, std::string key,
          OnProgress on_progress);
  /// Reads the replies to them.
  void begin();

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Requires size() > 0.
  [[nodiscard]] microseconds oldest() const noexcept { return oldest_; }
  [[nodiscard]] microseconds newest() const noexcept { return newest_.back().at; }

  /// The number of entries before each of these instants.
  [[nodiscard]] std::vector<std::int64_t> count_before(std::span<const microseconds> instants);
  /// The time of the entry at this index, counted from 0 for the oldest.
  [[nodiscard]] microseconds at(std::int64_t index);

  /// Calls visit(entry) for each entry from the newest to the oldest (for leases, the last to lapse
  /// first) until it returns false.
  void visit_backwards(const std::function<bool(const StoredEntry&)>& visit);

 private:
  /// The index that is searched for is in [low, high].
  struct Bounds {
    microseconds instant{0};
    std::int64_t low = 0, high = 0;
    [[nodiscard]] std::int64_t middle() const { return low + (high - low) / 2; }
  };
  [[nodiscard]] bool is_list() const;
  void append_range(std::int64_t first, std::int64_t last);
  [[nodiscard]] std::vector<StoredEntry> read_range();
  std::int64_t ask_for_page_before(std::int64_t end);
  void bisect(std::span<Bounds> bounds);
  void count_by_score(std::span<Bounds> bounds);

  redis::Connection& connection_;
  const StateForm& form_;
  std::string key_;
  OnProgress on_progress_;
  std::int64_t size_ = 0;
  std::int64_t others_ = 0;  ///< members before the entries: the limit of leases
  microseconds oldest_{0};
  std::vector<StoredEntry> newest_;  ///< the newest entries, oldest first
};

}  // namespace rlctl::state
