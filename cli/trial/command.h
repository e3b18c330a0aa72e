#pragma once

#include <string>

#include "cli/app/command.h"
#include "cli/trial/report.h"

// How a plan becomes a report on standard output and in files.

namespace rlctl::cli::trial {

/// Declares --assert, --output and --quiet.
void add_report(Options& options, Plan& plan);

/// The lines of a .jsonl file, which is written while limiters are asked.
class Lines {
 public:
  virtual ~Lines() = default;
  /// Null if no file has them.
  virtual std::string* buffer() = 0;
  /// Writes what is in the buffer, if that is much.
  virtual void flush() = 0;
};

/// What burst and adversary do differently.
struct Kind {
  /// Sets what follows from the options. Throws UsageError.
  void (*complete)(Plan& plan, const Invocation& invocation);
  /// Reads what the traffic needs; null if it needs nothing.
  void (*read)(Report& report, const Invocation& invocation);
  /// Asks the limiters, and adds the runs; after an error or Ctrl-C the report has those so far.
  void (*run)(Report& report, Invocation& invocation, Lines& lines);
  /// A report for people: the traffic and the limits, what each limiter did, and the command that
  /// repeats the run.
  void (*append_text)(std::string& out, const Report& report, const Look& look);
  /// One JSON object and a line end. Unknown values are null.
  void (*append_json)(std::string& out, const Report& report);
  /// A log of requests; null if there is none.
  std::string (*log)(const Report& report);
};

/// Runs what the options say, writes the report, and checks the assertions.
ExitStatus run_command(Plan& plan, Invocation& invocation, const Kind& kind);

}  // namespace rlctl::cli::trial
