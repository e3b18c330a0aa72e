#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/value.h"
#include "redis/reply.h"

// What a script reports while it runs. The server's debugger prints numbers to six digits, only the
// outer of two variables of one name, no upvalues, and ten words of a call. So walk.cc runs a
// script in which add_probes() has inserted calls (of probe.lua) that report all this exactly, with
// redis.debug(). ProbeReader parses these reports, and CallLog joins them with what the debugger
// prints about calls.

namespace rlctl::ldb {

// ---- Inserting probes ----

/// A local variable that a script declares: a `local`, a parameter, or a `for` variable.
struct Local {
  std::string name = {};
  int declared_at = 0;       ///< its line
  std::size_t function = 0;  ///< the script's function that declares it; 0: the main function
  /// A function within that one assigns to it, so calling one may change it.
  bool is_set_within = false;
};

/// The lines that a function spans.
struct FunctionLines {
  int first = 0;  ///< the line of `function`
  int last = 0;   ///< the line of `end`
};

/// What one call reports: a part of the values of a probe, which are the activations of
/// Probe::functions followed by its locals. Parts are numbered from 1, across all probes of a
/// script.
struct ProbePart {
  /// As many values as a call can have within Lua's registers, beside the locals.
  static constexpr std::size_t kMaxValues = 30;

  std::size_t probe = 0;  ///< index into ProbedScript::probes
  std::size_t first = 0;  ///< index of its first value

  /// Probes of the same function share places; a place holds the last reported values.
  static std::size_t place_of(std::size_t function, std::size_t first) {
    constexpr std::size_t kMaxParts = 16;  // 200 locals and 60 upvalues with markers need 9
    return function * kMaxParts + first / kMaxValues;
  }
  /// A place in Lua. 0 is `false`: Lua 5.1 stores 0 and -0 as one constant, the first to appear.
  static std::string place_text(std::size_t function, std::size_t first) {
    const auto place = place_of(function, first);
    return place == 0 ? "false" : std::to_string(place);
  }
};

/// Reports the values of locals before a line that begins with a statement.
struct Probe {
  int line = 0;                        ///< the line that it precedes
  std::vector<std::size_t> locals;     ///< indices into ProbedScript::locals, innermost last
  std::vector<std::size_t> functions;  ///< functions whose activations it reports first
  std::size_t function = 0;            ///< the function that contains it; 0: the main function
  std::size_t part = 0;                ///< the number of its first part
  /// The statement behind it takes over values that were set while the script is stopped there.
  bool can_set = false;
  bool is_alone = false;  ///< no other statement begins on its line

  bool is_one_part() const noexcept {
    return functions.size() + locals.size() <= ProbePart::kMaxValues;
  }
};

/// A script with a probe before each line that begins with a statement or, where possible, with the
/// end of a block. A probe is on a line of its own, but at the end of a block on that of the last
/// statement: the debugger does not stop at it there, which saves time. A probe reports exactly
/// what each name means at that point.
///
/// The script behaves the same, except that its SHA1, its length and the places in its errors
/// differ, that the main function makes no tail calls, since it reports what it returns, and that
/// the debugger also stops where Lua would have omitted the instruction: at each
/// `break` and "local a". Its lines are numbered differently: see line_of(). With probes, its first
/// line (after "#!...", the second) contains nothing of the source.
struct ProbedScript {
  std::string text = {};  ///< to send instead of the source
  std::vector<Local> locals = {};
  std::vector<FunctionLines> functions = {};  ///< the main function first, with no lines
  std::vector<Probe> probes = {};
  std::vector<ProbePart> parts = {};  ///< [n]: part number n + 1
  /// [n]: the source line on line n of the text; 0 if that line was added. [0] is unused.
  std::vector<int> lines = {};

  /// The source line for a line of the text; 0 if it was added or does not exist.
  int line_of(int line) const noexcept;
  /// The innermost function that contains a source line other than as its first or last line: those
  /// may hold parts of the enclosing function, too.
  std::size_t function_around(int line) const noexcept;
  /// The probe in front of a source line; null if the line has none.
  const Probe* probe_at(int line) const noexcept;
  /// False if the main function is known to be the only one.
  bool may_have_functions() const noexcept { return functions.size() != 1; }
};

struct ProbeOptions {
  /// Wrap the script in a function, which lets a script have as many locals as Lua allows; this
  /// adds one stack frame.
  bool wrapped = false;
  /// Wrap it so that the script can stop at an error that nothing in it catches. Requires probes.
  bool stops_at_errors = false;
  bool probes = true;  ///< if false, apply only `now`: no reports, same line numbers
  /// Lines with an instruction at which variables can be set: see Debugger::set().
  std::set<int> settable = {};
  /// How many ARGV the script has: it removes others, which Session::start() may add.
  std::optional<std::size_t> arguments = {};
  /// The reply of TIME to redis.call and redis.pcall in the script, in µs since 1970; without it,
  /// the server replies.
  std::optional<std::chrono::microseconds> now = {};
};

/// What TIME replies at a time, in µs since 1970, as two strings in Lua: "1700000000","123456".
std::string time_strings(std::chrono::microseconds now);
/// Lua for the `redis` of a script at a time, in µs since 1970: see lua::Substitutes.
std::string redis_at(std::chrono::microseconds now);

/// Adds probes to a source. A function's probes report its own locals and the outer ones that it
/// refers to anyway. Functions that would exceed Lua's limit of 60 upvalues are left out. If the
/// main function then has more locals or registers than Lua allows, the text does not compile: see
/// ProbeOptions::wrapped.
///
/// Returns std::nullopt if the source is not valid Lua: run it unmodified, and the server reports
/// the error.
std::optional<ProbedScript> add_probes(std::string_view source, const ProbeOptions& options = {});

// ---- Reading reports ----

/// Parses a value as encode.lua writes it: d1.5, {d1;sx=n;}. Returns std::nullopt for anything
/// else.
std::optional<Value> parse_value(std::string_view text);

/// What a probe reported about one activation of a function.
struct ProbeReading {
  std::size_t probe = 0;        ///< index into ProbedScript::probes
  std::int64_t activation = 0;  ///< which call of its function; 0: main, or not known
  struct Variable {
    std::size_t local = 0;        ///< index into ProbedScript::locals
    std::int64_t activation = 0;  ///< which call of the function that declares it; 0: main
    Value value = {};
  };
  std::vector<Variable> variables = {};  ///< all of the probe's locals
};

/// A message of the script, by redis.debug() or redis.log().
struct ScriptMessage {
  std::string text = {};   ///< for redis.debug(), its arguments as the debugger prints them
  std::string level = {};  ///< for redis.log(), its level: "notice"; empty for redis.debug()
};

/// Why probe.lua halts a script within a line.
struct LineHalt {
  /// The call that comes next, as it was asked for: "get", "redis.call"; empty at an error that
  /// nothing in the script catches.
  std::string call = {};
  Value error = {};
};

/// Parses the lines that a probed script writes with redis.debug(). A probe does not repeat values
/// that did not change since the last report, so use one reader per run and give it every line.
class ProbeReader {
 public:
  /// The script must outlive this.
  explicit ProbeReader(const ProbedScript& script) : script_(script) {}

