#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limit.h"
#include "redis/connection.h"
#include "redis/reply.h"
#include "stored/forms.h"

namespace rlctl::stored {

/// Options for inspect().
struct InspectionRequest {
  /// The limit to apply; by default the stored one. Without a burst, the stored one applies if the
  /// limit is otherwise the stored one.
  std::optional<limiter::Limit> limit = {};
  /// The limit to apply if neither is known: for a log, and for a key that does not exist.
  std::optional<limiter::Limit> usual_limit = {};
  /// Where the limit comes from, for Usage::limits_differ; lives as long as the program.
  std::string_view limit_name = "policy";
  /// Used only if the key does not exist: stored state determines its algorithm. Null: not known.
  const limiter::Algorithm* algorithm = nullptr;
  /// The window in the key's name ("{login:alice}:60s"), for a log that does not store it.
  std::optional<microseconds> window_in_name = {};
  std::optional<microseconds> now = {};  ///< default: the server's clock
  /// List at most this many instants that have entries, the newest; none: all.
  std::optional<std::int64_t> entries = 20;
  bool reservations = false;  ///< read those of a budget, also if no figure depends on them
  int bars = 0;               ///< parts into which the window is divided for Inspection::bars
};

/// One of the keys of survey(), and what is known about it.
struct InspectedKey {
  std::string key;
  InspectionRequest request = {};  ///< its `entries` do not apply
};

/// The entries at one instant.
struct InspectedEntry {
  microseconds at{0};  ///< for a lease: when it lapses
  std::int64_t count = 1;
  std::optional<std::string> holder = {};  ///< only for a lease

  bool operator==(const InspectedEntry&) const = default;
};

/// A reservation that a budget remembers.
struct InspectedReservation {
  std::string id;
  limiter::Reservation stored = {};
  limiter::ReservationState state = limiter::ReservationState::kUnknown;  ///< at Inspection::now

  bool operator==(const InspectedReservation&) const = default;
};

/// A limit, and how much of it is used. Unknown values are empty.
struct Usage {
  /// The limit to which used, remaining and so on refer; the stored one unless another was given.
  std::optional<std::int64_t> limit;
  std::optional<microseconds> window;
  /// Null for a window of fixed length; else `window` is the length of the period that holds `now`.
  const limiter::CalendarWindow* calendar = nullptr;
  std::optional<std::int64_t> burst;  ///< only if the algorithm has one
  /// The window is not part of the limit that applies, but follows from the key's name. What
  /// depends on it, such as used and reset_after, is inferred too.
  bool window_is_inferred = false;
  /// "stored 10/20s, policy 1000/20s", if the key stores another limit than the request has, or
  /// would have if none were stored. Empty if they are the same, or one of them is not known.
  std::string limits_differ = {};

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
  KeySample content;           ///< content.type is "none" if the key does not exist
  Decoded state;               ///< its form is null if it is not limiter state
  microseconds now{0};         ///< the instant: as requested, or the server's clock
  microseconds server_now{0};  ///< the server's clock
  /// Not rounded, for buckets, queues, estimates, and a count that is not whole.
  std::optional<double> used_exact;

  /// The number of stored entries of a log or set, or of the reservations of a budget, and how many
  /// entries no longer count.
  std::int64_t stored = 0, expired = 0;
  std::optional<microseconds> newest;   ///< the time of a log's newest entry
  std::vector<InspectedEntry> entries;  ///< oldest first; only the newest if there are more
  /// For a budget: `used` is their sum.
  std::optional<std::int64_t> spent, held;
  std::int64_t holds = 0;  ///< by how many reservations units are held, listed or not
  /// For a budget: by the end of their holds; those that are forgotten are left out. Only if they
  /// were asked for, or if the figures depend on them.
  std::vector<InspectedReservation> reservations;
  /// The number of entries in each part of the window that ends now, oldest first; empty if unknown
  /// or not requested.
  std::vector<std::int64_t> bars;
  /// Other clients kept writing to the key: the figures were read at different moments.
  bool changed_while_read = false;

