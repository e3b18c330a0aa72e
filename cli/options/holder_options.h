#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/options/script_options.h"
#include "script/script.h"

namespace rlctl::cli {

// What options about leases and reservations say.

/// A time, perhaps the mean of an exponential distribution: "2s~".
struct RandomTime {
  std::chrono::microseconds time{0};
  bool is_exponential = false;
};
/// Throws UsageError, also for 0.
RandomTime parse_random_time(const std::string& text, std::string_view option);
/// Throws UsageError.
std::chrono::microseconds parse_lease(const std::string& text);
/// How long a reservation is held. Throws UsageError.
std::chrono::microseconds parse_hold(const std::string& text);
/// The ID of a reservation: the text itself, if it has 1 to kLongestReservationId bytes. Throws
/// UsageError, which begins with `name`.
std::string parse_reservation_id(const std::string& text, const std::string& name);
/// Whether a script is told what a holder asks for.
bool tells_event(const script::ForeignLimiter& script);
/// Whether a script is told the holder of a lease or how long a lease lasts.
bool tells_lease(const script::ForeignLimiter& script);
/// Whether a script is told the ID, the actual cost or the hold of a reservation.
bool tells_reservation(const script::ForeignLimiter& script);
/// Whether it is told how many units.
bool tells_cost(const script::ForeignLimiter& script);
/// Whether a limiter can be asked to renew a lease.
bool takes_renewals(const script::Candidate& candidate);
/// How coarse the clock of a limiter is: a script's or a program's at least 1 ms, which are the
/// steps of TTLs; 0 for a bundled one.
std::chrono::microseconds clock_tick_of(const script::Candidate& candidate);
/// Makes a script one that is asked for leases. Throws UsageError if nothing releases them: neither
/// the script of the word `release`, nor this one, which is told {event}.
void ask_for_leases(script::ForeignLimiter& script, const ScriptOptions& options);
/// Makes a script one that is asked for reservations with this hold. Throws UsageError if nothing
/// settles them.
void ask_for_reservations(script::ForeignLimiter& script, std::chrono::microseconds hold,
                          const ScriptOptions& options);

}  // namespace rlctl::cli
