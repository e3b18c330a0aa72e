#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ldb/locals.h"
#include "ldb/probes.h"
#include "ldb/session.h"
#include "ldb/walk.h"

namespace rlctl::ldb {

/// What one line did, from the stop at it to the next stop.
struct TracedLine {
  std::int64_t number = 0;  ///< from 1
  int line = 0;             ///< of the source
  std::vector<Call> calls = {};
  std::vector<ScriptMessage> messages = {};
  std::vector<LocalChange> changed = {};
};

/// Lines after which a script is cut off, unless the user chooses another number, and the most that
/// can be chosen.
inline constexpr std::int64_t kDefaultSteps = 100'000, kMaxSteps = 1'000'000'000;

struct TraceOptions {
  std::int64_t max_steps = kDefaultSteps;
  /// After `max_steps`, let the script run on to its end without stops (kSync; a forked script
  /// never runs on); otherwise end it with an error, keeping what it has written until then.
  bool lets_go = false;
  std::optional<std::chrono::microseconds> now = {};  ///< see ProbeOptions
  Session::Limits limits = {};
};

/// Runs a script line by line to its end, and reports what each line did, one line late. Tries
/// probes first, then wrapped, then unmodified (if it has too many locals for them, or is too long
/// for a forked session). What the last line does to variables is not known. Throws redis::Error:
/// what `connect` throws, and what Session::start() does.
TraceResult trace(const Debuggee& debuggee, Mode mode, const Connect& connect,
                  const TraceOptions& options,
                  const std::function<void(const TracedLine&)>& on_line);

}  // namespace rlctl::ldb
