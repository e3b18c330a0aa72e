#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/debug/plan.h"
#include "ldb/session.h"
#include "redis/connection.h"
#include "redis/key_copy.h"
#include "redis/private_server.h"
#include "redis/server_info.h"
#include "redis/url.h"

namespace rlctl::cli {

/// Why a script cannot be debugged in a fork of a server at this URL; empty if it can.
[[nodiscard]] std::string why_not_forked(const redis::Url& url, const ldb::Debuggee& debuggee);

/// Asks whether a server may be stopped at every line, unless the plan says so. Throws ProblemError
/// if it may not, or if there is no terminal to ask at.
void require_consent(const DebugPlan& plan, const std::string& server, const Interrupt& interrupt);

/// The server on which a script is debugged.
///
/// Of the plan's kPrivate a server of our own, like the one that the connection's options name
/// (family and major version, where such a one is installed), with the state of the script's keys
/// copied from there; that one is only read. Where no server was named and none answers, the state
/// is empty; so it is with a log, for which no server is asked. Where it runs and what was copied
/// is said on stderr, unless the plan is quiet.
class DebugPlace {
 public:
  /// Connects, starts and copies. Throws what that throws, UsageError where the plan cannot be run
  /// there, and Interrupted; nothing is left then.
  DebugPlace(const DebugPlan& plan, Invocation& invocation);

  /// A connection to the server on which the script runs. Where that is not a private one Ctrl-C
  /// does not end its waits: the caller checks the interrupt.
  [[nodiscard]] redis::Connection connect();
  /// Of a private server: all its keys, as they are now.
  [[nodiscard]] std::vector<redis::DumpedKey> keep();
  /// Another private server like this one, which is killed, whatever it does; with these keys. Of
  /// no other place anything changes.
  void replace(const std::vector<redis::DumpedKey>& keys);
  /// False if the private server was discarded.
  [[nodiscard]] bool is_there() const noexcept { return !is_private() || server_.has_value(); }
  /// Kills the private server; only replace() is of use then.
  void discard() noexcept { server_.reset(); }
  [[nodiscard]] ldb::Mode mode() const noexcept;
  /// All its keys are ours.
  [[nodiscard]] bool is_private() const noexcept { return plan_.where == DebugWhere::kPrivate; }
  /// The server that the keys were copied from, for messages; empty if none were.
  [[nodiscard]] const std::string& copied_from() const noexcept { return copied_from_; }
  /// For messages; holds no password.
  [[nodiscard]] std::string name() const;

 private:
  void attach();
  void start_private(const std::optional<redis::ServerVersion>& like);
  void start_copy();
  void say(const std::string& message) const;
  [[nodiscard]] std::string private_text();

  const DebugPlan& plan_;
  Invocation& invocation_;
  std::string copied_from_;
  std::unique_ptr<Connector> connector_;  ///< none with a log
  std::optional<redis::PrivateServer> server_;
  std::optional<redis::ServerVersion> version_;  ///< of the private server
};

/// The file of a bundled script, which `cmake --install` puts beside the program; empty if there
/// is none, or another one.
[[nodiscard]] std::string bundled_file(const ldb::Debuggee& script);

/// The words of `redis-cli --ldb --eval FILE key , argument`, which debugs the same on the server
/// at this URL. No password is among them: redis-cli takes it from REDISCLI_AUTH. Throws UsageError
/// for keys that cannot be said so.
[[nodiscard]] std::vector<std::string> redis_cli_words(const DebugPlan& plan, const redis::Url& url,
                                                       const std::string& file);

/// --print-command: the command in one line; a bundled script of which no file is installed is
/// written to one in a folder of its own, which is said on stderr. --redis-cli: becomes redis-cli,
/// and comes back only by an exception: ProblemError where it cannot be run.
ExitStatus run_redis_cli(const DebugPlan& plan, Invocation& invocation);

}  // namespace rlctl::cli
