#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lint/findings.h"

namespace rlctl::lint {

/// A comment in a script by which its author accepts findings of one kind:
///
///     -- rlctl: allow no-ttl because a job removes these keys each night
///
/// It excuses findings in the next line of code. Before the first line of code, it also excuses
/// findings without a line.
struct Excuse {
  int line = 0;             ///< of the comment
  int first = 0, last = 0;  ///< the lines whose findings it excuses; a finding without one has 0
  FindingKind kind = {};
  std::string reason = {};  ///< never empty
};

/// The excuses in a script. Other words than "allow" after "-- rlctl:" are left to others. Throws
/// InputError, which names the script, for an unknown kind and if the reason is missing.
std::vector<Excuse> read_excuses(std::string_view source, std::string_view script);

/// Marks the findings that are excused. An excuse that meets none becomes a finding itself, unless
/// its kind was not looked for.
void apply_excuses(const std::vector<Excuse>& excuses, std::vector<Finding>& findings,
                   const std::function<bool(const FindingKind&)>& is_looked_for);

}  // namespace rlctl::lint
