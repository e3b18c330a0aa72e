#pragma once

#include "cli/options/options.h"
#include "cli/trial/limiters.h"
#include "cli/trial/plan.h"

// The options of `rlctl burst` about the holders of leases and of reservations: when they give back
// what they hold, settle or die.

namespace rlctl::cli::burst {

/// Declares when holders give back their leases, and die.
void add_holder_options(Options& options, trial::Plan& plan);
/// Declares when and with how much the holders of reservations settle.
void add_settle_options(Options& options, trial::Plan& plan);
/// Throws UsageError for options that do not fit holders, or that only fit them.
void require_holders(const trial::Plan& plan, const Options& options);
/// Sets what follows from the options; the limits are set.
void set_holders(trial::Plan& plan, const Options& options);
/// Limits the traffic of leases, if nothing is said about it: long enough for leases to end, and
/// not too much.
void limit_acquires(trial::Plan& plan);
/// Adds the values of options about holders.
void add_holders(trial::Resolved& values, const trial::Plan& plan);

}  // namespace rlctl::cli::burst
