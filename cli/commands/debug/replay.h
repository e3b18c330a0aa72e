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
  traffic::TemplateValues values = {};  ///< of the call, without its key
};

/// Turns a log's requests into calls of the debugged script, in order, each at its own time: TTLs
/// elapse with that time, and the script sees it.
class Replay {
 public:
  /// Reads the plan's log; bad lines are reported on stderr. Throws what replay::Recording throws,
  /// and UsageError if the log has too few requests to skip or a cost that the script does not
  /// accept. The plan and the invocation must outlive this.
  Replay(const Plan& plan, const Invocation& invocation);

  /// Call this first. Throws redis::Error.
  void connect(redis::Connection connection);

  /// Runs the skipped requests as ordinary calls; the first error reply is reported on stderr.
  /// Throws redis::Error if the connection fails, and Interrupted.
  void run_skipped();

  /// The next request, with its keys aged to its time; none at the end. Throws redis::Error.
  [[nodiscard]] std::optional<Target> next();

  /// The next request, which there must be, as the only one to come: all keys are aged to its time,
  /// and look as the script left them. Throws redis::Error.
  [[nodiscard]] Target last();

  /// "request 2 of 28, of 2026-11-20T06:11:15Z, for 'ann'": the last one from next() or last().
  [[nodiscard]] std::string request_text() const;

 private:
  [[nodiscard]] Target target() const;
  [[nodiscard]] bool advance();
  void age(const std::vector<std::string>& keys);
  void run();
  void tell(const redis::Error& error);

  const Plan& plan_;
  const Invocation& invocation_;
  replay::Recording recording_;
  std::unique_ptr<traffic::Traffic> traffic_;
  traffic::Candidate candidate_;
  std::unique_ptr<traffic::Script> script_;   ///< says what to debug
  std::unique_ptr<traffic::Script> skipped_;  ///< runs the requests before that
  bool has_told_ = false;
  std::optional<redis::Connection> connection_;
  std::optional<traffic::KeyAging> aging_;
  std::set<std::string> used_;  ///< the keys of all requests so far
  // The current request.
  traffic::Arrival arrival_;
  std::int64_t number_ = 0;  ///< from 1
  ldb::Debuggee called_;     ///< without its source
};

}  // namespace rlctl::cli::debug
