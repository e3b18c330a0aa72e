#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ldb/probes.h"
#include "ldb/session.h"
#include "lua/lexer.h"
#include "redis/connection.h"
#include "redis/reply.h"

// A script that moves from one line of its source to the next: begin_walk() inserts probes and
// starts a session, and a Walk skips the stops at inserted lines, reads the server's messages and
// collects calls, messages and readings of variables. trace() and Debugger are built on it.

namespace rlctl::ldb {

/// How a script ended.
struct TraceResult {
  Ending ending = Ending::kReturned;
  std::optional<redis::Reply> reply = {};
  /// What the script returned, of which the reply may have lost something; only known for a table,
  /// or a number with a fraction, that `return` has on one line.
  std::optional<Value> returned = {};
  /// ProbedScript::lines, to pass to with_source_lines() if the reply contains an error's place.
  std::vector<int> text_lines = {};
  /// For kCompileError, kRunTimeError and kAborted: the client's error message, without SHA1 and
  /// place, with lines of the source; for kRefused, kLost and kCutOff: what happened. One line.
  std::string message = {};
  int error_line = 0;  ///< in the source; 0 if no line caused it
  std::int64_t lines = 0, calls = 0;
  /// How many probes the script has passed, in parts; only known if it ran with
  /// WalkOptions::stops_at_errors, and probes that keep, and then the same in a run that does the
  /// same.
  std::int64_t probe_count = 0;
  std::map<int, std::int64_t> hits = {};  ///< stops at each line of the source
  /// False if the script has variables that are not shown, because it has no room for probes.
  bool exact = true;
};

/// Opens a new connection: one for each attempt to run the script.
using Connect = std::function<redis::Connection()>;

/// An active function.
struct Frame {
  std::string name = {};  ///< the server's name for it: "top level"
  int line = 0;           ///< its current line of the source; 0: outside the source
};

struct WalkOptions {
  /// The script can stop at errors that nothing in it catches; see Walk::set_stops_at_errors().
  bool stops_at_errors = false;
  std::optional<std::chrono::microseconds> now = {};  ///< see ProbeOptions
  Session::Limits limits = {};
  std::set<int> settable = {};  ///< see ProbeOptions
};

/// One run of a script, from line to line of its source.
class Walk {
 public:
  /// Called with each probe reading, before the walk's current stop is reported.
  using OnReading = std::function<void(const ProbedScript&, const ProbeReading&)>;

  Walk(const Debuggee& debuggee, ProbedScript script, Session session, OnReading on_reading);

  // Functions that move return true if the script stopped at a line of its source, false if it
  // ended. They throw redis::Error, as Session does.

  bool start();
  bool step();
  /// Runs to a breakpoint set in the server, or to redis.breakpoint(). The server stops a
  /// long-running script by itself now and then; the walk then resumes it until `is_enough`.
  bool run(const std::function<bool()>& is_enough);

  struct ProbeStop {
    int line = 0;
    std::string condition = {};  ///< if empty, each time is a hit
    std::string accepts = {};    ///< Lua of the number of a hit, `n`; if empty, all stop the script
    std::int64_t hits = 0;       ///< so far
    /// A list of expressions, which a hit reports instead of a stop; "" for none.
    std::optional<std::string> message = {};
  };
  struct ProbeStops {
    std::vector<ProbeStop> lines = {};
    bool pauses = false;    ///< the server does not stop a long-running script, so the probes do
    bool keeps = false;     ///< the variables are known at a line_halt(), too, which costs time
    std::int64_t last = 0;  ///< stop after as many parts of probes: see TraceResult::probe_count
  };
  /// Makes the next run() fast: until its stop, the probes report no variables, but those in front
  /// of these lines stop the script at a hit, or if their condition cannot be evaluated. All that
  /// they evaluate must end. Returns false if that is not possible.
  bool stop_by_probes(const ProbeStops& stops);
  /// Whether they still do: not after a stop.
  bool stops_by_probes() const noexcept { return are_probes_off_; }
  /// How many hits the probe in front of a line counted.
  std::int64_t hits(int line);
  /// Whether the probe in front of the current line stopped the script at a hit.
  bool is_at_hit() const noexcept { return hit_line_ > 0 && hit_line_ == line_; }

