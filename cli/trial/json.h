#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "cli/trial/report.h"

// Fields that the JSON of burst and that of adversary have in common, and the requests that a page
// shows.

namespace rlctl::cli::trial {

/// A run and its report, for the fields that need both.
struct RunOf {
  const Report& report;
  const Run& run;
};

inline constexpr auto kRunOf = [](const RunOf& of) -> const Run& { return of.run; };
inline constexpr auto kNameOf = [](const RunOf& of) { return std::string_view(of.run.name); };
inline constexpr std::string_view kRunsAbout = "The limiters, in the order of the command line.";

/// What a foreign script may not report.
template <typename Reported>
std::optional<Reported> reported(Reported value, Reported unknown) {
  return value != unknown ? std::optional(value) : std::nullopt;
}

// --- Types ---------------------------------------------------------------------------------------

inline constexpr JsonType kIntegerOrNull{R"("type": ["integer", "null"])"},
    kNumberFromOneOrNull{R"("type": ["integer", "null"], "minimum": 1)"};

// --- Reports -------------------------------------------------------------------------------------

/// Fields: command, interrupted.
extern const JsonObject<Report> kCommandJson;
/// Fields: limit, window_us.
extern const JsonObject<limiter::Limit> kLimitJson;
/// Field: burst.
extern const JsonObject<limiter::Limit> kBurstJson;
/// Fields of a limit of leases: concurrency, lease_us.
extern const JsonObject<limiter::Limit> kLeasesJson;
/// Fields of a plan with reservations: reserve, hold_us.
extern const JsonObject<Plan> kReservationsJson;

// --- Runs ----------------------------------------------------------------------------------------

/// Field: algorithm, from the name of a limiter.
extern const JsonObject<std::string_view> kLimiterJson;
/// Field: hint.
extern const JsonObject<Run> kHintJson;

/// The most units that were allowed within any span of one window.
struct WorstSpan {
  std::int64_t allowed;
  double ratio;
  std::optional<std::chrono::microseconds> from = {}, span = {};  ///< none: nothing was allowed
};
/// Fields: allowed, ratio, from_us, span_us.
extern const JsonObject<WorstSpan> kWorstJson;

// --- Requests and events -------------------------------------------------------------------------

/// Field: at_us.
extern const JsonObject<std::chrono::microseconds> kTimeJson;

/// A request, and the parts of an answer that every report has.
struct AnsweredRequest {
  std::int64_t cost;
  bool allowed;
  std::int64_t remaining;
  std::chrono::microseconds retry_after;
};
/// Fields: cost, allowed, remaining, retry_after_us.
extern const JsonObject<AnsweredRequest> kRequestJson;

/// What the holder of a lease or of a reservation asked for, and the answer.
struct AnsweredEvent {
  traffic::Event event;
  std::uint32_t holder;
  std::int64_t units, actual;  ///< of a reservation
  bool allowed;
};
/// Fields: event, allowed; of leases holder, of reservations reservation, units, actual.
extern const JsonObject<AnsweredEvent> kEventJson;

// --- The requests of a page ----------------------------------------------------------------------

/// The single requests of each run, and their decisions.
struct EventTable {
  const Report& report;
  std::vector<const Events*> traffic;   ///< runs with the same requests share them
  std::vector<std::size_t> traffic_of;  ///< for each run, an index of these
};
/// None if the requests were not kept.
std::optional<EventTable> event_table(const Report& report);
/// The value of the field events, in columns.
extern const JsonObject<EventTable> kEventsJson;

}  // namespace rlctl::cli::trial
