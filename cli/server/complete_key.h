#pragma once

#include "cli/options/completions.h"

namespace rlctl::cli {

/// The server's keys, at most a hundred of them, those that are found within half a second. Only if
/// RLCTL_COMPLETE_KEYS is 1: otherwise completion never asks a server. Nothing after --policy,
/// whose operands are not keys. Throws what a Connector and a Connection throw.
[[nodiscard]] Completions complete_key(const CompletionContext& typed);

}  // namespace rlctl::cli