  bool exists() const { return content.type != "none"; }
  bool is_limiter() const { return state.form != nullptr; }
  /// How many reservations are in this state, of those that were read.
  std::int64_t count(limiter::ReservationState reservation) const;
  /// Whether a budget holds so many reservations that it denies any other, whatever remains.
  bool is_closed_by_reservations() const;
  /// See stored::is_recognized().
  bool is_recognized() const { return stored::is_recognized(content, state); }
  /// The number of requests of cost 1 allowed at once from empty, to which `used` compares: the
  /// limit, or the burst of a bucket; a queue allows one more, which does not wait.
  std::optional<std::int64_t> capacity() const;
  /// The share of the capacity that is used, 1 if it is full or there is a ban: 0 of any if none
  /// is.
  std::optional<double> ratio() const;
  /// `used`, which must be known, in words: of a count that is not whole, as it is stored.
  std::string used_text() const;

 private:
  std::optional<double> used_share() const;
};

/// The number of entries of a log or of leases, how many of them no longer count, and the time of
/// the newest.
struct EntryCounts {
  std::int64_t size = 0, expired = 0;
  microseconds newest{0};
};

/// What every key has.
struct KeyHeader {
  microseconds server_now{0};
  std::int64_t ttl_ms = -1;           ///< as PTTL replies
  std::optional<std::int64_t> bytes;  ///< as MEMORY USAGE replies, if it does
};

/// Fills in an Inspection from what survey() reads of a key.
class InspectionBuilder {
 public:
  InspectionBuilder(const InspectionRequest& request, Inspection& result)
      : request_(request),
        limit_(request.limit ? request.limit : request.usual_limit),
        result_(result) {}

  void set_header(const KeyHeader& header);
  void set_content(KeySample&& content, Decoded&& state);

  /// For a key that does not exist.
  void fill_unused();
  /// For a string or a hash: see Layout::kText; and for a budget.
  void fill_text();
  /// Whether all fields of a budget must be read, after fill_text() with its header.
  bool needs_reservations() const;
  /// For a log: sets the limit and the window, as the request, the key's state or its name gives
  /// them. Returns false if the window is not known.
  bool set_window();
  /// Entries before this instant no longer count. The window of a log must be known.
  microseconds first_live(microseconds newest) const;
  /// If the limit is reached, next_free stays empty until set_next_free().
  void fill_log(const EntryCounts& entries);
  /// The same for members that stand for several units each: those that count, the oldest first,
  /// and the number of all members.
  void fill_weighted(std::span<const Count> live, std::int64_t size);
  void fill_leases(const EntryCounts& entries);
  /// For a list with an element for each unit that is left.
  void fill_elements(std::int64_t size);
  /// Of a log or leases that reach their limit: the entry whose end makes room, counted from 1 for
  /// the newest. None if there is room already, or the limit is not known.
  std::optional<std::int64_t> freeing_entry() const;
  /// Sets next_free from the time of that entry.
  void set_next_free(microseconds freeing_entry);
  /// For any key, after all else: a ban decides, whatever is used.
  void apply_ban();

 private:
  void set_limit(const limiter::Limit& limit);
  void fill_ours();
  void fill_foreign();
  void fill_model(const limiter::Limit& limit);
  void compare_limits();
  void fill_budget();
  void fill_bucket(const limiter::Limit& limit);
  void fill_count();
  void fill_two_windows();
  std::optional<limiter::Limit> applicable_limit() const;
  void set_told_limit();
  std::string contradiction(const limiter::Limit& limit) const;
  void set_room(std::int64_t used);

  const InspectionRequest& request_;
  const std::optional<limiter::Limit>& limit_;  ///< for a key that does not store one
  Inspection& result_;
};

/// The time of an entry of a list or sorted set of this form, as Redis prints the element or the
/// score. Throws redis::Error(kRejected).
microseconds entry_time(const Form& form, std::string_view text);
/// ZCOUNT's upper bound for the scores before an instant.
std::string score_before(const Form& form, microseconds instant);

/// Entries per page of inspect(): few enough that other clients do not wait noticeably.
inline constexpr std::int64_t kPage = 1000;
/// Called during a long read with the number of entries read and the total.
using OnProgress = std::function<void(std::int64_t, std::int64_t)>;

/// Reads a key and reports its state: the figures of survey(), and the entries of a log or leases,
/// page by page, so that memory does not grow with their number. Writes nothing, prunes nothing,
/// touches no TTL, and so works on a replica. WATCH and EXEC tell whether another client wrote
/// meanwhile; then it reads again, a few times, unless there are many pages. Throws redis::Error,
/// and UsageError if the requested limit cannot be one of the key's algorithm.
Inspection inspect(redis::Connection& connection, const std::string& key,
                   const InspectionRequest& request, const Libraries& libraries,
                   const OnProgress& on_progress = {});

}  // namespace rlctl::stored
