#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/limit.h"
#include "traffic/traffic.h"

// The ledger of what holders have of one key: the only judge of leases and reservations. Traffic,
// the adversary's search and lint ask it, so that they cannot disagree.
//
// A hold is a number of units that a holder has from an allowed event until it gives them back, or
// until the hold ends. A reservation is a hold of some units, whose settle gives them back and
// spends the actual cost in a window. A lease is a hold of one unit, whose release spends nothing;
// a renewal prolongs it. The events and their answers change the ledger, in the order of their
// times. A user asks it what is certainly in use, which must not exceed the limit, and what a
// limiter may at most count, which must not make it deny anything.
//
// Leases and reservations differ in these ways:
// - A release ends a lease however it is answered; a settle counts only if it is allowed.
// - A holder that acquires again prolongs its lease, and may have taken a second unit. A reserve of
//   a known ID takes nothing for certain: in a limiter other than `budget` it may prolong the hold,
//   or reserve the units again after a settle.
// - A renewal brings a lapsed lease back. A settle of a lapsed reservation still spends, for
//   certain until the hold has been over for as long as it lasted.
// - A holder of a lease may work on after the lease has ended (HoldRules::works_on).
// - A dead holder uses no unit, though its lease runs on. A dead holder's reservation keeps units
//   from others, so that they are in use until the hold ends.
// - Leases have no window. The windows of a budget may begin at four moments (WindowKind).

namespace rlctl::simulation {

/// What is judged, and how exactly.
struct HoldRules {
  /// The units that may be in use. The window is how long a lease lasts, or how long units count
  /// that were spent.
  limiter::Limit limit = {};
  bool has_leases = false;  ///< otherwise reservations
  /// It counts like `budget`: in windows of the clock, and it knows an ID for twice the hold.
  /// Otherwise nothing is known of it: its windows may be of any kind, and it may count what was
  /// spent within a window's length.
  bool is_budget = true;
  /// A hold or a window may end this much earlier than it should, so that nothing is in use for
  /// certain; and this much later, so that units may still count.
  microseconds early{0}, late{0};
  /// A holder whose lease has ended uses its unit until it releases the lease or dies.
  bool works_on = false;
};

/// When the windows of a budget begin: at multiples of their length, or, after the last one, with
/// the first allowed event, the first settle, or the first that spends anything.
enum WindowKind : std::size_t { kOfClock, kFromFirst, kFromSettle, kFromSpent, kWindowKinds };

/// What the events of leases, or of reservations, are called.
struct HoldVocabulary {
  traffic::Event take, give_back;
  // What may be wrong about an event.
  std::string_view taken_before, never_taken, given_back_before, had_ended;
};
constexpr HoldVocabulary kLeaseVocabulary{
    traffic::Event::kRequest, traffic::Event::kRelease, "", "never held",
    "released before",        "lease had ended"};
constexpr HoldVocabulary kReservationVocabulary{traffic::Event::kReserve, traffic::Event::kSettle,
                                                "reserved before",        "never reserved",
                                                "settled before",         "hold had ended"};
constexpr const HoldVocabulary& vocabulary_of(traffic::Event event) {
  return is_of_reservation(event) ? kReservationVocabulary : kLeaseVocabulary;
}
/// Whether it is a release or a settle.
constexpr bool gives_back(traffic::Event event) {
  return event == vocabulary_of(event).give_back;
}
/// The name of the holder, or the ID of its reservation: "h17", "r17".
inline std::string holder_name(traffic::Event event, std::uint32_t holder) {
  return is_of_reservation(event) ? traffic::reservation_name(holder)
                                  : traffic::holder_name(holder);
}

/// A number of units for each of the times at which they end.
class UnitsByEnd {
 public:
  /// Adds nothing if the units have ended by the last advance().
  void add(microseconds end, std::int64_t units);
  /// Removes units that were added with this end, if they have not ended.
  void remove(microseconds end, std::int64_t units);
  void advance(microseconds now);

  std::int64_t sum() const { return sum_; }
  /// The maximum if there are no units.
  microseconds next_end() const {
    return ends_.empty() ? microseconds::max() : ends_.begin()->first;
  }
  const auto& ends() const { return ends_; }