  struct Line {
    enum class Kind {
      kMessage,
      kProbe,
      kCall,
      kReturned,
      kPause,
      kHit,
      kLogged,
      kHalt,
      kEnded
    } kind = Kind::kMessage;
    ScriptMessage message = {};  ///< kMessage
    ProbeReading reading = {};   ///< kProbe
    /// kCall: a command that the script is about to call, since the debugger tells no more than ten
    /// words of it. A call that the server will refuse (it has no words, or a word that is neither
    /// a string nor a number) is not reported.
    std::vector<std::string> words = {};
    Value returned = {};  ///< kReturned
    /// kHit: the script stops at the breakpoint in front of this part, whose condition holds if
    /// `done`; kLogged: the values of its message, or, if not `done`, the text of an error.
    std::size_t part = 0;
    bool done = true;
    std::vector<Value> values = {};
    /// kCall: the reply that the script gets if the server is not asked: the two texts of TIME.
    std::optional<std::vector<std::string>> answer = {};
    LineHalt halt = {};            ///< kHalt
    std::int64_t probe_count = 0;  ///< kEnded: how many probes the script has passed, in parts
  };
  /// `text` is what follows "<debug> line N: ". What is not a report is a message of the script.
  Line read(std::string_view text);

 private:
  Line read_report(std::string_view text);
  std::size_t read_values(std::string_view text);
  ProbeReading reading_of(std::size_t index);

  const ProbedScript& script_;
  /// The values that were last reported for each place; see ProbePart::place_of().
  std::map<std::size_t, std::array<Value, ProbePart::kMaxValues>> last_;
};

// ---- Calls ----

/// A Redis command that a script called.
struct Call {
  /// The command and its arguments. Without probes the debugger reports at most the first ten,
  /// joined into one text in which words may contain blanks: then this holds that one text, and
  /// `raw` is true.
  std::vector<std::string> words = {};
  bool raw = false;
  /// As the debugger writes it: 5, "abc", NULL, [1,"a"], "+OK"; std::nullopt if the call was
  /// refused before it was executed.
  std::optional<std::string> reply = {};
  std::optional<std::string> error = {};  ///< "WRONGTYPE Operation against ..."
  /// The outcome is not known because the script ran freely; this never happens in a trace.
  bool is_silent = false;

  /// Whether the call ended in an error or was refused.
  bool failed() const { return error || (!reply && !is_silent); }
};

/// A call that rlctl itself made, in the form in which the debugger reports calls.
Call call_of(const std::vector<std::string>& words, redis::ReplyView reply);

/// Collects the Redis calls between two stops from the exact words that probe.lua reports, which
/// come first, and the debugger's <redis>, <reply> and <error>.
class CallLog {
 public:
  /// `writes_errors`: the server writes an <error> for each error reply, as since Redis 7.0;
  /// otherwise an error is recognized by its form, like a string that begins with "-ERR ".
  explicit CallLog(bool writes_errors = true) : writes_errors_(writes_errors) {}

  /// Takes the words that probe.lua reported; `answer` is set if the server will not be asked.
  void add_words(std::vector<std::string> words,
                 const std::optional<std::vector<std::string>>& answer);
  /// Takes an item of the debugger; items that belong to no call are ignored.
  void add_item(std::string_view item);
  /// All output about the calls so far has arrived: a call known only by its words was refused.
  void close();
  /// While silent, the debugger itself reports nothing, so only the words of calls are known.
  void set_silent(bool silent);
  /// Closes the log, then returns the calls since the previous take(), in order.
  std::vector<Call> take();

 private:
  void begin(Call call);
  void add_reply(std::string_view reply);
  void add_error(std::string_view error);
  void add_refused();

  bool writes_errors_;
  bool is_silent_ = false;
  std::vector<Call> calls_;
  /// The words of a call of which the debugger has not yet printed anything.
  std::optional<std::vector<std::string>> pending_;
  bool is_open_ = false;         ///< the last call may still get a reply or an error
  bool has_error_item_ = false;  ///< the last call has one
};

}  // namespace rlctl::ldb
