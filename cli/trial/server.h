#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/server/connection.h"
#include "exec/program.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "script/script.h"

namespace rlctl::cli::trial {

/// The server on which the scripts of a trial run, and the keys that they write there. The server
/// is private unless the command line names one: RLCTL_URL and the configuration name servers that
/// are in use.
class Server {
 public:
  Server(Invocation& invocation, std::span<const script::Candidate> candidates);

  /// The connection, which all runs share; the first call opens it and, unless the server is
  /// private, writes the prefix of the keys to stderr. Ctrl-C does not break the connection: the
  /// server would execute the requests in flight after their keys are removed, and create the keys
  /// again. The runs check the interrupt instead.
  ///
  /// Throws what connecting throws, and Interrupted after Ctrl-C.
  redis::Connection& connection();
  /// Whether everything on the server belongs to this process.
  bool is_private() const { return connector_.is_private(); }
  /// A new prefix for the next run, which must not find keys that an earlier run failed to remove.
  /// Empty for a private server, which is emptied: scripts use other keys there too.
  std::string next_prefix();
  std::chrono::microseconds timeout() const noexcept { return connector_.timeout(); }
  /// The interrupt of the command, which the connection ignores.
  const Interrupt& interrupt() const noexcept { return invocation_.interrupt; }
  /// Removes the keys of a script, unless the server is private. Of no use after Ctrl-C while the
  /// server still executes requests, which would create the keys again. Only warns on failure,
  /// since another exception may be in flight.
  void remove_keys(const script::Script& script) noexcept;

 private:
  void require_writable();
  std::string when_they_expire() const;
  void unlink(std::span<const std::string> keys);

  Invocation& invocation_;
  Connector connector_;
  std::string prefix_;  ///< how the names of all keys begin; empty on a private server
  int runs_ = 0;
  std::optional<redis::Connection> connection_;
  bool is_foreign_ = false;  ///< a foreign script is asked, which may set no TTLs
  bool has_warned_ = false;
};

/// Removes the keys of a script when it is destroyed: see Server::remove_keys().
class Cleaning {
 public:
  Cleaning(Server& server, const script::Script& script) : server_(server), script_(script) {}
  ~Cleaning() { server_.remove_keys(script_); }
  Cleaning(const Cleaning&) = delete;
  Cleaning& operator=(const Cleaning&) = delete;

 private:
  Server& server_;
  const script::Script& script_;
};

}  // namespace rlctl::cli::trial
