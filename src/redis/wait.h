#pragma once

#include <chrono>

#include "redis/interrupt.h"

namespace rlctl::redis {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

enum class Wake { kReady, kDeadline };

/// Waits for `events`, as poll() knows them, on `fd` (-1: only for the deadline). Throws
/// Error(kInterrupted) once `interrupt`, which may be null, is raised.
Wake wait_for(int fd, short events, const Interrupt* interrupt, Deadline deadline);

}  // namespace rlctl::redis
