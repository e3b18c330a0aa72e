#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/trial/report.h"
#include "cli/trial/wording.h"

// What a report says about leases and reservations.

namespace rlctl::cli::trial {

/// What the parts of leases or of reservations are called.
struct HolderWords {
  std::string_view unit;     ///< what the limit counts
  std::string_view request;  ///< what asks for it
  std::string_view end;      ///< what gives it back
  std::string_view hold;     ///< what lapses unless it is given back
  std::string_view used;     ///< units that count against the limit
};
/// The words for the plan's holders.
const HolderWords& holder_words(const Plan& plan);
/// "3 held at once, 1 more than the limit"
std::string exceeded_text(const Plan& plan, std::int64_t used);

/// "5 leases of 30 s"
std::string leases_text(const Plan& plan);
/// "held for 2 s on average, 1 % die, renewed"
std::string holds_text(const Plan& plan);
/// "100 reserved for 5 s, settled with 50 to 150 after 1 s on average, 1 % die"
std::string reservations_text(const Plan& plan);

/// Whether a limiter of leases or reservations exceeded the limit or lost anything; the run must be
/// of one.
Judgement judge_holders(const Report& report, const Run& run);

}  // namespace rlctl::cli::trial
