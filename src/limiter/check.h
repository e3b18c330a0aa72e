#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "redis/connection.h"

// Asks a limiter: a Request becomes the arguments of a script, and its reply a Decision. `check`
// and `run` ask through cli/server/asker.cc, which has a Checker; `burst`, `debug` and `scripts`
// make the calls with a CheckCommand and send them themselves. stored/ calls its own scripts in
// the same way.

namespace rlctl::limiter {

// ---- Calls of a script ----

/// What a call of `budget` does with a reservation, in place of taking the cost.
struct ReservationCall {
  bool settles = false;  ///< the cost is the actual one; else the reservation's units
  std::string id;        ///< 1 to kLongestReservationId bytes
  microseconds hold{0};  ///< of a reserve: kShortestHold to kLongestHold
};

/// One call of a script: limits[i] applies to keys[i].
struct Request {
  std::vector<std::string> keys;
  std::vector<Limit> limits;
  std::int64_t cost = 1;
  std::optional<std::chrono::microseconds> now;  ///< default: the server's clock
  std::optional<ReservationCall> reservation = {};
};

/// The arguments of EVALSHA for a loaded script. Owns nothing.
struct ScriptCall {
  std::string_view sha1 = {};
  redis::Arguments keys = {}, arguments = {};
  std::string_view function = {};  ///< the name of a Redis function to call instead of a script

  void append_to(redis::Connection& connection) const {
    if (!function.empty())
      return connection.append_call("FCALL", function, keys, arguments,
                                    redis::ReplyKind::kDecision);
    connection.append_call("EVALSHA", sha1, keys, arguments, redis::ReplyKind::kDecision);
  }
  /// For a call that only reads: EVALSHA_RO, which a server answers even while a failover pauses
  /// writes, to which EVALSHA counts. See is_without_evalsha_ro().
  void append_read_only_to(redis::Connection& connection) const {
    connection.append_call("EVALSHA_RO", sha1, keys, arguments, redis::ReplyKind::kDecision);
  }
};

/// Whether the server does not have EVALSHA_RO (before 7.0) or refuses it to the user: nothing was
/// executed, and EVALSHA may work.
bool is_without_evalsha_ro(redis::ReplyView reply);

/// Turns requests into calls of an algorithm's script.
class CheckCommand {
 public:
  explicit CheckCommand(const Algorithm& algorithm) : algorithm_(algorithm) {}

  /// The result is valid until the next call and while the request exists. For a window of the
  /// calendar, it states the period that holds the request's time.
  ScriptCall of(const Request& request);
  /// If a script refused a period, since it does not hold the server's time, as the clocks differ
  /// or the period has just ended: uses this time in later requests, and returns true. Nothing was
  /// counted; the request must be made anew.
  bool note_wrong_period(redis::ReplyView reply);

 private:
  const Algorithm& algorithm_;
  microseconds server_ahead_{0};  ///< by how much the server's clock is ahead of this machine's
  // Buffers of the last request, kept so that the next one allocates nothing.
  std::string numbers_;
  std::vector<std::string_view> keys_, arguments_;
};

/// After this many SCRIPT LOADs without effect, NOSCRIPT becomes an error: another client may flush
/// the scripts meanwhile, but hardly as often.
inline constexpr int kMaxLoads = 3;

/// After this many refused periods in a row, the refusal becomes an error: a clock may run past the
/// end of a period once, and several servers have several clocks.
inline constexpr int kMaxPeriods = 3;
/// Returns what `ask` returns, which makes its requests anew in each call. Asks again while
/// `notes_wrong_period` returns true for the replies: see CheckCommand::note_wrong_period().
template <typename Ask, typename NotesWrongPeriod>
auto ask_within_period(Ask ask, NotesWrongPeriod notes_wrong_period) {
  auto replies = ask();
  for (int asked = 1; asked < kMaxPeriods && notes_wrong_period(replies); ++asked) replies = ask();
  return replies;
}

/// Throws redis::Error unless a reply to SCRIPT LOAD is the SHA1 of a script.
void require_loaded(redis::ReplyView reply);
/// Loads the script with SCRIPT LOAD and reads the reply. Throws redis::Error.
void load_script(redis::Connection& connection, std::string_view text);
/// Returns what `send` returns, the replies to calls of a script. If `lacks_script` says that a
/// reply was NOSCRIPT, loads the script and sends again. Throws redis::Error.
template <typename Send, typename LacksScript>
auto send_loading(redis::Connection& connection, std::string_view text, Send send,
                  LacksScript lacks_script) {
  auto replies = send();
  for (int loads = 0; loads < kMaxLoads && lacks_script(replies); ++loads) {
    load_script(connection, text);
    replies = send();
  }
  return replies;
}
/// Makes the call and returns its reply. If the server does not have the script, and so has
/// executed nothing, loads it and repeats the call. Throws redis::Error.
redis::Reply call_script(redis::Connection& connection, const Algorithm& algorithm,
                         const ScriptCall& call);

// ---- Asking on a connection ----

/// Calls one algorithm's script on one connection. Sends EVALSHA first; only if the server replies
/// NOSCRIPT, loads the script and repeats the request, which was not executed.
class Checker {
 public:
  Checker(redis::Connection& connection, const Algorithm& algorithm)
      : connection_(connection), algorithm_(algorithm), command_(algorithm) {}

