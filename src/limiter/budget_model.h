#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limiter/limit.h"
#include "limiter/model.h"

// A model of the script `budget` in C++, which is a KeyModel that also reserves and settles. Like
// the others, `burst` tries schedules with it, src/stored loads what a server stores into it, and
// tests compare the script with it, decision by decision.

namespace rlctl::limiter {

/// The most bytes of a reservation's ID; the fewest is 1.
inline constexpr std::size_t kLongestReservationId = 20;
/// How many reservations a key remembers, held or not.
inline constexpr std::size_t kMostReservations = 500;
/// With at least this many reservations that are held, a key is nearly closed to others.
inline constexpr std::size_t kManyReservations = kMostReservations * 4 / 5;
/// Why a key with kMostReservations that are held denies any other, whatever remains.
inline constexpr std::string_view kAllReservationsHeld = "500 reservations are held";
static_assert(kMostReservations == 500);
/// How many of those that are not held are forgotten at once to make room for a new one: the first
/// that would be forgotten, and any more that would be at the same time as the last of them.
inline constexpr std::size_t kForgottenAtOnce = 50;
/// The range of a hold.
inline constexpr microseconds kShortestHold{1'000}, kLongestHold = kLongestDuration;

/// What is known of an ID.
struct Reservation {
  std::int64_t units = 0;        ///< held, or spent once it is settled
  microseconds held_until{0};    ///< since 1970; a settle does not change it
  microseconds forgotten_at{0};  ///< since 1970, after as long again
  bool is_settled = false;

  microseconds hold() const { return forgotten_at - held_until; }
  ReservationState state_at(microseconds t) const;
  bool operator==(const Reservation&) const = default;
};

/// The state of one key: a window with what was spent in it, and the reservations.
struct Budget {
  microseconds end{0};         ///< of the window in force
  std::int64_t spent = 0;      ///< in this window
  microseconds written_at{0};  ///< the latest time of a call that wrote the key
  std::map<std::string, Reservation, std::less<>> reservations = {};
};

/// budget: units within a window, of which some are spent, and some are held by reservations until
/// they are settled or their holds end. Windows that change extend the one in force, as in
/// fixed-window. A hold that has ended stays so if the clock steps back: the
/// key's time is that of its latest write at least.
class BudgetModel final : public StoredModel<BudgetModel, Budget> {
 public:
  using StoredModel::StoredModel;

  Decision peek(const Limit& limit, std::int64_t cost, microseconds now) const override;
  /// The units that are spent or held.
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

  ReservationState state_of(std::string_view id, microseconds now) const;
  /// The reservation, unless it is unknown; null if it is.
  const Reservation* find(std::string_view id, microseconds now) const;
  /// The reply to the reservation of units for a new ID, of which nothing is recorded.
  Decision peek_reserve(const Limit& limit, std::int64_t units, microseconds now) const;
  /// Records a reservation that peek_reserve() allowed.
  void record_reserve(const Limit& limit, std::string_view id, std::int64_t units,
                      microseconds hold, microseconds now);
  /// Records the actual cost of a reservation that is held or lapsed. Throws std::out_of_range if
  /// it is unknown.
  void record_settle(const Limit& limit, std::string_view id, std::int64_t actual,
                     microseconds now);
  /// What is stored; std::nullopt if the key would not exist.
  const std::optional<Budget>& stored() const { return stored_; }

 private:
  Budget at(const Limit& limit, microseconds now) const;
  Budget extended(const Limit& limit, microseconds now) const;
  void store(Budget budget);
};

/// A key of a request with its limit. Does not own the model.
struct BudgetAndLimit {
  BudgetModel* key = nullptr;
  Limit limit;
};

/// One decision about several keys without a reservation; see decide() in model.h.
Decision decide(std::span<const BudgetAndLimit> keys, std::int64_t cost, microseconds now);
/// Reserves units on all keys or none, as the script does, and sets Decision::reservation, units
/// and hold. An ID that is known changes nothing; with other units, see Decision::conflicts().
Decision reserve(std::span<const BudgetAndLimit> keys, std::string_view id, std::int64_t units,
                 microseconds hold, microseconds now);
/// Settles a reservation on all keys; one that is settled already changes nothing, and nor does one
/// that any of the keys does not know, which is denied with retry_after kNever and denied_by 0. If
/// it was settled with another cost, see Decision::conflicts().
Decision settle(std::span<const BudgetAndLimit> keys, std::string_view id, std::int64_t actual,
                microseconds now);

}  // namespace rlctl::limiter
