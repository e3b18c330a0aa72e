#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json_object.h"
#include "cli/commands/quota/range.h"
#include "cli/errors/failure.h"
#include "cli/terminal/terminal.h"
#include "stored/inspection.h"

namespace rlctl::cli::quota {

/// When to alert.
struct Thresholds {
  Range warning, critical;
};

/// A limit, how much of it is used, and what that means.
struct LimitStatus {
  stored::Inspection inspection = {};  ///< only its key, if it could not be read
  std::string policy = {};             ///< to which the key belongs, if to one
  std::string algorithm = {};          ///< that wrote the key or, if it does not exist, would
  std::string series_algorithm = {};   ///< the same for metrics: does not depend on the key's state
                                       ///< if the limit does not
  std::size_t operand = 0;             ///< the index of the KEY to which the key belongs
  bool is_only_operand = false;        ///< the key is the only KEY
  PluginState state = PluginState::kUnknown;
  std::optional<Problem> problem = {};  ///< why the state is unknown
  bool was_read = true;
};

/// "OK", "WARNING", "CRITICAL" or "UNKNOWN".
std::string_view name_of(PluginState state);

/// The limit with the worst state, of which OK is the best, then UNKNOWN, WARNING, CRITICAL; of
/// several, the fullest. Requires at least one.
const LimitStatus& worst_of(std::span<const LimitStatus> statuses);

/// Appends the first line, which names the worst limit and holds all performance data; for several
/// limits, then one line each, with `only_problems` without those that are OK. The labels of the
/// data have whole keys.
void append_text(std::string& out, std::span<const LimitStatus> statuses,
                 const Thresholds& thresholds, bool only_problems, const Look& look);
/// The same for a failure that leaves nothing to judge.
void append_failure_text(std::string& out, const Problem& problem);

extern const JsonOutput kJson;
/// Appends one JSON object and a line end. A failure leaves no statuses.
void append_json(std::string& out, std::span<const LimitStatus> statuses,
                 const std::optional<Problem>& failure = {});

/// The contents of the file for node_exporter's textfile collector, at the path that has those of
/// the last run. The keys of the first `keys_with_labels` operands have series of their own; each
/// of the other keys belongs to the series of its policy, algorithm and limit, which describes the
/// fullest of them. If no limit was read, they only say so, and when the last success was.
std::string metrics_text(const std::string& path, std::span<const LimitStatus> statuses,
                         std::size_t keys_with_labels);

}  // namespace rlctl::cli::quota
