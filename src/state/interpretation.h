#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "limiter/limit.h"
#include "redis/connection.h"
#include "redis/reply.h"
#include "state/inferred_window.h"
#include "state/inspection.h"

namespace rlctl::state {

/// The number of entries of a log or of leases, how many of them no longer count, and the time of
/// the newest.
struct EntryCounts {
  std::int64_t size = 0, expired = 0;
  microseconds newest{0};
};

/// What every key has.
struct Frame {
  microseconds server_now{0};
  std::int64_t ttl_ms = -1;           ///< as PTTL replies
  std::optional<std::int64_t> bytes;  ///< as MEMORY USAGE replies, if it does
};
/// Queues the two commands that read a key's frame.
void append_frame(redis::Connection& connection, const std::string& key);
/// The frame that the replies to them give.
[[nodiscard]] Frame to_frame(microseconds server_now, const redis::Reply& ttl,
                             const redis::Reply& bytes);

/// Fills in an Inspection from what was read of a key. All readers use it, inspect(), survey() and
/// read_usage(), so that they report the same figures.
class Interpreter {
 public:
  Interpreter(const InspectionRequest& request, Inspection& result)
      : request_(request),
        limit_(request.limit ? request.limit : request.usual_limit),
        result_(result) {}

  void set_frame(const Frame& frame);
  /// Sets the content and decodes it.
  void set_content(Content content);

  /// For a key that does not exist.
  void fill_unused();
  /// For a string or a hash: see Keeping::kText.
  void fill_text();
  /// For a log: sets the limit and the window, which is inferred from `entries` if neither the
  /// request nor the key's name nor its state gives it. Returns false if it stays unknown.
  [[nodiscard]] bool set_window(const std::optional<EntryTimes>& entries);
  /// Entries before this instant no longer count. The window of a log must be known.
  [[nodiscard]] microseconds first_live(microseconds newest) const;
  /// If the limit is reached, next_free stays empty until set_next_free().
  void fill_log(const EntryCounts& entries);
  void fill_leases(const EntryCounts& entries);
  /// Of a log or leases that reach their limit: the entry whose end makes room, counted from 1 for
  /// the newest. None if there is room already, or the limit is not known.
  [[nodiscard]] std::optional<std::int64_t> freeing_entry() const;
  /// Sets next_free from the time of that entry.
  void set_next_free(microseconds freeing_entry);

 private:
  void set_limit(const limiter::Limit& limit);
  void fill_ours();
  void fill_foreign();
  void fill_model(const limiter::Limit& limit);
  void fill_bucket(const limiter::Limit& limit);
  void fill_counter();
  [[nodiscard]] std::optional<limiter::Limit> applicable_limit() const;
  void set_room(std::int64_t used);

  const InspectionRequest& request_;
  const std::optional<limiter::Limit>& limit_;  ///< for a key that does not store one
  Inspection& result_;
};

}  // namespace rlctl::state
