#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/term/signals.h"
#include "redis/connection.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// The server on which the scripts of a burst run, and the keys that they write there. It is a
/// private one unless the command line names another: RLCTL_URL and the configuration name servers
/// that are in use.
class BurstServer {
 public:
  explicit BurstServer(Invocation& invocation);

  /// `count` connections, at least one, for all runs; the first call opens them. Unless the server
  /// is private, it writes the prefix of the keys to stderr. Ctrl-C does not break the connections:
  /// the server would execute the requests in flight after their keys are removed, and create the
  /// keys again. The runs look at the interrupt.
  ///
  /// Throws what connecting throws; Interrupted if Ctrl-C comes in between.
  [[nodiscard]] std::span<redis::Connection> connections(std::size_t count);
  /// Whether everything that the server holds belongs to this process.
  [[nodiscard]] bool is_private() const { return connector_.is_private(); }
  /// For the keys of the next run, which must not find keys that an earlier run failed to remove.
  [[nodiscard]] std::string next_prefix() { return prefix_ + std::to_string(++runs_) + ':'; }
  [[nodiscard]] std::chrono::microseconds timeout() const noexcept { return connector_.timeout(); }
  /// Removes keys; a failure is a warning, since another error may be in flight already.
  void remove(const std::vector<std::string>& keys) noexcept;
  /// Removes all keys under the prefix, found by SCAN; does nothing on a private server.
  void remove_all() noexcept;

 private:
  void open(std::size_t count);
  void warn_of_rest(const std::exception& error);
  void unlink(std::span<const std::string> keys);

  Invocation& invocation_;
  Connector connector_;
  std::string prefix_;
  int runs_ = 0;
  std::vector<redis::Connection> connections_;
  std::optional<LastWords> last_words_;
};

/// Removes the keys of a script when it is destroyed. A foreign script may have written other keys
/// too, so everything under the prefix is removed.
class Cleaning {
 public:
  Cleaning(BurstServer& server, const traffic::Candidate& candidate, const traffic::Script& script)
      : server_(server), script_(script), is_foreign_(candidate.foreign != nullptr) {}
  ~Cleaning() {
    server_.remove(script_.keys());
    if (is_foreign_) server_.remove_all();
  }
  Cleaning(const Cleaning&) = delete;
  Cleaning& operator=(const Cleaning&) = delete;

 private:
  BurstServer& server_;
  const traffic::Script& script_;
  bool is_foreign_;
};

}  // namespace rlctl::cli
