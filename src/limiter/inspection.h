#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limit.h"
#include "limiter/state.h"
#include "redis/connection.h"

namespace rlctl::limiter {

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

struct EntryTimes {
  microseconds oldest, newest;
};

/// The window of a log that does not store it, inferred from its TTL and entries. The TTL was set
/// when the newest entry was added or earlier, and exceeded the window by what the form defines;
/// all entries were within one window of the newest when it was added. Of the possible windows,
/// returns the one that a person would most likely choose. Returns nothing if the form's TTL does
/// not depend on the window, or if the window differs between the server's clock and a caller's,
/// for which the scripts make the TTL an hour longer.
[[nodiscard]] std::optional<microseconds> infer_window(const StateForm& form,
                                                       const EntryTimes& entries,
                                                       microseconds server_now, microseconds ttl);

/// Options for inspect().
struct InspectionRequest {
  /// The limit to apply; by default the stored one. Without a burst, the stored one applies if the
  /// limit is otherwise the stored one.
  std::optional<Limit> limit = {};
  /// The limit to apply if neither is known: for a log, and for a key that does not exist.
  std::optional<Limit> usual_limit = {};
  /// Used only if the key does not exist: stored state determines its algorithm. Null: not known.
  const Algorithm* algorithm = nullptr;
  /// The window in the key's name ("{login:alice}:60s"), for a log that does not store it.
  std::optional<microseconds> window_in_name = {};
  std::optional<microseconds> now = {};  ///< default: the server's clock
  /// List at most this many instants that have entries, the newest; none: all.
  std::optional<std::int64_t> entries = 20;
  int bars = 0;  ///< parts into which the window is divided for Inspection::bars
};

/// The entries at one instant.
struct InspectedEntry {
  microseconds at{0};  ///< for a lease: when it lapses
  std::int64_t count = 1;
  std::string holder = {};  ///< for a lease

  bool operator==(const InspectedEntry&) const = default;
};

/// What a key holds at one instant. Unknown values are empty.
struct Inspection {
  std::string key;
  Content content;             ///< content.type is "none" if the key does not exist
  State state;                 ///< its form is null if it is not limiter state
  microseconds now{0};         ///< the instant: as requested, or the server's clock
  microseconds server_now{0};  ///< the server's clock
  /// The limit to which used, remaining and so on refer; the stored one unless another was given.
  std::optional<std::int64_t> limit;
  std::optional<microseconds> window;
  std::optional<std::int64_t> burst;  ///< only if the algorithm has one
  /// The window was inferred from the TTL and the newest entry; used and reset_after depend on it.
  bool window_is_inferred = false;

  std::optional<std::int64_t> used;  ///< units that count now, rounded up
  std::optional<double> used_exact;  ///< for buckets, queues and estimates, not rounded
  std::optional<std::int64_t> remaining;
  /// 0, or the retry_after of a request of cost 1; kNever if waiting does not help.
  std::optional<microseconds> next_free;
  std::optional<microseconds> reset_after;

  std::optional<microseconds> ttl;    ///< none: the key never expires or does not exist
  std::optional<std::int64_t> bytes;  ///< none: the server does not report it
  /// The number of stored entries of a log or set, and how many of them no longer count.
  std::int64_t stored = 0, expired = 0;
  std::optional<microseconds> newest;   ///< the time of a log's newest entry
  std::vector<InspectedEntry> entries;  ///< oldest first; only the newest if there are more
  /// The number of entries in each part of the window that ends now, oldest first; empty if unknown
  /// or not requested.
  std::vector<std::int64_t> bars;
  /// Other clients kept writing to the key: the figures were read at different moments.
  bool changed_while_read = false;

  [[nodiscard]] bool exists() const { return content.type != "none"; }
  [[nodiscard]] bool is_limiter() const { return state.form != nullptr; }
  /// See limiter::is_recognized().
  [[nodiscard]] bool is_recognized() const { return limiter::is_recognized(key, content, state); }
  /// The number of requests of cost 1 allowed at once from empty, to which `used` compares: the
  /// limit, or the burst of a bucket; a queue allows one more, which does not wait.
  [[nodiscard]] std::optional<std::int64_t> capacity() const;
};

/// Reads a key and reports its state. Writes nothing, prunes nothing, touches no TTL, and so works
/// on a replica. WATCH and EXEC ensure that a single page is read at one instant; more pages are
/// read again, a few times, if another client wrote meanwhile. Throws redis::Error.
[[nodiscard]] Inspection inspect(redis::Connection& connection, const std::string& key,
                                 const InspectionRequest& request,
                                 const Entries::OnProgress& on_progress = {});

}  // namespace rlctl::limiter
