#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/burst/plan.h"
#include "cli/command.h"
#include "cli/term/text_block.h"
#include "replay/recording.h"

namespace rlctl::cli {

/// Reads the plan's log, with its progress on stderr where that is wanted; null where the plan has
/// none. A warning says how many lines could not be read. Throws what replay::Recording throws, and
/// UsageError where one of the plan's limiters takes no request that costs so much.
[[nodiscard]] std::shared_ptr<const replay::Recording> read_recording(const BurstPlan& plan,
                                                                      const Invocation& invocation,
                                                                      bool shows_progress);

/// What was read, for the header of a report.
void append_replay_rows(TextBlock& block, const replay::Recording& recording);
/// The same as JSON, an object.
void append_replay_json(std::string& out, const replay::Recording& recording);

}  // namespace rlctl::cli
