#pragma once

#include <string>
#include <vector>

#include "cli/burst/options.h"
#include "cli/burst/plan.h"
#include "cli/connection.h"

namespace rlctl::cli {

/// The words of a command that repeats a plan: every value that decides what comes out. A server is
/// among them under the real clock only, without its password: under the virtual one all give the
/// same.
[[nodiscard]] std::vector<std::string> command_words(const BurstPlan& plan,
                                                     const BurstOptions& options,
                                                     const ConnectionOptions& connection);
/// The words that put what a search has written, or will write, to the same limiters.
[[nodiscard]] std::vector<std::string> replay_words(const BurstPlan& plan,
                                                    const BurstOptions& options);

}  // namespace rlctl::cli
