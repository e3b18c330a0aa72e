#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "adversary/search.h"
#include "adversary/trial.h"
#include "base/wait.h"

// The exhaustive search: tries every schedule of a few requests, each at a time at which a
// limiter's answer may change. Its findings are those of search.h, shrunk in the same way.
// cli/commands/adversary/search.cc calls search_all() for `adversary --exhaustive`, with a model
// or with a script.

namespace rlctl::adversary {

/// The times that exhaust() tries for a request, given those before it, in order. They are the ones
/// at which a limiter's answer may change: the time of the request before and 1 µs later; a
/// quarter, half and three quarters of a window after it; 1 µs before, at, and 1 µs after
/// the next edge of the clock's windows, and one window after each earlier request. The first
/// request comes at these times in the window that begins at the base.
std::vector<microseconds> critical_times(const Schedule& before, const SearchRequest& request);

/// No request that exhaust() tries is later than this after the base.
microseconds latest_time(const SearchRequest& request, int requests);

/// The schedules tried so far, the share of all, and the most units allowed so far.
using OnExhaustiveProgress =
    std::function<void(std::int64_t tried, double share, std::int64_t worst)>;

/// Tries every schedule of at most `requests` requests at critical times, of every cost, by a clock
/// that does not step back. Ignores the request's tries and seed. If the interrupt is raised, ends
/// early with the findings so far. Throws what the limiter throws.
SearchResult exhaust(Branching& limiter, const SearchRequest& request, int requests,
                     const Interrupt& interrupt, const OnExhaustiveProgress& on_progress = {});
/// Calls exhaust(), and shrinks what was found. The trial must be of the same limiter.
SearchResult search_all(Branching& limiter, Trial& trial, const SearchRequest& request,
                        int requests, const Interrupt& interrupt,
                        const OnExhaustiveProgress& on_progress = {});

/// Tries every schedule on a script, to which each request is sent once for each state that
/// schedules leave, and shrinks what was found.
SearchResult search_all(ScriptTrial& trial, const SearchRequest& request, int requests,
                        const Interrupt& interrupt, const OnExhaustiveProgress& on_progress = {});

}  // namespace rlctl::adversary
