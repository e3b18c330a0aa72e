#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// The options of `rlctl lint` as typed.
struct LintOptions {
  std::vector<std::string> limits = {};
  std::optional<std::string> burst = {};
  std::optional<std::string> max_steps = {};
  ScriptOptions script = {};
};

void add_lint_options(Options& options, LintOptions& target);

/// A script to examine, and how to call it.
struct LintSubject {
  std::string place = {};   ///< its file as typed, in front of a line number
  std::string source = {};  ///< as its author wrote it, with the lines that are reported
  /// The same, as the debugger runs it: a library of functions becomes a script.
  std::string runnable = {};
  traffic::Candidate candidate = {};
  std::int64_t max_steps = 0;  ///< lines that a request may execute
  std::string adversary = {};  ///< the command that searches for the worst schedule
};

/// The scripts of the operands and of --script, read. Throws UsageError, and what reading the
/// configuration throws, before a server is started.
[[nodiscard]] std::vector<LintSubject> make_lint_subjects(const LintOptions& options,
                                                          const Invocation& invocation);

}  // namespace rlctl::cli
