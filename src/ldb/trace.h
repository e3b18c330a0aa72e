#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ldb/locals.h"
#include "ldb/probes.h"
#include "ldb/session.h"
#include "ldb/walk.h"

// A run of a script, line by line: its calls, its messages, and the variables that it changed. For
// rlctl debug with --trace, --json or --coverage (cli/commands/debug/session.cc). See Debugger for
// a run that the user steps through.

namespace rlctl::ldb {

/// What one line did, from the stop at it to the next stop.
struct TracedLine {
  std::int64_t number = 0;  ///< from 1
  int line = 0;             ///< in the source
  std::vector<Call> calls = {};
  std::vector<ScriptMessage> messages = {};
  std::vector<LocalValue> changed = {};
};

struct TraceOptions {
  std::int64_t max_steps = 100'000;  ///< lines after which the script is cut off
  /// After `max_steps`, let the script run on to its end without stops (kSync; a forked script
  /// never runs on); otherwise end it with an error, keeping what it has written until then.
  bool detaches = false;
  std::optional<std::chrono::microseconds> now = {};  ///< see ProbeOptions
  Session::Limits limits = {};
};

/// Runs a script line by line to its end, with probes if it has room for them (see begin_walk()),
/// and reports what each line did, one line late. What the last line does to variables is not
/// known. Throws redis::Error: what `connect` throws, and what Session::start() does.
TraceResult trace(const Debuggee& debuggee, Mode mode, const Connect& connect,
                  const TraceOptions& options,
                  const std::function<void(const TracedLine&)>& on_line);

}  // namespace rlctl::ldb
