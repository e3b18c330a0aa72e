#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "limiter/limit.h"
#include "limiter/state.h"
#include "redis/connection.h"

namespace rlctl::limiter {

/// The key is not what it was when reading began: gone, of another type, or with fewer entries.
class KeyChanged : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the key has changed"; }
};

/// One entry as it is stored.
struct StoredEntry {
  microseconds at{0};
  std::string member;  ///< of a sorted set; of a list empty
};

/// The entries of a key whose state is kept as kTimes, kScores or kLeases, oldest first: which
/// stands at an index, how many are earlier than an instant. Holds the newest kPage of them and
/// asks for others when they are needed, in pages or by bisection, so that a million take no more
/// memory than a thousand. Reads only; throws redis::Error and KeyChanged. Concurrent writes
/// shift indices: callers that need certainty use WATCH and EXEC.
class Entries {
 public:
  /// How many are fetched at once: few enough that other clients do not wait noticeably.
  static constexpr std::int64_t kPage = 1000;
  /// Told about reading that takes long: entries read, and in all.
  using OnProgress = std::function<void(std::int64_t, std::int64_t)>;

  /// Queues the first reads, so that they share a round trip with whatever the caller queues.
  Entries(redis::Connection& connection, const StateForm& form, std::string key,
          OnProgress on_progress);
  /// Takes the replies to them.
  void begin();

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Of size() > 0.
  [[nodiscard]] microseconds oldest() const noexcept { return oldest_; }
  [[nodiscard]] microseconds newest() const noexcept { return newest_.back().at; }

  /// How many are earlier than each of these instants.
  [[nodiscard]] std::vector<std::int64_t> count_before(std::span<const microseconds> instants);
  /// The entry at this index, from 0 for the oldest.
  [[nodiscard]] microseconds at(std::int64_t index);

  /// Calls visit(entry) for each from the newest to the oldest, or, where they are leases, the last
  /// to lapse first, for as long as it returns true.
  void visit_backwards(const std::function<bool(const StoredEntry&)>& visit);

 private:
  /// The index that is looked for lies from `low` to `high`.
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
  microseconds oldest_{0};
  std::vector<StoredEntry> newest_;  ///< the last of them, oldest first
};

}  // namespace rlctl::limiter
