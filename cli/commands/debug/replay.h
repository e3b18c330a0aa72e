#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/debug/plan.h"
#include "ldb/session.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "replay/recording.h"
#include "traffic/key_aging.h"
#include "traffic/script.h"
#include "traffic/traffic.h"

namespace rlctl::cli::debug {

/// A script call to debug, and its time.
struct Target {
  ldb::Debuggee debuggee;
  std::optional<std::chrono::microseconds> now = {};
  traffic::TemplateValues values = {};  ///< the values of placeholders, except the key
};

/// Turns a log's requests into calls of the debugged script, in order, each at its own time: TTLs
/// elapse with that time, and the script sees it.
class Replay {
 public:
  /// Reads the plan's log; bad lines are reported on stderr. Throws what replay::Recording throws,
  /// and UsageError if the log has too few requests to skip or a cost that the script does not
  /// accept. The plan and the invocation must outlive this.
  Replay(const Plan& plan, const Invocation& invocation);

  /// Sets the connection to the server; the functions below need it. Throws redis::Error.
  void connect(redis::Connection connection);

  /// Runs the skipped requests as ordinary calls; the first error reply is reported on stderr.
  /// Throws redis::Error if the connection fails, and Interrupted.
  void run_skipped();

  /// Returns the next request, with its keys aged to its time; none after the last one. Throws
  /// redis::Error.
  [[nodiscard]] std::optional<Target> next();

  /// Returns the next request, which must exist, for a caller that needs no further one: all keys
  /// are aged to its time, and are as the script left them. Throws redis::Error.
  [[nodiscard]] Target last();

  /// Describes the last request from next() or last(): "request 2 of 28, of 2026-11-20T06:11:15Z,
  /// for 'ann'".
  [[nodiscard]] std::string request_text() const;

 private:
  [[nodiscard]] Target target() const;
  [[nodiscard]] bool advance();
  void age(const std::vector<std::string>& keys);
  void run();
  void warn_once(const redis::Error& error);

  const Plan& plan_;
  const Invocation& invocation_;
  replay::Recording recording_;
  std::unique_ptr<traffic::Traffic> traffic_;
  traffic::Candidate candidate_;
  std::unique_ptr<traffic::Script> script_;   ///< makes the calls to debug
  std::unique_ptr<traffic::Script> skipped_;  ///< runs the skipped requests
  bool has_warned_ = false;
  std::optional<redis::Connection> connection_;
  std::optional<traffic::KeyAging> aging_;
  std::set<std::string> used_;  ///< the keys of all requests so far
  traffic::Arrival arrival_;    ///< the current request
  std::int64_t number_ = 0;     ///< the number of the current request, from 1
  ldb::Debuggee called_;        ///< the call of the current request, without the source
};

}  // namespace rlctl::cli::debug
