#pragma once

#include "support/limiters.h"

namespace rlctl::test {

// What both exact logs must do, whatever type they are stored in.

void check_log_by_hand(const Algorithm& log);
void check_log_is_exact(const Algorithm& log);
/// Whatever is asked with a shorter window, a longer one never forgets its units, or at most 1.25
/// of the shorter window early.
void check_log_of_two_windows(const Algorithm& log);

}  // namespace rlctl::test
