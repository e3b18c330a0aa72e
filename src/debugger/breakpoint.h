#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lua/value.h"

// A breakpoint of Debugger: where it is, and what it does when the script comes there.

namespace rlctl::debugger {

/// Which hits of a breakpoint count: the 5th and later, every 3rd.
class HitCondition {
 public:
  /// Parses ">=5" or "5", ">5", "==5", "=5", "<5", "<=5" or "%5" (every 5th). Throws UsageError.
  explicit HitCondition(std::string_view text);

  /// `hit` is the number of the hit, from 1.
  bool accepts(std::int64_t hit) const;

  bool operator==(const HitCondition&) const = default;

 private:
  std::string sign_;
  std::int64_t number_ = 0;
};

/// A text to write, with expressions in braces: "i is {i}".
class LogMessage {
 public:
  /// Throws UsageError for a brace without its end, and for braces with nothing in them.
  explicit LogMessage(std::string_view text);

  const std::vector<std::string>& expressions() const noexcept { return expressions_; }
  /// The text with these values in place of the expressions, not escaped.
  std::string text(const std::vector<lua::Value>& values) const;

  bool operator==(const LogMessage&) const = default;

 private:
  std::vector<std::string> texts_;  ///< before each expression, and after the last
  std::vector<std::string> expressions_;
};

struct Breakpoint {
  int line = 0;  ///< in the source
  std::string condition =
      {};  ///< an expression; if empty, each time that the line is reached is a hit
  std::optional<HitCondition> hit_condition = {};  ///< if not set, all hits count
  std::optional<LogMessage> message = {};          ///< written instead of a stop
  std::int64_t hits = 0;                           ///< in this run
};

}  // namespace rlctl::debugger
