#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// What every kind of traffic is to the rest of rlctl: requests in time order, read one by one.
// pattern.h makes it, src/replay reads it from a log, and the runs of simulation/virtual_run.h and
// simulation/real_run.h send it. Commands that send their own requests, debug and lint, use Arrival
// too.

namespace rlctl::traffic {

using std::chrono::microseconds;

/// What is asked for: units, or a lease if there is a holder (kRequest); what else the holder of a
/// lease asks for; or a reservation, and that it be settled.
enum class Event : std::uint8_t { kRequest, kRenew, kRelease, kReserve, kSettle };

/// "acquire", "renew", "release", "reserve" or "settle", as the scripts `concurrency` and `budget`,
/// programs and reports spell it.
constexpr std::string_view event_name(Event event) {
  constexpr std::array<std::string_view, 5> kNames{"acquire", "renew", "release", "reserve",
                                                   "settle"};
  return kNames[static_cast<std::size_t>(event)];
}
/// Whether it is about a reservation.
constexpr bool is_of_reservation(Event event) {
  return event == Event::kReserve || event == Event::kSettle;
}

/// The name of a holder: "h17".
inline std::string holder_name(std::uint32_t holder) {
  return "h" + std::to_string(holder);
}
/// The ID of a holder's reservation: "r17".
inline std::string reservation_name(std::uint32_t holder) {
  return "r" + std::to_string(holder);
}

/// One request: its time, key and cost.
struct Arrival {
  microseconds at{0};  ///< since 1970
  /// By how much the sender's clock is ahead of all others; a server's clock is none of them.
  microseconds ahead{0};
  std::uint32_t key = 0;          ///< see Traffic::key_name()
  Event event = Event::kRequest;  ///< kRequest unless there is a holder
  std::int64_t cost = 1;  ///< 0: a look; the units of a reservation, also when it is settled
  /// The position of the request among those of its key: 1 for the first, which finds an empty
  /// state; 0 if unknown.
  std::uint32_t index_within_key = 0;
  /// Who asks for a lease or a reservation, or has it; 0: about neither.
  std::uint32_t holder = 0;
  std::int64_t actual = 0;  ///< the actual cost of a settle
  microseconds hold{0};     ///< how long a reservation is held

  /// By the sender's clock.
  microseconds sent_at() const { return at + ahead; }
  bool operator==(const Arrival&) const = default;
};

/// Requests in time order, or in sending order if their times are equal. Traffic is read once, from
/// beginning to end, so that it need not be in memory.
class Traffic {
 public:
  virtual ~Traffic() = default;

  /// False at the end.
  virtual bool next(Arrival& arrival) = 0;
  /// The name of a key, from 0 on; valid as long as this.
  virtual std::string_view key_name(std::uint32_t key) const = 0;
  /// Roughly how many requests there are in all.
  virtual std::int64_t size() const = 0;
};

/// Traffic moved to another time: `from` becomes `to`, and the gaps between requests stay the same.
class ShiftedTraffic final : public Traffic {
 public:
  ShiftedTraffic(std::unique_ptr<Traffic> traffic, microseconds from, microseconds to)
      : traffic_(std::move(traffic)), by_(to - from) {}

  bool next(Arrival& arrival) override {
    if (!traffic_->next(arrival)) return false;
    arrival.at += by_;
    return true;
  }
  std::string_view key_name(std::uint32_t key) const override { return traffic_->key_name(key); }
  std::int64_t size() const override { return traffic_->size(); }

 private:
  std::unique_ptr<Traffic> traffic_;
  microseconds by_;
};

}  // namespace rlctl::traffic
