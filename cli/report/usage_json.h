#pragma once

#include <optional>

#include "base/json_object.h"
#include "stored/inspection.h"

namespace rlctl::cli::report {

/// How much of a limit is used.
struct UsageFigures {
  const stored::Usage& usage;
  std::optional<double> ratio;  ///< stored::Inspection::ratio()
};
/// The fields for this, which are the same in all commands.
extern const JsonObject<UsageFigures> kUsageJson;

}  // namespace rlctl::cli::report
