#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/wait.h"
#include "cli/app/command.h"
#include "cli/options/limits.h"
#include "cli/server/asker.h"
#include "cli/server/connection.h"
#include "cli/server/request_failure.h"
#include "cli/terminal/progress.h"
#include "limiter/lease.h"

namespace rlctl::cli::run {

/// The usual status if denied: EX_TEMPFAIL in sysexits.h.
inline constexpr auto kDenied = static_cast<ExitStatus>(75);

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
  bool key_base64 = false;
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
[[nodiscard]] limiter::Decision release(Connector& connector, const limiter::Lease& lease);

/// Whether the command may run, and what it holds then.
struct Admitted {
  bool allowed = false;
  std::optional<HeldLease> lease = {};
  std::optional<Problem> denial = {};  ///< for standard error; none: a warning was printed
};

/// Asks for what a command needs before it may run: a lease, then the limits.
class Admission {
 public:
  Admission(const Plan& plan, Connector& connector, Invocation& invocation);

  /// Waits if requested. If the limits deny the request, or something fails, the lease has been
  /// given back, unless --on-error lets the command run: then it is kept. Throws what Asker throws
  /// and --on-error does not cover.
  [[nodiscard]] Admitted take();

 private:
  [[nodiscard]] Admitted try_to_take(std::optional<HeldLease>& held);
  [[nodiscard]] limiter::Decision take_lease(std::optional<HeldLease>& held);
  void keep_lease(HeldLease& held);
  [[nodiscard]] limiter::Decision ask_limits();
  bool give_back(std::optional<HeldLease>& held) noexcept;
  [[nodiscard]] std::chrono::microseconds left() const;
  [[nodiscard]] Problem limit_denial(const limiter::Decision& decision) const;
  [[nodiscard]] Problem lease_denial(const limiter::Decision& decision) const;

  const Plan& plan_;
  Connector& connector_;
  Invocation& invocation_;
  Progress progress_;
  Asker asker_;
  limiter::Request request_;
  limiter::Lease lease_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace rlctl::cli::run
