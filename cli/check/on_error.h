#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/failure.h"

namespace rlctl::cli {

/// --on-error: what counts as the answer where none can be had.
class OnError {
 public:
  OnError() = default;
  /// "fail", "allow" or "deny". Throws UsageError.
  explicit OnError(const std::string& text);

  /// True where the user chose an answer for this failure: the server's and the network's, never
  /// wrong usage or a signal.
  [[nodiscard]] bool covers(const Problem& problem) const noexcept;
  /// The answer chosen. Only where covers().
  [[nodiscard]] bool allows() const noexcept { return answer_.value_or(false); }

  /// The warning that takes the place of the error.
  [[nodiscard]] std::string warning(const Problem& problem, std::string_view command) const;

 private:
  std::optional<bool> answer_;  ///< none: fail
};

}  // namespace rlctl::cli
