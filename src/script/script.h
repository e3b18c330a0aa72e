#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "redis/reply.h"
#include "script/reply.h"
#include "script/template.h"
#include "traffic/traffic.h"

// The limiters that commands test, and how their scripts are called. A ForeignLimiter is a user's
// own script, filled in by cli/options/script_options.h; a Candidate is that, a user's program, or
// an algorithm, with limits. make_script() gives the calls for its requests and reads the replies:
// burst, lint, debug and src/adversary use it. src/exec runs programs.

namespace rlctl::script {

class ScriptHost;

// ---- Foreign limiters ----

inline constexpr std::string_view kKeysWord = "keys", kArgumentsWord = "args", kSetupWord = "setup",
                                  kFunctionWord = "function";

/// What prepares the keys that a foreign limiter expects: a command, or a script.
struct SetupStep {
  std::string name = {};             ///< of the script's file
  std::string source = {};           ///< of the script, which gets the limiter's KEYS and ARGV
  std::vector<Template> words = {};  ///< of the command; then there is no source
};

/// A foreign limiter's script: its source, how to call it, and how to read its reply.
struct ForeignLimiter {
  std::string name = {};    ///< its file name, for messages and reports
  std::string source = {};  ///< Lua
  /// The function to call of a library ("#!lua name=..."); empty for a script.
  std::string function = {};
  std::vector<Template> keys = {}, arguments = {};
  ReplyReading reading = {};
  /// Where the values of the words about its call stand: kKeysWord and so on.
  WordOrigins origins = {};
  std::vector<SetupStep> setup = {};
  /// It is asked for leases: the limit is their number, and its window their duration.
  bool has_leases = false;
  /// It is asked for reservations, which are held this long; 0: it is not.
  std::chrono::microseconds hold{0};
  /// The script that releases leases or settles reservations, with the same keys; null: this one,
  /// which is told the event.
  std::shared_ptr<const ForeignLimiter> ending = {};
};

/// Throws UsageError, which begins with the origin of the word, if the limiter cannot be called
/// with this limit.
void require_usable(const ForeignLimiter& limiter, const limiter::Limit& limit);
/// Throws UsageError if an argument or the setup names a key, as {key2}, of which there are fewer,
/// or if one of the keys does.
void require_key_numbers(const ForeignLimiter& limiter, std::size_t keys);
/// Sets the function of a library that registers only one, and checks a name that is given. Does
/// nothing for a script without a function. Throws UsageError, which begins with the origin of the
/// name, if the library does not have the given function, if none was given and the library does
/// not have exactly one, or if one was given for a source that is not a library.
void choose_function(ForeignLimiter& limiter);
/// A source in the form that the server accepts: without flags in "#!lua flags=..." that it does
/// not know; for a server before Redis 7, without that line.
struct AcceptedScript {
  std::string sha1 = {};
  std::string source = {};
  std::string change = {};  ///< for a warning; empty if nothing was changed
};
/// Loads a script. Throws redis::Error, with the script's name, if the host accepts no form.
AcceptedScript load_accepted(ScriptHost& host, const std::string& source, std::string_view name);
/// Which KEYS or ARGV the source uses beyond these numbers of them, as a hint; empty if none, or if
/// it is not valid Lua. (An argument that is used may still be optional.)
std::string missing_element(std::string_view source, std::size_t keys, std::size_t arguments);
/// Whether time does not matter to the limiter: neither its keys nor its arguments contain the time
/// of a request, and it calls neither TIME nor a command that sets a TTL. False if it is not valid
/// Lua.
bool lacks_clock(const ForeignLimiter& limiter);

/// Whether it may read the TTL of a key, as far as its source and arguments tell. A false match
/// takes more attempts on a busy machine.
bool may_read_ttl(const ForeignLimiter& limiter);

/// Whether its source names the command TIME.
bool names_time(const ForeignLimiter& limiter);

/// The placeholder in the limiter's keys and arguments that rounds the time of the request most,
/// and the one that rounds it least; null if none contains it.
const Placeholder* coarsest_time(const ForeignLimiter& limiter);
const Placeholder* finest_time(const ForeignLimiter& limiter);

// ---- Candidates ----

/// A program that reads requests and writes decisions, as rlctl-exec(7) says; see exec/program.h.
struct ProgramLimiter {
  std::string name = {};                ///< for messages and reports
  std::vector<std::string> words = {};  ///< the program, which is looked up in PATH; its arguments
  std::string folder = {};              ///< where it runs; empty: in this process's folder
};

/// A limiter to test: an algorithm, a foreign limiter or a program, and the limits, all of which
/// must hold.
struct Candidate {
  const limiter::Algorithm* algorithm = nullptr;
  std::vector<limiter::Limit> limits = {};  ///< a foreign limiter and a program get the first
  std::shared_ptr<const ForeignLimiter> foreign = {};  ///< instead of an algorithm
  std::shared_ptr<const ProgramLimiter> program = {};  ///< instead of an algorithm

