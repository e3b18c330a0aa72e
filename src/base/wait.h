#pragma once

#include <chrono>

#include "base/interrupt.h"

namespace rlctl {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

enum class Wake { kReady, kDeadline };

/// Waits for `events`, as poll() knows them, on `fd` (-1: only for the deadline). Throws
/// Interrupted once `interrupt`, which may be null, is raised.
Wake wait_for(int fd, short events, const Interrupt* interrupt, Deadline deadline);

}  // namespace rlctl
