#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/term/signals.h"
#include "redis/connection.h"
#include "traffic/candidate.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// The server on which the scripts of a burst run, and what is written there. It is a private one
/// unless the command line names another; RLCTL_URL and the configuration do not count.
class BurstServer {
 public:
  explicit BurstServer(Invocation& invocation);

  /// So many connections, at least one, for all runs: opened by the first call. Where the server is
  /// not a private one, says on stderr under which prefix is written. Ctrl-C does not break them:
  /// requests that are on their way then would be executed after their keys are removed, and make
  /// them anew. The runs look at the interrupt.
  ///
  /// Throws what connecting throws; Interrupted where Ctrl-C comes in between.
  [[nodiscard]] std::span<redis::Connection> connections(std::size_t count);
  /// Nobody else uses the server: all that it holds is of this process.
  [[nodiscard]] bool is_private() const { return connector_.is_private(); }
  /// For the keys of the next run: those of an earlier one that could not be removed are not in its
  /// way.
  [[nodiscard]] std::string next_prefix() { return prefix_ + std::to_string(++runs_) + ':'; }
  [[nodiscard]] std::chrono::microseconds timeout() const noexcept { return connector_.timeout(); }
  /// Removes keys; a failure is a warning, since there may be another one on its way already.
  void remove(const std::vector<std::string>& keys) noexcept;
  /// The same for all under the prefix, found by SCAN; nothing on a private server.
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

/// At its end, whatever that is, the keys that a script has written are removed: one that is not
/// rlctl's may have made others of those that it was given.
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
