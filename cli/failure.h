#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli {

/// What a script that calls rlctl may rely on; rlctl(1) has the list. A signal ends the process as
/// the signal itself does, so that a shell sees 128+n.
enum class ExitStatus : int {
  kDone = 0,         ///< allowed, found, done
  kDenied = 1,       ///< denied, not found, an assertion failed
  kUsage = 2,        ///< wrong usage, configuration or input; output that cannot be written
  kUnreachable = 3,  ///< no server, no answer in time, or "not now"
  kRefused = 4,      ///< the server says: not you
  kRejected = 5,     ///< the server or the script said no
};

/// Everything that is shown of a failure. The texts are raw: whoever prints them escapes them.
struct Problem {
  ExitStatus status = ExitStatus::kUsage;
  std::string code = {};  ///< a stable word: usage, unreachable, ... or the server's own, WRONGTYPE
  std::string message = {};
  std::string hint = {};      ///< what to do about it; may be empty
  bool of_command = true;     ///< the command's name stands before the message
  bool usage_advice = false;  ///< "Try 'rlctl ... --help'." helps

  bool operator==(const Problem&) const = default;
};

/// A Problem on its way to main().
class ProblemError : public std::runtime_error {
 public:
  explicit ProblemError(Problem problem)
      : std::runtime_error(problem.message), problem_(std::move(problem)) {}
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }

 private:
  Problem problem_;
};

/// The one place where exceptions become exit statuses.
[[nodiscard]] Problem describe(const std::exception& error);

/// Without the hint that what was sent may have been executed: where it was nothing but looks,
/// which leave no trace, or where the message says itself what is in doubt.
[[nodiscard]] Problem without_doubt(Problem problem);

/// As it stands on stderr, line ends included: text, or one JSON object. No password of a URL
/// stands in it, wherever the message came from.
[[nodiscard]] std::string render(const Problem& problem, std::string_view command, bool json);

/// {"code":...,"message":...,"hint":...}
void append_problem_json(std::string& out, const Problem& problem);

}  // namespace rlctl::cli