  bool is_bundled() const noexcept { return algorithm != nullptr; }
  /// Whether it is a bundled algorithm that gives leases rather than counting requests.
  bool is_bundled_lease() const noexcept {
    return algorithm != nullptr && !limiter::counts_requests(*algorithm);
  }
};

/// The name of the algorithm, of the foreign limiter or of the program.
std::string_view name_of(const Candidate& candidate);
/// Throws UsageError if the candidate does not support its limits.
void require_usable(const Candidate& candidate);

/// The hint where virtual time cannot be that of a script.
inline constexpr const char* kUseRealClock = "use --clock real, with a pattern or a log";

// ---- Scripts ----

/// Where scripts are loaded: a server, or the engine in this process
/// (simulation/engine.h).
class ScriptHost {
 public:
  virtual ~ScriptHost() = default;
  /// The reply to SCRIPT LOAD or FUNCTION LOAD REPLACE; the last word is the source.
  virtual redis::Reply call(redis::Arguments words) = 0;
};

/// A server.
class ScriptServer final : public ScriptHost {
 public:
  /// The connection must outlive this.
  explicit ScriptServer(redis::Connection& connection) : connection_(connection) {}
  redis::Reply call(redis::Arguments words) override;

 private:
  redis::Connection& connection_;
};

/// The script of a candidate: the call for each request, and how to read its reply. One serves any
/// number of connections. Memory grows with the number of different keys.
class Script {
 public:
  virtual ~Script() = default;

  /// The name of an algorithm or of a file, for messages.
  virtual std::string_view name() const = 0;
  /// Whether the script may call TIME, and get the server's time.
  virtual bool may_call_time() const { return false; }
  /// The key of KeyAging's hash, if the script may decide by the TTLs of its keys, so that virtual
  /// time must pass for them. std::nullopt for a script that uses only the time that it is given.
  virtual std::optional<std::string> key_of_ttls() const { return std::nullopt; }
  /// Whether it may read the TTL of a key.
  virtual bool may_read_ttl() const { return false; }
  /// What the expressions of a foreign script read; null for a bundled one.
  virtual const limiter::Limit* limit() const { return nullptr; }

  /// Loads it. Throws redis::Error; for a foreign script that does not compile, with the file's
  /// name and line.
  virtual void load(ScriptHost& host) = 0;
  /// Loads it into a server. Throws redis::Error if the user may not ask what the script asks, too.
  void load(redis::Connection& connection);
  /// What load() had to change so that the host takes it, for a warning; empty if nothing.
  virtual std::string change() const { return {}; }
  /// The call for a request, as of its arrival. Valid until the next call().
  virtual limiter::ScriptCall call(const traffic::Arrival& arrival) = 0;
  /// Throws redis::Error for an error reply, and for a reply that does not fit the script. NOSCRIPT
  /// is an error too: the script was loaded, so someone has removed it; the request is not
  /// repeated, since other requests may have been decided without it.
  /// `number` is that of its call(), from 1.
  limiter::Decision parse(redis::ReplyView reply, const traffic::Arrival& arrival,
                          std::int64_t number) const;
  /// An error that parse() threw, with details of the request. A foreign script adds KEYS and ARGV.
  virtual redis::Error with_request(const redis::Error& error, const traffic::Arrival& /*arrival*/,
                                    std::int64_t /*number*/) const {
    return error;
  }
  /// Every key in Redis that call() or preparation() has named.
  virtual std::vector<std::string> keys() const = 0;

  /// The calls that prepare the keys for this request: the caller must make them, and pass each
  /// reply, in order, to require_prepared(). What names the key is called once for each key, all
  /// else once. None without a setup. Valid until the next preparation().
  virtual std::vector<limiter::ScriptCall> preparation(const traffic::Arrival& /*arrival*/) {
    return {};
  }
  /// Throws redis::Error, with the command and the reply, if it could not be prepared.
  virtual void require_prepared(redis::ReplyView /*reply*/) {}
  /// The keys were removed: preparation() has everything again.
  virtual void restart() {}

 private:
  virtual limiter::Decision read(redis::ReplyView reply, const traffic::Arrival& arrival,
                                 std::int64_t number) const = 0;
};

/// What the time of a request is to a foreign script; a bundled one is told it.
enum class ScriptTime {
  kHost,     ///< nothing: TIME replies that of the host
  kTold,     ///< TIME replies it, and absolute times of expiry count from it
  kVirtual,  ///< and TTLs follow it, by KeyAging
};

/// How a foreign script runs.
struct ScriptEnvironment {
  ScriptTime time = ScriptTime::kVirtual;
  /// The server is not this process's own: a command with a key that is not one of its KEYS is an
  /// error, before it runs. Otherwise it may use any key, and the virtual time passes for it too.
  bool keys_only = false;
};

/// Queues the calls of Script::preparation(), and returns how many: the caller must read as many
/// replies for Script::require_prepared().
std::size_t queue_preparation(Script& script, redis::Connection& connection,
                              const traffic::Arrival& arrival);
/// Prepares the keys for a request, and waits until that is done; returns whether anything was to
/// be done. Throws redis::Error.
bool prepare(Script& script, redis::Connection& connection, const traffic::Arrival& arrival);

/// The error of a read for which this request was the first without an answer. If a foreign script
/// ran out of time, which it does if it never ends, adds its name, the request and what to do.
/// `is_first`: others were sent with it, of which each may be to blame.
redis::Error without_answer(const redis::Error& error, const Script& script,
                            const traffic::Arrival& arrival, std::int64_t number, bool is_first);

/// The script of a candidate; the candidate and the traffic must outlive it. The reply to a release
/// or a settle by a foreign script is not read, since nothing says what it means: it is allowed
/// unless it is an error that denies. Its keys are the
/// prefix followed by the names from the traffic or the templates. A bundled script sets their
/// TTLs; a foreign one may set none, and may write other keys too, unless keys_only. Throws
/// UsageError if the candidate does not support its limits.
std::unique_ptr<Script> make_script(const Candidate& candidate, const traffic::Traffic& traffic,
                                    std::string prefix, const ScriptEnvironment& environment = {});

}  // namespace rlctl::script
