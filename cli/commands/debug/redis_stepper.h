#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/debug/place.h"
#include "cli/commands/debug/plan.h"
#include "cli/commands/debug/stepper.h"
#include "ldb/redis_debugger.h"
#include "stored/backup.h"

namespace rlctl::cli::debug {

/// Steps through a script in Redis's own debugger, with nothing added to the script, on the plan's
/// server. A script that is left while it runs in the server itself continues to its end; stderr
/// reports that.
class RedisStepper final : public Stepper {
 public:
  /// `wants_stop` tells whether a running script shall stop. The others must outlive this. Throws
  /// what Place throws.
  RedisStepper(const Plan& plan, Invocation& invocation, std::function<bool()> wants_stop);
  ~RedisStepper() override { leave(); }

  /// Throws ProblemError if the server does not start a session, and UsageError if it is gone.
  debugger::Halt begin() override;
  bool reset() override;
  std::vector<std::string> end(bool utf8) override;

  debugger::Debugger& debugger() noexcept override { return debugger_; }

 private:
  ldb::Session open_session();
  void accept_source(debugger::Debuggee& debuggee, redis::Connection& connection) const;
  void leave();

  Invocation& invocation_;
  Place place_;
  ldb::RedisDebugger debugger_;
  std::vector<stored::SavedKey> first_state_;  ///< the keys of a private server, before the runs
};

}  // namespace rlctl::cli::debug
