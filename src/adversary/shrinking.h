#pragma once

#include "adversary/search.h"
#include "adversary/trial.h"
#include "base/wait.h"

namespace rlctl::adversary {

/// The result of a search that found `forward` with a clock that never steps back, and
/// `stepping_back` with one that may. Each finding is made smaller: it loses the requests that it
/// does not need, instants are joined, and each moves to the roundest time that still shows the
/// finding. Sends at most the request's budget for each, none after an interrupt, and adds what it
/// sends to `asked`.
[[nodiscard]] SearchResult shrunk_result(Trial& trial, const SearchRequest& request,
                                         const SearchResult& forward,
                                         const SearchResult& stepping_back,
                                         const Interrupt& interrupt);

}  // namespace rlctl::adversary
