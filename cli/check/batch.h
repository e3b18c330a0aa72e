#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/check/on_error.h"
#include "cli/command.h"
#include "cli/failure.h"
#include "cli/limits.h"

namespace rlctl::cli {

/// What `check` was asked to do with one key or with each line of a batch.
struct CheckPlan {
  Limiter limiter = {};
  std::int64_t cost = 1;
  std::optional<std::chrono::microseconds> now = {};
  bool peek = false;
  bool wait = false;
  std::optional<std::chrono::microseconds> wait_at_most = {};  ///< none: for ever
  bool quiet = false;
  OnError on_error = {};
};

/// Answers the lines of `file` ("-": standard input), in their order, each as soon as it can be.
/// A line is KEY or KEY<TAB>COST; one that is wrong has its error in its place and stops nothing.
/// Returns the worst status of any line. Throws where input or output fails, and on a signal.
[[nodiscard]] ExitStatus run_batch(const CheckPlan& plan, const std::string& file,
                                   Invocation& invocation);

}  // namespace rlctl::cli
