#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The flaws of a script, judged from the calls that it made under traffic.
// cli/commands/lint/observer.cc sends the traffic and fills in an Observation; find_flaws() turns
// that into findings, which cli/commands/lint/command.cc reports. There is a finding only if the
// observation shows the flaw.

namespace rlctl::lint {

/// A command that a script called.
struct Call {
  int line = 0;  ///< in the source
  std::vector<std::string> words = {};
  /// The digits of an integer, NULL for a nil, and any other reply as RESP; std::nullopt if the
  /// call failed.
  std::optional<std::string> reply = {};
  std::vector<std::string> keys = {};  ///< the keys among its words
  bool writes = false;                 ///< to keys
};

/// A key that a request wrote, as the script left it.
struct LeftKey {
  std::string key = {};
  bool expires = false;
};

/// One request, which ran without an error.
struct Request {
  int run = 0;  ///< requests of other runs found an empty database
  int client = 0;
  std::chrono::microseconds at{0};  ///< since 1970
  std::vector<std::string> keys = {}, arguments = {};
  std::vector<Call> calls = {};
  std::optional<bool> allowed = {};  ///< std::nullopt if the reply cannot be relied on
  std::vector<LeftKey> left = {};    ///< the keys that it wrote and that exist
};

/// A client that kept trying and was let in hardly or never, while one that waited was.
struct LockOut {
  std::chrono::microseconds gap{0};  ///< between two requests
  std::int64_t cost = 1;
  std::chrono::microseconds span{0};       ///< for which it tried
  std::int64_t sent = 0, allowed = 0;      ///< in that time
  std::chrono::microseconds wait{0};       ///< after which the other was let in
  std::optional<std::size_t> denial = {};  ///< by its index, the first of some retries
  std::string schedule = {};               ///< the fewest requests that show it, in words
  bool counts_denials = false;  ///< all that it sent until it should be let in was denied
};

/// A client that never exceeds half the limit, and was denied.
struct Renewal {
  std::chrono::microseconds gap{0};    ///< between two requests
  std::chrono::microseconds phase{0};  ///< of the first, in a window of the clock
  std::int64_t sent = 0, denied = 0;
  std::int64_t limit = 0;     ///< that it was sent for
  std::string schedule = {};  ///< until the first denial, in words
};

/// Requests that were allowed after a TTL had passed, and are denied if the keys stay.
struct Forgotten {
  std::chrono::microseconds ttl{0};
  std::int64_t allowed = 0, allowed_if_kept = 0;
  bool is_window = false;  ///< nothing but the expiry lets a client in
};

/// An instant, soon after the limit was reached, at which more was allowed than before it was, and
/// than the limit.
struct FreePass {
  std::chrono::microseconds after{0};       ///< the first denial
  std::int64_t sent = 0, allowed = 0;       ///< requests
  std::optional<std::size_t> request = {};  ///< one of those that were allowed, by its index
  std::string schedule = {};                ///< all requests, in words
};

/// The flaws that schedules of many requests have shown, each std::nullopt if they did not.
struct ProbedFlaws {
  std::optional<LockOut> lock_out = {};
  std::optional<Renewal> renewal = {};
  std::optional<Forgotten> forgotten = {};
  std::optional<FreePass> free_pass = {};
};

/// The bytes of a key, by an empty text and its name; or the calls for a request, by a command.
using Sizes = std::map<std::pair<std::string, std::string>, double>;

/// What grows while a client asks steadily.
struct Growth {
  std::chrono::microseconds span{0};  ///< for which it asks
  Sizes half = {}, whole = {};        ///< after half the time, and after all of it
};

/// Why a script shows a flaw: with this one thing changed, the same traffic shows none.
struct Cause {
  enum class Kind {
    kUnit,         ///< it gets a time in a unit other than what it compares it with
    kUnequalTtls,  ///< one of its keys ends before another
    kRenewedTtl,   ///< a request sets the TTL of a counter that has one
  };
  Kind kind = Kind::kUnit;
  std::string given = {}, meant = {};  ///< of kUnit: the placeholder, and that of the other unit
};

/// A script, and what it did under traffic.
struct Observation {
  std::string source = {};  ///< as its author wrote it
  std::int64_t limit = 1;
  std::chrono::microseconds window{1};
  std::chrono::microseconds refill{0};  ///< the time in which a burst is restored, if known
  std::vector<Request> requests = {};   ///< in the order in which they ran, each once

