#pragma once

#include <optional>

#include "limiter/limit.h"
#include "limiter/state.h"

namespace rlctl::limiter {

struct EntryTimes {
  microseconds oldest, newest;
};

/// The window of a log that does not carry it, as its TTL and entries say it: the TTL was set when
/// the newest entry came or some time before, and was then longer than the window by what the form
/// says; every entry was within one window of the newest when that came. Of the windows that may
/// have been, the one that a person would have chosen. None where the form's TTL says nothing, and
/// where it may have been one window by the server's clock or another by a caller's, for which
/// the scripts make a TTL an hour longer.
[[nodiscard]] std::optional<microseconds> infer_window(const StateForm& form,
                                                       const EntryTimes& entries,
                                                       microseconds server_now, microseconds ttl);

}  // namespace rlctl::limiter
