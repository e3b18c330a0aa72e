#pragma once

#include <optional>

#include "stored/forms.h"

namespace rlctl::stored {

struct EntryTimes {
  microseconds oldest, newest;
};

/// The window of a log that does not store it, inferred from its TTL and entries. The TTL was set
/// when the newest entry was added or earlier, and exceeded the window by what the form defines;
/// all entries were within one window of the newest when it was added. Of the possible windows,
/// returns the one that a person would most likely choose. Returns nothing if the form's TTL does
/// not depend on the window, or if one window by the server's clock and another by a caller's, for
/// which the scripts make the TTL an hour longer, are equally likely.
std::optional<microseconds> infer_window(const Form& form, const EntryTimes& entries,
                                         microseconds server_now, microseconds ttl);

/// The window that infer_window() finds, if it is longer than `window`, with which neither the TTL
/// nor the entries can be explained: someone else limits by this key, or `window` is a wrong guess.
std::optional<microseconds> longer_window(const Form& form, const EntryTimes& entries,
                                          microseconds server_now, microseconds ttl,
                                          microseconds window);

}  // namespace rlctl::stored
