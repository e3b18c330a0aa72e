#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/options/limits.h"
#include "cli/options/log_options.h"
#include "cli/options/script_options.h"
#include "debugger/run.h"
#include "ldb/session.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "redis/reply.h"
#include "replay/recording.h"
#include "script/script.h"

namespace rlctl::cli::debug {

struct EngineKeys;

/// What to do about a command or type that this process does not have.
inline constexpr const char* kOnServer = "--ldb runs the script on a server";

/// What `rlctl debug` has to do: the options as given, and what they mean.
struct Plan {
  LimitOptions limit_options = {};
  ScriptOptions script_options = {};
  replay::ReplayOptions log = {};  ///< only its files are given
  std::optional<std::int64_t> cost = {};
  std::optional<std::chrono::microseconds> now = {};  ///< with a log, the time of its request
  std::optional<std::int64_t> skip = {};  ///< log requests to run before the debugged one
  bool attach = false, sync = false, yes = false;
  bool ldb = false;  ///< in Redis's own debugger, with nothing added to the script
  bool trace = false, coverage = false, redis_cli = false, print_command = false;
  bool dap = false, quiet = false;
  std::optional<std::string> dap_socket = {};  ///< where the client of `dap` connects; none: stdio
  /// The file of the commands for interactive stepping; the terminal counts as standard input.
  std::string commands{kStandardInput};
  std::optional<std::string> lcov = {};
  double min_coverage = 0;  ///< in percent

  // ---- What make_plan() concludes from these ----

  /// What to debug; with a log, its keys and arguments are those of the request that is debugged.
  debugger::Debuggee debuggee = {};
  std::string path = {};      ///< the file, or kStandardInput; empty for a bundled script
  std::string function = {};  ///< the function to call, if the script is a library
  const limiter::Algorithm* algorithm = nullptr;  ///< of a bundled script; null for a file
  /// The limits; at least one if the script is called as `check` calls it.
  std::vector<limiter::Limit> limits = {};
  /// How to make keys and arguments, also of a log's requests; null: as `check` does.
  std::shared_ptr<const script::ForeignLimiter> foreign = {};
  bool reads_reply = false;  ///< show the decision that `foreign` reads from the reply
  /// What the placeholders stand for, except {key}.
  script::TemplateValues values = {};
  std::string key = {};  ///< what {key} stands for; empty with a log
  std::optional<replay::ReplayOptions> replay = {};

  /// Whether the options ask for redis-cli or its command line.
  bool is_for_redis_cli() const noexcept { return redis_cli || print_command; }
  /// Whether the user steps through the script by hand.
  bool is_interactive() const noexcept { return !trace && !coverage && !is_for_redis_cli(); }
  /// Whether the script runs on keys of its own, not on those of the server of the connection
  /// options.
  bool is_private() const noexcept { return !attach && !is_for_redis_cli(); }
  /// With --ldb: whether the server itself runs the script, or a fork of it.
  ldb::Mode mode() const noexcept {
    return sync || is_private() ? ldb::Mode::kSync : ldb::Mode::kForked;
  }
  /// Whether all requests of the log are debugged.
  bool is_whole_replay() const noexcept { return replay && coverage && !skip; }
  /// Whether the log is standard input.
  bool reads_log_from_input() const;
  /// Whether the commands for stepping by hand come from the terminal or standard input.
  bool reads_commands_from_input() const;
  /// Whether TIME replies `now` to the script because no argument holds the time. Scripts called as
  /// `check` calls them get it as an argument.
  bool freezes_time() const noexcept { return foreign && (now || replay); }
};

/// Completes the plan of the options with the operands, reads the script, and warns of a KEY that
/// ends in a comma, as if ARGV followed, and of ARGV that the script uses but does not get. Throws
/// UsageError if the plan cannot run, before anything is started, and what reading the
/// configuration throws.
Plan make_plan(Plan plan, const Invocation& invocation);

/// Tells which words a script may have lacked that ended in an error; empty if it lacked none, or
/// ended otherwise. `reply` is the reply to the client, if there is one.
std::string missing_words(const Plan& plan, debugger::Ending ending,
                          const std::optional<redis::Reply>& reply);

/// Reads the script's file again into `debuggee`; does nothing if the script is not from a file.
/// Throws UsageError if the file cannot be read.
void read_again(const Plan& plan, debugger::Debuggee& debuggee);

// ---- What runs it ----

/// Steps through a script that runs in this process.
using ByHand = std::function<ExitStatus(const EngineKeys&)>;
/// Runs the script in this process: by hand, or to its end for a trace or the coverage, also for
/// each request of a log. Throws what copy_keys() and the replay of the log throw, and Interrupted.
/// `by_hand` steps through the script in place of run_by_hand().
ExitStatus run_session(Plan& plan, Invocation& invocation, const ByHand& by_hand = {});

/// Steps through the script in Redis's own debugger, on the plan's server, with its commands from
/// the terminal, the plan's file or standard input. Returns how the last run of the script ended,
/// or kDone if the user left it before its end. Throws what Place throws, ProblemError if the
/// server does not start a session, and Interrupted.
ExitStatus run_ldb(const Plan& plan, Invocation& invocation);

/// Serves a client of the Debug Adapter Protocol, on standard input and output or as the first that
/// connects to the plan's socket, until it disconnects or vanishes: the script, its keys and
/// arguments are those of its launch request, which adds them to the options that are given. Throws
/// UsageError for what is not this protocol.
ExitStatus run_dap(const Plan& given, Invocation& invocation);

/// Runs the classic debugger, redis-cli --ldb, with the plan's script, keys and arguments.
/// --print-command: prints its command on one line, without the password, which redis-cli takes
/// from REDISCLI_AUTH; a bundled script without an installed file is written to a new folder, which
/// stderr reports. --redis-cli: executes redis-cli in place of this process. Throws UsageError for
/// keys that the command cannot express, and ProblemError if redis-cli cannot be executed.
ExitStatus run_redis_cli(const Plan& plan, Invocation& invocation);

/// The installed file of a bundled script, which `cmake --install` puts next to the program; empty
/// if there is none, or if its contents differ.
std::string bundled_file(const debugger::Debuggee& script);

}  // namespace rlctl::cli::debug
