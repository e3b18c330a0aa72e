#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adversary/difference.h"
#include "base/json.h"
#include "cli/commands/burst/data.h"
#include "cli/commands/burst/server.h"
#include "cli/terminal/table.h"
#include "traffic/traffic.h"

namespace rlctl::cli::burst {

/// Compares the decisions of two runs under the same traffic.
class DecisionComparison {
 public:
  /// Adds a decision of a run, in order; the second run begins with start_second().
  void add(const traffic::Arrival& arrival, bool allowed);
  void start_second() { is_second_ = true; }
  [[nodiscard]] const std::optional<FoundDifference>& found() const { return found_; }

 private:
  std::vector<bool> first_;  ///< what the first run allowed
  std::size_t next_ = 0;     ///< of the second run
  bool is_second_ = false;
  std::optional<FoundDifference> found_;
};

/// Shrinks a difference: `traffic` is the same again, from its beginning. `server`: null with
/// --model. `keeps_on` may end the shrinking early.
void shrink_difference(FoundDifference& found, const Plan& plan, traffic::Traffic& traffic,
                       Server* server, const adversary::KeepsShrinking& keeps_on);

/// "first at request 31 (key 'a'): fixed-window allows it, gcra denies it"
[[nodiscard]] std::string difference_text(const Plan& plan, const FoundDifference& found);
/// What `--against` found, as a part of the report.
void append_difference_text(std::string& out, const Plan& plan,
                            const std::optional<FoundDifference>& found, std::int64_t requests,
                            const Look& look);
/// The value of a JSON field.
void write_difference(JsonWriter& json, const Plan& plan,
                      const std::optional<FoundDifference>& found);

}  // namespace rlctl::cli::burst
