#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"
#include "ldb/trace.h"
#include "traffic/script.h"

namespace rlctl::cli::lint {

struct Plan {
  std::vector<std::string> limits = {};  ///< as typed: --burst belongs to them
  std::optional<std::string> burst = {};
  std::int64_t max_steps = ldb::kDefaultSteps;  ///< lines that a request may execute
  ScriptOptions script = {};
};

void declare_options(Options& options, Plan& plan);

/// A script to examine, and how to call it.
struct Subject {
  std::string place = {};   ///< its file as typed, in front of a line number
  std::string source = {};  ///< as its author wrote it, with the lines that are reported
  /// The source as the debugger runs it: a library of functions becomes a script.
  std::string runnable = {};
  traffic::Candidate candidate = {};
  std::int64_t max_steps = 0;  ///< see Plan
  std::string adversary = {};  ///< the command that searches for the worst schedule
};

/// The scripts of the operands and of --script, read. Throws UsageError, and what reading the
/// configuration throws, before a server is started.
[[nodiscard]] std::vector<Subject> make_subjects(const Plan& plan, const Invocation& invocation);

}  // namespace rlctl::cli::lint