 private:
  std::multiset<std::pair<microseconds, std::int64_t>> ends_;
  std::int64_t sum_ = 0;
  microseconds now_ = microseconds::min();
};

/// Follows what the holders of one key have.
class Holds {
 public:
  struct Hold {
    std::int64_t units = 1;       ///< in use until the end
    std::int64_t most_units = 1;  ///< a limiter may count so many, until the latest end
    microseconds end{0}, latest_end{0};
    microseconds forgotten{0};       ///< from then on, a limiter may not know it any more
    bool is_given_back = false;      ///< released or settled
    bool may_be_held_again = false;  ///< it was settled and then reserved again
  };

  explicit Holds(const HoldRules& rules) : rules_(rules) {}

  /// Ends holds and windows that end by `now`; no event may come before that any more.
  void advance(microseconds now);
  /// An event of a holder, and whether it was allowed. Advances to its time. True if units are in
  /// use from now on that were not, or are for longer.
  bool add(const traffic::Arrival& event, bool allowed);
  /// The holder of a lease is dead: a limiter may count its unit until the lease ends, but it is
  /// not in use. Changes nothing about a reservation.
  void die(std::uint32_t holder);
  /// No event of this holder will come. Saves memory, and changes nothing about its units.
  void forget(std::uint32_t holder) { holds_.erase(holder); }

  /// Units that are held for certain; of leases, those that have not ended.
  std::int64_t held() const { return held_.sum(); }
  /// Leases that have ended while their holders work on; see HoldRules::works_on.
  std::int64_t lapsed() const { return rules_.works_on ? working_ - held() : 0; }
  /// Units that are spent for certain, if the windows are of this kind.
  std::int64_t spent(WindowKind kind) const;
  /// Units that are held, by lapsed leases too, or spent in the clock's window; for a picture.
  std::int64_t in_use() const { return windows_[kOfClock].spent + held() + lapsed(); }
  /// The number of kinds of windows that the limiter may have; they are the first ones.
  std::size_t window_kinds() const {
    return rules_.has_leases || rules_.is_budget ? std::size_t{1} : kWindowKinds;
  }
  /// The most units that a limiter may rightly count.
  std::int64_t most_counted() const;
  /// The earliest time at which units stop being held, or being spent in a window of the clock.
  microseconds next_change() const;

  /// Null if the holder never had anything, or is forgotten.
  const Hold* find(std::uint32_t holder) const;
  /// Whether the holder has a hold that a limiter may know. A limiter may deny it another.
  bool is_known(std::uint32_t holder) const;
  /// Whether a hold is certainly in force.
  bool runs(const Hold& hold) const {
    return !hold.is_given_back && hold.end - rules_.early > now_;
  }
  /// Whether a settle is certainly early enough to be spent.
  bool is_certain(const Hold& hold) const { return now_ < hold.forgotten - rules_.early; }
  /// What is wrong about an event that was not added yet, in words; empty if nothing is.
  std::string_view note_on(const traffic::Arrival& event) const;
  /// When holds end that were not given back; with `budget` also when reservations are forgotten.
  std::vector<microseconds> ends() const;
  /// Ledgers with equal keys answer every question alike, whatever events follow, as long as the
  /// units of each reservation are also equal.
  std::string state_key() const;

 private:
  struct Window {
    microseconds begin{0}, end{0};
    std::int64_t spent = 0;  ///< for certain
  };

  Hold* mutable_hold(std::uint32_t holder);
  microseconds counted_until(const Hold& hold) const {
    return rules_.works_on ? microseconds::max() : hold.latest_end + rules_.late;
  }
  bool acquire(std::uint32_t holder);
  bool renew(std::uint32_t holder);
  bool reserve(const traffic::Arrival& event);
  void release(std::uint32_t holder);
  void settle(const traffic::Arrival& event);
  void spend(std::int64_t units, bool is_certain);
  void begin_window(WindowKind kind);
  void prolong_lease(Hold& hold);
  void enter(const Hold& hold);
  void remove(const Hold& hold);

  HoldRules rules_;
  microseconds now_ = microseconds::min();
  std::map<std::uint32_t, Hold> holds_;  ///< by holder
  UnitsByEnd held_;                      ///< for certain
  UnitsByEnd counted_;                   ///< at most, as held
  UnitsByEnd recent_;                    ///< at most, as spent; unused with `budget`
  std::int64_t working_ = 0;             ///< units of holders that live and gave nothing back
  std::array<Window, kWindowKinds> windows_ = {};
};

}  // namespace rlctl::simulation
