#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/debug/plan.h"
#include "cli/server/connection.h"
#include "ldb/session.h"
#include "redis/connection.h"
#include "redis/server.h"
#include "redis/url.h"
#include "stored/backup.h"

namespace rlctl::cli::debug {

/// Asks whether rlctl may stop a server at every line, unless the plan already allows it. Throws
/// ProblemError if it may not, or if there is no terminal to ask at.
void require_consent(const Plan& plan, const std::string& server, const Interrupt& interrupt);

/// Connects to the server from which keys are copied; none if no server was named and none answers.
std::optional<redis::Connection> open_source(Connector& connector, const Interrupt& interrupt);
/// Which of a script's keys a server has.
struct CopiedKeys {
  std::vector<std::string> there = {}, missing = {};
};
/// Formats the end of a message that reports which keys were copied.
std::string copied_text(const CopiedKeys& keys, const std::string& from);
/// Throws UsageError if the options of a run on a log name a server.
void refuse_server(const ConnectionOptions& connection);

/// The server on which Redis's debugger runs a script.
///
/// A private server is like the one that the connection options name (of the same family and major
/// version, if one is installed), with the state of the script's keys copied from that one, which
/// is only read. If no server is named, the private server starts empty. Unless the plan is quiet,
/// stderr reports where the script runs and what was copied.
class Place {
 public:
  /// Connects, starts and copies. Throws redis::Error, ProblemError, UsageError if the plan cannot
  /// run there, and Interrupted; then, no server is left running.
  Place(const Plan& plan, Invocation& invocation);

  /// Connects to the server on which the script runs. On a server that is not private, Ctrl-C
  /// does not end its waits: the caller checks the interrupt.
  redis::Connection connect();
  /// Saves all keys of a private server.
  std::vector<stored::SavedKey> keep();
  /// Kills the private server, even if it hangs, and starts another with these keys.
  void replace(const std::vector<stored::SavedKey>& keys);
  /// Returns false if the private server was discarded.
  bool is_there() const noexcept { return !plan_.is_private() || server_.has_value(); }
  /// Kills the private server; only replace() may be called after that.
  void discard() noexcept { server_.reset(); }

 private:
  void attach();
  /// Returns "private server (Redis 7.2.4)".
  std::string start_private();
  void start_copy();
  void say(const std::string& message);

  const Plan& plan_;
  Invocation& invocation_;
  std::unique_ptr<Connector> connector_;
  std::optional<redis::PrivateServer> server_;
  std::optional<redis::ServerVersion> version_;  ///< of the private server
};

}  // namespace rlctl::cli::debug
