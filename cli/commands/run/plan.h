#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/wait.h"
#include "cli/app/command.h"
#include "cli/options/limits.h"
#include "cli/server/asker.h"
#include "cli/server/connection.h"
#include "limiter/check.h"

namespace rlctl::cli::run {

/// The usual status if denied: EX_TEMPFAIL in sysexits.h.
inline constexpr auto kDenied = static_cast<ExitStatus>(75);

/// The status of every failure of rlctl itself, as of env(1) and timeout(1).
inline constexpr auto kFailed = static_cast<ExitStatus>(125);
/// The statuses with which shells, env(1) and timeout(1) report that a command cannot be run.
inline constexpr auto kCannotExecute = static_cast<ExitStatus>(126);
inline constexpr auto kNotFound = static_cast<ExitStatus>(127);

/// The code of what happens to a lease that its holder needs.
inline constexpr const char* kLeaseLost = "lease_lost";

/// The options of `run`.
struct Plan {
  std::string key = {};
  LimitOptions limit = {};
  std::optional<Limiter> limiter = {};  ///< the meaning of `limit`
  std::int64_t cost = 1;
  std::optional<std::int64_t> concurrency = {};
  std::chrono::microseconds lease_duration = std::chrono::seconds{30};
  bool kill_on_loss = false;
  bool wait = false;
  std::optional<std::chrono::microseconds> wait_at_most = {};  ///< none: no limit
  ExitStatus denied_status = kDenied;
  bool quiet = false;
  OnError on_error = {};
};

/// A lease that this process holds.
struct HeldLease {
  limiter::Lease lease;
  /// When the last successful request for it was sent: it lapses a duration later, or after that.
  Clock::time_point since;
};

/// Gives the lease back, also after Ctrl-C. Denied: it was gone already. Throws what
/// Connector::open() throws, and redis::Error.
limiter::Decision release(Connector& connector, const limiter::Lease& lease);

/// A program to execute.
struct Program {
  std::string path;                ///< where it was found
  std::vector<std::string> words;  ///< its name as given, and its arguments
};

/// Finds the program as a shell does: in PATH, unless its name contains a slash. Throws
/// ProblemError with kNotFound or kCannotExecute.
Program find_program(std::vector<std::string> words);

/// Replaces this process with the program, which inherits everything but rlctl's own descriptors
/// and signal handlers. Throws Interrupted, and ProblemError if executing fails.
[[noreturn]] void replace_process(const Program& program, const Interrupt& interrupt);

/// Runs the program in a child process, renews the lease while it runs, and releases it afterwards.
/// The child has the terminal, the process group and the descriptors of this process. Forwards
/// signals, except those from the terminal, which reach the child without help; stops and
/// continues with the child. Returns the child's status; if the child was killed by a signal, this
/// process dies by it. Throws ProblemError if the program cannot be executed, after the lease was
/// released.
ExitStatus supervise(const Plan& plan, const Program& program, HeldLease held, Connector& connector,
                     Invocation& invocation);

}  // namespace rlctl::cli::run