  /// What a probe reported at a hit instead of a stop.
  struct Logged {
    int line = 0;
    std::vector<Value> values = {};
    std::string error = {};  ///< if not empty, there are no values
  };
  std::vector<Logged> take_logged() { return std::exchange(logged_, {}); }
  /// Halts the script before each call of one of these commands, in lower case, or through
  /// "redis.call" or "redis.pcall". Returns false if that is not possible.
  bool set_call_stops(const std::set<std::string>& calls);
  /// With WalkOptions::stops_at_errors, halts the script at errors, as it does at first, or not.
  bool set_stops_at_errors(bool stops);
  /// Whether the script passes a probe in every loop.
  bool passes_probes() const;
  /// Whether the script cannot execute any of this line without passing the probe in front of it.
  bool can_stop_by_probe(int line);

  /// The current line; 0 before the first. After the end, the last one.
  int line() const noexcept { return line_; }
  /// Why the script stopped at the current line.
  Stop::Reason reason() const noexcept { return reason_; }
  /// Set if the script halts within the current line.
  const std::optional<LineHalt>& line_halt() const noexcept { return line_halt_; }
  std::string source_lines(int first, int last) const;
  /// What the script did since the previous call of this function.
  std::vector<Call> take_calls();
  std::vector<ScriptMessage> take_messages();
  /// Calls Redis with the debugger's command. Throws UsageError, as Session::ask() does.
  Call call(const std::vector<std::string>& words);

  /// Reads the variables of a function's latest probe once more, which shows what has changed in
  /// their tables.
  void read_again(const Probe& probe);

  /// The active functions, innermost first.
  std::vector<Frame> frames();
  bool ended() const noexcept { return session_.ended(); }
  bool has_probes() const noexcept { return !script_.probes.empty(); }
  /// Whether the probes show all variables, if there are any.
  bool shows_all_locals() const noexcept {
    return has_probes() || (!script_.functions.empty() && script_.locals.empty());
  }
  const ProbedScript& script() const noexcept { return script_; }
  Session& session() { return session_; }

  /// The result once the script has ended, without lines, calls and hits.
  TraceResult result();

 private:
  bool prepare();
  bool wait_until_stopped(Message message);
  bool begins_with_probe(int line) const;
  bool may_repeat(int line) const;
  bool is_at_halt(const Stop& stop) const;
  bool enter_halt();
  void read(const Message& message);
  void read_debug(std::string_view item);
  static bool is_pause(const Message& message);
  std::string control(const std::string& arguments);
  std::string function_of_probe(const Probe& probe, const std::string& expressions) const;

  const Debuggee& debuggee_;
  ProbedScript script_;
  Session session_;
  OnReading on_reading_;
  ProbeReader reader_{script_};
  bool writes_errors_ = true;  ///< see CallLog
  CallLog calls_;
  std::vector<ScriptMessage> messages_;
  std::vector<std::string_view> source_ = lua::source_lines(debuggee_.source);
  bool are_probes_off_ = false;  ///< by stop_by_probes()
  std::optional<Value> returned_;
  std::map<int, bool> can_stop_;  ///< what can_stop_by_probe() found, by line
  std::vector<Logged> logged_;
  int hit_line_ = 0;  ///< the breakpoint at which a probe stopped the script in this move
  std::int64_t probe_count_ = 0;
  std::optional<LineHalt> line_halt_;
  bool has_reading_ = false;  ///< a probe reported since this was set to false
  int line_ = 0;
  bool ended_freely_ = false;  ///< it ran on from its last stop, which was not at its error
  int text_line_ = 0;          ///< the line of the last stop in the text that was sent
  Stop::Reason reason_ = Stop::Reason::kStep;
};

/// Starts a script with probes, or wrapped, or without (if it has too many locals for them). On
/// return the walk is at the first line or has ended. The debuggee must outlive the walk. Throws
/// what `connect` throws, and what Session::start() does.
std::unique_ptr<Walk> begin_walk(const Debuggee& debuggee, Mode mode, const Connect& connect,
                                 const WalkOptions& options, const Walk::OnReading& on_reading);

}  // namespace rlctl::ldb
