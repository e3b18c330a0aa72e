#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/entries.h"
#include "limiter/state.h"
#include "redis/connection.h"

namespace rlctl::limiter {

/// What to find out about a key.
struct InspectionRequest {
  /// As a request would give it; by default as the state says.
  std::optional<Limit> limit = {};
  /// If neither says it: for a log, and for a key that does not exist.
  std::optional<Limit> usual_limit = {};
  /// Matters only if the key does not exist, since a key says which algorithm wrote it.
  const Algorithm* algorithm = nullptr;
  /// The window in the key's own name, where rlctl gave it that ("{login:alice}:60s"): of a log
  /// that does not say it otherwise.
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

/// What a key holds at one instant. Whatever is not known is empty.
struct Inspection {
  std::string key;
  Content content;             ///< content.type is "none" where there is no such key
  State state;                 ///< its form is null where it is no limiter's
  microseconds now{0};         ///< the instant: as asked, or the server's clock
  microseconds server_now{0};  ///< the server's clock
  /// The limit that used, remaining and so on refer to; the key's own unless one was given.
  std::optional<std::int64_t> limit;
  std::optional<microseconds> window;
  std::optional<std::int64_t> burst;  ///< only where the algorithm has one
  /// The window is what TTL and newest entry say, and used and reset_after follow from it.
  bool window_is_inferred = false;

  std::optional<std::int64_t> used;  ///< units that count now, rounded up
  std::optional<double> used_exact;  ///< of buckets, queues and estimates, not rounded
  std::optional<std::int64_t> remaining;
  /// 0, or what retry_after of a cost of 1 would be; kNever where no wait helps.
  std::optional<microseconds> next_free;
  std::optional<microseconds> reset_after;

  std::optional<microseconds> ttl;    ///< none: it stays for ever, or there is no key
  std::optional<std::int64_t> bytes;  ///< none: the server does not tell
  /// Entries of a log or set that lie there, and of these how many count no more.
  std::int64_t stored = 0, expired = 0;
  std::vector<InspectedEntry> entries;  ///< oldest first; the newest where there are more
  /// How many entries came in each part of the window that ends now, oldest first; empty where
  /// that is not known, or not asked for.
  std::vector<std::int64_t> bars;
  /// Other clients kept writing to it: the figures come from different moments of the reading.
  bool changed_while_read = false;

  [[nodiscard]] bool exists() const { return content.type != "none"; }
  [[nodiscard]] bool is_limiter() const { return state.form != nullptr; }
};

/// Reads a key and tells what it holds; writes nothing, prunes nothing, touches no TTL, and so
/// works on a replica. What lies in one page is read at one instant (WATCH and EXEC see to it); a
/// larger window is read again where somebody wrote meanwhile, a few times. Throws redis::Error.
[[nodiscard]] Inspection inspect(redis::Connection& connection, const std::string& key,
                                 const InspectionRequest& request,
                                 const Entries::OnProgress& on_progress = {});

}  // namespace rlctl::limiter
