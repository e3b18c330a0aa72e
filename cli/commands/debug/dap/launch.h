#pragma once

#include <string>
#include <vector>

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/plan.h"
#include "cli/server/connection.h"

namespace rlctl::cli::debug::dap {

/// What a launch or attach request asks for, as the operands and options of the command line would.
struct Launch {
  Plan plan = {};
  std::vector<std::string> operands = {};
  ConnectionOptions connection = {};
  bool stops_on_entry = false;
};

/// Adds what `arguments` name to the options that rlctl was started with. Throws UsageError.
Launch read_launch(const Json& arguments, const Plan& given, const ConnectionOptions& connection);

}  // namespace rlctl::cli::debug::dap