  ProbedFlaws probed = {};
  Growth growth = {};
  std::optional<Cause> cause = {};  ///< if a counter-experiment has confirmed it
  /// The first request after so long that nothing may count was denied.
  bool is_denied_for_ever = false;
};

/// How bad a finding is, the least first.
enum class Severity {
  kNote,      ///< nothing fails today
  kWarning,   ///< memory is wasted, or something is at risk
  kCritical,  ///< requests are let in or locked out
};

/// A flaw of a script, at a line of its source, or of a program.
struct Finding {
  std::string_view name;  ///< a row of finding_kinds(): "no-ttl"
  int line = 0;           ///< 0 for a program
  Severity severity = Severity::kWarning;
  std::string what = {};    ///< the call as observed, or the flag; requests to a program, in words
  std::string detail = {};  ///< why it hurts
  std::string fix = {};     ///< what to do
  std::string excuse = {};  ///< why the script's author accepts it; empty if nobody does
  bool may_follow = false;  ///< from another critical finding, beside which it is not reported
};

/// What lint did not test, and why.
struct NotTested {
  std::string what = {}, why = {};
};

/// What a search for schedules of leases has shown.
struct LeaseObservation {
  std::int64_t limit = 1, held = 0;  ///< leases; the most that were held at once
  /// The shortest schedule under which more were held, in words; empty if there is none.
  std::string overfilled = {};
  bool is_by_release = false;  ///< in it, somebody releases who has no lease
  std::string leak = {};       ///< the shortest that leaks a slot, in words; empty if none does
  bool is_for_ever = false;
  std::string clock = {};  ///< the placeholder that gives the holder's time; empty: none
};

/// What a search for schedules of reservations has shown.
struct BudgetObservation {
  std::int64_t limit = 1, used = 0;  ///< units; the most that were spent and held
  /// The shortest schedule under which that was more than the limit, in words; empty if none was.
  std::string overfilled = {};
  bool is_held = false;       ///< in it, the units that are held exceed the limit by themselves
  bool is_by_settle = false;  ///< in it, a settle is late, repeated or without a reservation
  std::string leak = {};  ///< the shortest schedule that leaks units, in words; empty if none does
  bool is_repeated = false;      ///< in it, a settle is repeated
  bool is_for_ever = false;      ///< they stay leaked
  std::string endless_key = {};  ///< events that leave a key without a TTL; empty: none
};

/// The names of the findings with what they mean, in a few words.
struct FindingKind {
  std::string_view name, summary;
};
std::span<const FindingKind> finding_kinds();

/// The texts about a lock-out and a renewal. `counts`: denied requests do.
std::string lock_out_detail(const LockOut& lock_out, bool counts);
std::string renewal_detail(const Renewal& renewal);
/// The finding about a free pass, without a line.
Finding free_pass_finding(const FreePass& pass);

/// Drops what may follow from another critical finding that nobody excuses.
void drop_followers(std::vector<Finding>& findings);

/// The first call that stores a time of about now, in any unit; null if none does.
const Call* time_stored_in(const Observation& observation);
/// The flaws that the observation shows, by line; of each kind, one for a line.
std::vector<Finding> find_flaws(const Observation& observation);
/// The flaws of a limiter that gives leases; none has a line.
std::vector<Finding> find_lease_flaws(const LeaseObservation& observation);
/// The flaws of a limiter that keeps a budget; none has a line.
std::vector<Finding> find_budget_flaws(const BudgetObservation& observation);

}  // namespace rlctl::lint
