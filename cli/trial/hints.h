#pragma once

#include <optional>
#include <string>

#include "cli/trial/report.h"

// What the results of a run suggest.

namespace rlctl::cli::trial {

/// Why a bundled algorithm treated the traffic so, see Run::why; none if it is not known.
std::optional<std::string> why_of(const script::Candidate& candidate,
                                  const simulation::Measured& measured, std::int64_t highest_cost,
                                  bool is_search);

/// What the replies of a script suggest: that it may return nothing, that --allowed-when does not
/// fit them, or that its limit is another. None if they look right, and for a bundled algorithm.
/// `costs_one`: each request costs 1.
std::optional<std::string> reply_hint(const Run& run, const script::Candidate& candidate,
                                      bool costs_one);
/// What the replies of a script that is asked for leases or reservations suggest: only that nothing
/// was allowed.
std::optional<std::string> holders_hint(const Run& run);

}  // namespace rlctl::cli::trial
