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

/// The entries of a key whose state is kept as kTimes, kScores or kLeases, oldest first: the one at
/// an index, the number before an instant. Holds the newest kPage of them and asks for others when
/// they are needed, in pages or by bisection, so that a million take no more memory than a
/// thousand. Reads only; throws redis::Error and KeyChanged. Concurrent writes shift indices:
/// callers that need certainty use WATCH and EXEC.
class Entries {
 public:
  /// How many are fetched at once: few enough that other clients do not wait noticeably.
  static constexpr std::int64_t kPage = 1000;
  /// Told about reading that takes long: entries read, and in all.
  using OnProgress = std::function<void(std::int64_t, std::int64_t)>;

  /// Queues the first reads, so that they share a round trip with the caller's own commands.
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

  /// Calls visit(entry) for each from the newest to the oldest (of leases, the last to lapse first)
  /// for as long as it returns true.
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

struct EntryTimes {
  microseconds oldest, newest;
};

/// The window of a log that does not store it, inferred from its TTL and entries: the TTL was set
/// when the newest entry came or some time before, and was then longer than the window by what the
/// form defines; every entry was within one window of the newest when that came. Of the possible
/// windows, the one that a person would have chosen. None if the form's TTL tells nothing, or if it
/// may have been one window by the server's clock or another by a caller's, for which the scripts
/// make the TTL an hour longer.
[[nodiscard]] std::optional<microseconds> infer_window(const StateForm& form,
                                                       const EntryTimes& entries,
                                                       microseconds server_now, microseconds ttl);

/// What to find out about a key.
struct InspectionRequest {
  /// The limit of a request; by default the stored one.
  std::optional<Limit> limit = {};
  /// The limit if neither is known: for a log, and for a key that does not exist.
  std::optional<Limit> usual_limit = {};
  /// Used only if the key does not exist: stored state tells its algorithm.
  const Algorithm* algorithm = nullptr;
  /// The window in the key's name ("{login:alice}:60s"), for a log that does not store it.
  std::optional<microseconds> window_in_name = {};
  std::optional<microseconds> now = {};  ///< default: the server's clock
  /// How many instants at which there are entries are listed, the newest; none: all.
  std::optional<std::int64_t> entries = 20;
  int bars = 0;  ///< into how many parts the window is cut for Inspection::bars
};

/// Entries of one instant.
struct InspectedEntry {
  microseconds at{0};  ///< of a lease: when it lapses
  std::int64_t count = 1;
  std::string holder = {};  ///< of a lease

  bool operator==(const InspectedEntry&) const = default;
};

/// What a key holds at one instant. Unknown values are empty.
struct Inspection {
  std::string key;
  Content content;             ///< content.type is "none" if there is no such key
  State state;                 ///< its form is null if it is not a limiter's
  microseconds now{0};         ///< the instant: as asked, or the server's clock
  microseconds server_now{0};  ///< the server's clock
  /// The limit that used, remaining and so on refer to; the key's own unless one was given.
  std::optional<std::int64_t> limit;
  std::optional<microseconds> window;
  std::optional<std::int64_t> burst;  ///< only if the algorithm has one
  /// The window is what TTL and newest entry say, and used and reset_after follow from it.
  bool window_is_inferred = false;

  std::optional<std::int64_t> used;  ///< units that count now, rounded up
  std::optional<double> used_exact;  ///< of buckets, queues and estimates, not rounded
  std::optional<std::int64_t> remaining;
  /// 0, or what retry_after of a cost of 1 would be; kNever if no wait helps.
  std::optional<microseconds> next_free;
  std::optional<microseconds> reset_after;

  std::optional<microseconds> ttl;    ///< none: it never expires, or there is no key
  std::optional<std::int64_t> bytes;  ///< none: the server does not report it
  /// Entries of a log or set that lie there, and of these how many count no more.
  std::int64_t stored = 0, expired = 0;
  std::vector<InspectedEntry> entries;  ///< oldest first; if there are more, the newest
  /// How many entries came in each part of the window that ends now, oldest first; empty if unknown
  /// or not asked for.
  std::vector<std::int64_t> bars;
  /// Other clients kept writing to it: the figures come from different moments of the reading.
  bool changed_while_read = false;

  [[nodiscard]] bool exists() const { return content.type != "none"; }
  [[nodiscard]] bool is_limiter() const { return state.form != nullptr; }
};

/// Reads a key and reports what it holds; writes nothing, prunes nothing, touches no TTL, and so
/// works on a replica. A single page is read at one instant, by WATCH and EXEC; a larger window is
/// read again, a few times, if another client wrote meanwhile. Throws redis::Error.
[[nodiscard]] Inspection inspect(redis::Connection& connection, const std::string& key,
                                 const InspectionRequest& request,
                                 const Entries::OnProgress& on_progress = {});

}  // namespace rlctl::limiter
