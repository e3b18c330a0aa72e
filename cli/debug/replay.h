#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/wait.h"
#include "cli/command.h"
#include "cli/debug/plan.h"
#include "ldb/session.h"
#include "redis/connection.h"
#include "replay/recording.h"
#include "traffic/key_aging.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// A log's requests as calls of the script that is debugged, one after the other, each at its own
/// time: TTLs pass as that does, and the script is told it.
class DebugReplay {
 public:
  /// Reads the plan's log; lines that cannot be read are told on stderr. Throws what
  /// replay::Recording throws, and UsageError where so many requests cannot be skipped, or the
  /// script takes none that costs so much. The plan must outlive it.
  DebugReplay(const DebugPlan& plan, const Invocation& invocation);

  /// Runs the requests that are skipped, as ordinary calls; the first error reply is told on
  /// stderr. Throws redis::Error where the connection fails, and kInterrupted.
  void run_skipped(redis::Connection& connection);

  /// One request to debug, and what it takes for the time.
  struct Call {
    ldb::Debuggee debuggee;
    std::chrono::microseconds now{0};
  };
  /// The next one, with the keys as old as they are then; none at the end.
  [[nodiscard]] std::optional<Call> next(redis::Connection& connection);
  /// "request 2 of 28, of 2026-11-20T06:11:15Z, for 'ann'": the one that next() gave last.
  [[nodiscard]] std::string request_text() const;
  /// It has run.
  void finish(redis::Connection& connection);

 private:
  [[nodiscard]] bool advance();
  void run(redis::Connection& connection);
  void append_call(redis::Connection& connection);
  void tell(const redis::Error& error);

  const DebugPlan& plan_;
  const Invocation& invocation_;
  replay::Recording recording_;
  std::unique_ptr<traffic::Traffic> traffic_;
  traffic::Candidate candidate_;
  std::unique_ptr<traffic::Script> script_;
  bool is_frozen_ = false;  ///< TIME tells the script the requests' times
  bool has_told_ = false;
  std::map<std::uint32_t, traffic::VirtualTtls> ttls_;  ///< of each of the traffic's keys
  // Of the request that is under way.
  traffic::Arrival arrival_;
  std::int64_t number_ = 0;  ///< from 1 on
  ldb::Debuggee called_;     ///< without its source
  Clock::time_point began_;
};

}  // namespace rlctl::cli
