#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limiter/limit.h"
#include "redis/connection.h"
#include "state/entries.h"
#include "state/state.h"

namespace rlctl::state {

/// Options for inspect().
struct InspectionRequest {
  /// The limit to apply; by default the stored one. Without a burst, the stored one applies if the
  /// limit is otherwise the stored one.
  std::optional<limiter::Limit> limit = {};
  /// The limit to apply if neither is known: for a log, and for a key that does not exist.
  std::optional<limiter::Limit> usual_limit = {};
  /// Used only if the key does not exist: stored state determines its algorithm. Null: not known.
  const limiter::Algorithm* algorithm = nullptr;
  /// The window in the key's name ("{login:alice}:60s"), for a log that does not store it.
  std::optional<microseconds> window_in_name = {};
  std::optional<microseconds> now = {};  ///< default: the server's clock
  /// List at most this many instants that have entries, the newest; none: all.
  std::optional<std::int64_t> entries = 20;
  int bars = 0;  ///< parts into which the window is divided for Inspection::bars
};

/// One of many keys, for survey() and read_usage(), and what is known about it.
struct InspectedKey {
  std::string key;
  InspectionRequest request = {};  ///< its `entries` and `bars` do not apply
};

/// The entries at one instant.
struct InspectedEntry {
  microseconds at{0};  ///< for a lease: when it lapses
  std::int64_t count = 1;
  std::string holder = {};  ///< for a lease

  bool operator==(const InspectedEntry&) const = default;
};

/// A limit, and how much of it is used. Unknown values are empty.
struct Usage {
  /// The limit to which used, remaining and so on refer; the stored one unless another was given.
  std::optional<std::int64_t> limit;
  std::optional<microseconds> window;
  std::optional<std::int64_t> burst;  ///< only if the algorithm has one
  /// The window is not part of the limit that applies, but was inferred from the TTL and the
  /// entries, or from the key's name. What depends on it, such as used and reset_after, is inferred
  /// too.
  bool window_is_inferred = false;

  std::optional<std::int64_t> used;  ///< units that count now, rounded up
  std::optional<std::int64_t> remaining;
  /// 0, or the retry_after of a request of cost 1; kNever if waiting does not help.
  std::optional<microseconds> next_free;
  std::optional<microseconds> reset_after;

  std::optional<microseconds> ttl;    ///< none: the key never expires or does not exist
  std::optional<std::int64_t> bytes;  ///< none: the server does not report it
};

/// What a key holds at one instant. Unknown values are empty.
struct Inspection : Usage {
  std::string key;
  Content content;             ///< content.type is "none" if the key does not exist
  State state;                 ///< its form is null if it is not limiter state
  microseconds now{0};         ///< the instant: as requested, or the server's clock
  microseconds server_now{0};  ///< the server's clock
  /// The window that a log's TTL and entries show, if it is longer than that of the limit, which
  /// cannot be that of the log: what depends on the limit is then wrong. See longer_window().
  std::optional<microseconds> longer_window = {};
  std::optional<double> used_exact;  ///< for buckets, queues and estimates, not rounded

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
  /// See state::is_recognized().
  [[nodiscard]] bool is_recognized() const { return state::is_recognized(key, content, state); }
  /// The number of requests of cost 1 allowed at once from empty, to which `used` compares: the
  /// limit, or the burst of a bucket; a queue allows one more, which does not wait.
  [[nodiscard]] std::optional<std::int64_t> capacity() const;
  /// The share of the capacity that is used, 1 if it is full: 0 of any if none is.
  [[nodiscard]] std::optional<double> ratio() const;
};

/// Reads a key and reports its state. Writes nothing, prunes nothing, touches no TTL, and so works
/// on a replica. WATCH and EXEC ensure that a single page is read at one instant; more pages are
/// read again, a few times, if another client wrote meanwhile. Throws redis::Error, and UsageError
/// if the requested limit cannot be one of the key's algorithm.
[[nodiscard]] Inspection inspect(redis::Connection& connection, const std::string& key,
                                 const InspectionRequest& request,
                                 const Entries::OnProgress& on_progress = {});

}  // namespace rlctl::state
