#pragma once

#include <chrono>
#include <optional>

#include "cli/app/command.h"

namespace rlctl::cli {

/// Starts a worker (base/worker.h), in which a command runs scripts, and returns std::nullopt
/// there. Call it before there is another thread, and before anything is written.
///
/// In the parent, it waits for the worker's end, and returns its exit status. The parent passes on
/// signals. It ends a worker whose script does not end within worker::kMostTime, or soon after a
/// signal; then it also ends the processes that the worker has started, removes its files, and
/// restores the terminal. Throws Interrupted and OutputClosed as the worker would, and
/// ProblemError, which names the request, if the worker was ended otherwise. After `most_time` of
/// the processor, worker::begin_request() throws.
std::optional<ExitStatus> run_in_worker(
    const Invocation& invocation,
    std::chrono::nanoseconds most_time = std::chrono::nanoseconds::max());

/// Whether this process is a worker, or was forked by one.
bool is_worker() noexcept;

}  // namespace rlctl::cli
