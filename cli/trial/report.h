#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "adversary/holdings.h"
#include "adversary/probes.h"
#include "adversary/search.h"
#include "cli/trial/plan.h"
#include "limiter/limit.h"
#include "simulation/holders.h"
#include "simulation/measurement.h"
#include "traffic/traffic.h"

namespace rlctl::cli::trial {

/// What a search found.
struct SearchFindings {
  rlctl::adversary::SearchResult result = {};
  limiter::Limit limit = {};
  /// The placeholder that tells the script the time, if the most is measured in its unit; null if
  /// it is measured in µs, since the unit is unknown or longer than a hundredth of a window.
  const script::Placeholder* clock = nullptr;
  std::optional<rlctl::adversary::ClockAhead> clock_ahead = {};  ///< if it locks others out
  bool has_refunds = false;  ///< in the schedule that allows the most: its outcome lacks them

  std::chrono::microseconds tick() const {
    return clock != nullptr ? clock->tick : std::chrono::microseconds{1};
  }
  /// The units in a finding's worst window, as a multiple of the limit.
  double ratio_of(const rlctl::adversary::Finding& finding) const {
    return static_cast<double>(finding.score.worst) / static_cast<double>(limit.limit);
  }
};

/// What a search found about leases or reservations.
struct HolderFindings {
  rlctl::adversary::HoldingSearchResult result = {};
  std::chrono::microseconds tick{1};  ///< times are multiples of this
};

/// A request and its decision.
struct Event {
  std::chrono::microseconds at{0};
  /// How long an allowed request is delayed, or the retry_after of a denied one, with kNever and
  /// kTimeNotTold.
  std::chrono::microseconds wait{0};
  std::int64_t remaining = limiter::kNotTold;
  std::int64_t cost = 1;  ///< below 0: a refund
  std::uint32_t key = 0;  ///< an index of Events::keys
  int denied_by = 0;      ///< as in limiter::Decision
  bool allowed = false;
};

/// The requests of a run, in the order of the traffic. They are kept only for the files that show
/// them, a page and its JSON.
struct Events {
  static constexpr std::int64_t kMost = 100'000;

  std::vector<Event> single = {};
  std::vector<std::string> keys = {};
};

/// The most units that the traffic asked for within one window.
struct OfferedLoad {
  simulation::Worst worst = {};
  std::chrono::microseconds window{0};  ///< the window of the limit that is exceeded most
};

/// How a limiter handled requests. Keys have names here, and numbers in simulation::Outcome.
struct Requests {
  std::string worst_key = {};  ///< empty if nothing was allowed
  /// The names of the keys of Measured::worst_keys.
  std::vector<std::string> worst_keys = {};
  std::optional<OfferedLoad> offered = {};                ///< if assertions need it
  std::optional<std::int64_t> burst = {};                 ///< the burst of the suggestion, if any
  std::optional<simulation::Suggestion> suggestion = {};  ///< if the plan asks for one
  std::optional<Events> events = {};                      ///< if a file has them
};

/// How a limiter handled leases or reservations.
struct Holders {
  simulation::HolderReport report = {};
  /// The names of the keys of HolderReport::most and HolderReport::most_ever.
  std::string key = {}, ever_key = {};
};

/// How one limiter did. Names are data: escape them before printing.
struct Run {
  std::string name = {};    ///< the limiter's
  bool is_bundled = false;  ///< not a script or a program of the user's
  /// What was sent and allowed: of a search, the schedule that allows the most; of a search for
  /// leases or reservations, nothing.
  simulation::Outcome outcome = {};
  std::variant<Requests, Holders, SearchFindings, HolderFindings> found = {};
  /// What the replies of a script suggest about how they were read.
  std::optional<std::string> hint = {};
  /// Why a bundled algorithm treated the traffic so: a sentence without a full stop.
  std::optional<std::string> why = {};
  /// The origin of the run's times. Under the real clock each run has its own: the beginning of its
  /// traffic, or of the window before the edge that its pattern surrounds. With a log, the time of
  /// the first request. Otherwise 0: all runs have the same times.
  std::chrono::microseconds begin{0};
  std::vector<std::pair<std::string, std::int64_t>> top_denied = {};  ///< key, requests

  /// Null unless this is what was found.
  const Requests* requests() const { return std::get_if<Requests>(&found); }
  const Holders* holders() const { return std::get_if<Holders>(&found); }
  const SearchFindings* search() const { return std::get_if<SearchFindings>(&found); }
  const HolderFindings* holder_search() const { return std::get_if<HolderFindings>(&found); }
  /// Of requests; empty for others.
  std::string_view worst_key() const {
    return requests() != nullptr ? std::string_view(requests()->worst_key) : std::string_view();
  }
};

/// The first request that one limiter allows and the other denies.
struct Difference {
  std::int64_t request = 0;         ///< its number in the traffic, from 1
  std::chrono::microseconds at{0};  ///< its time
  std::string key = {};             ///< the name of its key
  bool allowed = false;             ///< the first limiter's answer; the other's is the opposite
};

/// Whether a server decided like the engine, of all runs together.
struct Confirmation {
  std::string server = {};    ///< "Redis 7.0.15"; empty: none was asked
  std::string why_not = {};   ///< why not all was confirmed; empty: it was
  std::int64_t requests = 0;  ///< that the server decided alike
  bool is_part = false;       ///< it was asked for the first requests of a long run only
};

/// The results of `rlctl burst` or `rlctl adversary`, for every output format.
struct Report {
  Plan plan = {};
  std::shared_ptr<const replay::Recording> recording = {};  ///< the log replayed, if any
  std::vector<Run> runs = {};                               ///< in the order of the candidates
  /// The last run covers only the beginning of the traffic, or some runs are missing.
  bool interrupted = false;
  bool failed = false;                        ///< an error, not Ctrl-C, interrupted the report
  std::optional<Difference> difference = {};  ///< between the two limiters of --compare
  /// None if nothing was decided by a script in this process.
  std::optional<Confirmation> confirmation = {};
};

// --- What the outputs have in common -------------------------------------------------------------

/// "boundary", "replay" for a log, or "adversary".
std::string_view traffic_name(const Report& report);
/// The number of keys in the traffic.
std::int64_t traffic_keys(const Report& report);
/// Whether times are shown as dates and times of day: those of a log under the virtual clock.
bool shows_dates(const Report& report);
/// Whether the report says if the two limiters differ.
bool tells_difference(const Report& report);
/// "first at request 31 (key 'a'): fixed-window allows it, gcra denies it"
std::string difference_text(const Plan& plan, const Difference& found);
/// "2.00"; with more decimals if two would round a ratio other than 1 to 1.00.
std::string ratio_text(double ratio);
/// "1000/s", "12.5/s"
std::string rate_text(double per_second);
/// Exact to the µs, since a limiter may be off by one: 59.999999 s is not 60 s.
std::string exact_text(std::chrono::microseconds span);
/// "0", "+59.999999 s"
std::string exact_offset_text(std::chrono::microseconds offset);
/// "at one instant", "within 20 ms"
std::string within_text(std::chrono::microseconds span,
                        std::string (*text)(std::chrono::microseconds) = exact_text);

/// Says that requests were sent later than they were due, such as "fixed-window: the sender fell
/// behind: ..."; none if the sender kept up, or if the clock was virtual.
std::optional<std::string> why_late(const Run& run);

}  // namespace rlctl::cli::trial