  /// Takes one round trip (three after NOSCRIPT, another if a period has ended). Throws
  /// redis::Error.
  Decision check(const Request& request);

  /// For pipelining: append() queues a request, parse() reads its reply. parse() throws
  /// redis::Error for an error reply, including NOSCRIPT, and for a reply that its script
  /// cannot have made. `algorithm` is the script's algorithm; its source is used to name the
  /// failing command in errors. Null if it is not known.
  static Decision parse(redis::ReplyView reply, const Algorithm* algorithm = nullptr);
  /// parse() for the reply to a call that was about this reservation, or about none.
  static Decision parse(redis::ReplyView reply, const std::optional<ReservationCall>& asked,
                        const Algorithm& algorithm);
  void append(const Request& request) { command_.of(request).append_to(connection_); }
  /// Queues a separate request of cost 0 for each key: one reply per key. Uses EVALSHA_RO, until
  /// note_missing_evalsha_ro() has returned true. Not for peeks in the same write as a request,
  /// which would be missing if the server does not have EVALSHA_RO.
  void append_read_only_peeks(const Request& request);
  /// If this reply is_without_evalsha_ro(), remembers it and returns true: the peeks must be queued
  /// once more.
  bool note_missing_evalsha_ro(redis::ReplyView reply);
  /// If the reply refuses a period, returns true: the request must be queued once more. See
  /// kMaxPeriods.
  bool note_wrong_period(redis::ReplyView reply) { return command_.note_wrong_period(reply); }
  void load() { load_script(connection_, algorithm_.script); }

 private:
  redis::Connection& connection_;
  const Algorithm& algorithm_;
  CheckCommand command_;
  bool has_evalsha_ro_ = true;  ///< as far as is known
};

/// The error for a reply that the called script does not make.
redis::Error not_of_script();

// ---- Leases ----

/// A place among at most `limit` holders of a key, for `duration` unless it is renewed: what the
/// script `concurrency` keeps. The server's clock decides.
struct Lease {
  std::string key;
  std::int64_t limit = 1;    ///< 1 to kLargestLimit
  microseconds duration{1};  ///< 1 to kLongestWindow
  std::string holder;        ///< unique among the holders of the key; not empty
};

/// What the members of a set of leases begin with; the ID of the holder follows.
inline constexpr std::string_view kLeasePrefix = "lease:";

/// Takes the lease, or renews it if the holder has it. Denied: the decision's retry_after is the
/// time until leases have lapsed so that a place is free; one that is released frees it earlier.
///
/// Like renew() and release(), takes one round trip (three if the server does not have the script)
/// and throws redis::Error.
Decision acquire(redis::Connection& connection, const Lease& lease);
/// Renews the lease. Denied: it has lapsed or somebody removed it; nothing is written.
Decision renew(redis::Connection& connection, const Lease& lease);
/// Gives the lease back. Denied: it has lapsed or somebody removed it; nothing is written.
Decision release(redis::Connection& connection, const Lease& lease);
/// Who holds the leases in whose place a denied acquire() would have taken one: at most `most`,
/// those that lapse first. Takes one round trip, with a command that the script calls too.
std::vector<std::string> holders(redis::Connection& connection, const Lease& lease,
                                 std::int64_t most);

}  // namespace rlctl::limiter
