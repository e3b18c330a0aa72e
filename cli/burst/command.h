#pragma once

#include <string>
#include <vector>

#include "cli/burst/options.h"
#include "cli/burst/plan.h"
#include "cli/command.h"

namespace rlctl::cli {

/// The command line that repeats a plan: every option that decides the result. A server is among
/// them under the real clock only, without its password: under the virtual one all give the same.
[[nodiscard]] std::vector<std::string> command_words(const BurstPlan& plan,
                                                     const BurstOptions& options,
                                                     const Invocation& invocation);
/// The command line that replays the schedule of a search against the same limiters.
[[nodiscard]] std::vector<std::string> replay_words(const BurstPlan& plan,
                                                    const BurstOptions& options,
                                                    const Invocation& invocation);

}  // namespace rlctl::cli
