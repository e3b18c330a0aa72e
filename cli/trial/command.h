#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/app/command.h"
#include "cli/trial/document.h"
#include "cli/trial/report.h"

// How a plan becomes a report on standard output and in files.

namespace rlctl::cli::trial {

/// Declares --assert, --output and --quiet. `has_lines`: -o may write a .jsonl.
void add_report(Options& options, Plan& plan, bool has_lines);

/// Takes what a .jsonl file gets, whole lines; empty if no file gets any.
using WriteLines = std::function<void(std::string_view lines)>;

/// What burst and adversary do differently.
struct Kind {
  /// Sets what follows from the options. Throws UsageError.
  void (*complete)(Plan& plan, const Invocation& invocation);
  /// Reads what the traffic needs; null if it needs nothing.
  void (*read)(Report& report, const Invocation& invocation);
  /// Asks the limiters, and adds the runs; after an error or Ctrl-C the report has those so far.
  void (*run)(Report& report, Invocation& invocation, const WriteLines& write_lines);
  /// What people are told, in every format.
  Document (*make_document)(const Report& report);
  /// The JSON object. `with_events`: a file gets it, with the single requests and decisions.
  void (*write_json)(JsonWriter& json, const Report& report, bool with_events);
  /// A log of requests; null if there is none.
  std::string (*log)(const Report& report);
};

/// Runs what the options say, writes the report, and checks the assertions.
ExitStatus run_command(Plan& plan, Invocation& invocation, const Kind& kind);

}  // namespace rlctl::cli::trial
