#pragma once

#include "support/limiters.h"

namespace rlctl::test {

// What both exact logs must do, whatever type they are stored in.

void check_log_by_hand(const Algorithm& log);
void check_log_is_exact(const Algorithm& log);

}  // namespace rlctl::test
