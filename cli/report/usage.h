#pragma once

#include <optional>
#include <string_view>

#include "base/json_object.h"
#include "cli/terminal/terminal.h"
#include "stored/inspection.h"

// How all commands show how much of a limit is used.

namespace rlctl::cli::report {

/// How much of a limit is used.
struct UsageFigures {
  const stored::Usage& usage;
  std::optional<double> ratio;  ///< stored::Inspection::ratio()
};
/// The fields for this, which are the same in all commands.
extern const JsonObject<UsageFigures> kUsageJson;

/// The tone of a ratio: `low` unless most of the limit is used.
Tone tone_of_use(std::optional<double> ratio, Tone low);

/// What --read-as can tell about keys of a type: "--read-as times or --read-as leases"; empty if
/// nothing.
std::string_view readings_of(std::string_view type);

}  // namespace rlctl::cli::report
