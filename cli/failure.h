#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli {

/// The exit statuses, on which scripts may rely; rlctl(1) lists them. After a signal the process
/// ends by the signal itself, so that a shell sees 128+n.
enum class ExitStatus : int {
  kDone = 0,         ///< allowed, found, done
  kDenied = 1,       ///< denied, not found, an assertion failed
  kUsage = 2,        ///< wrong usage, configuration or input; output that cannot be written
  kUnreachable = 3,  ///< no server, no answer in time, or the server is not ready
  kRefused = 4,      ///< the server refuses this user
  kRejected = 5,     ///< the server or the script failed
};

/// Everything that is shown of a failure. The texts are raw; render() escapes them.
struct Problem {
  ExitStatus status = ExitStatus::kUsage;
  std::string code = {};  ///< a stable word: usage, unreachable, ... or the server's own, WRONGTYPE
  std::string message = {};
  std::string hint = {};      ///< what to do about it; may be empty
  bool of_command = true;     ///< the command's name comes before the message
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

/// Removes the hint that what was sent may have been executed: for commands that only read, and for
/// messages that say themselves what is in doubt.
[[nodiscard]] Problem without_doubt(Problem problem);

/// The text for stderr, line ends included: lines, or one JSON object. Passwords in URLs are
/// masked, wherever the message came from.
[[nodiscard]] std::string render(const Problem& problem, std::string_view command, bool json);

/// {"code":...,"message":...,"hint":...}
void append_problem_json(std::string& out, const Problem& problem);

/// Writes a warning, or a note about what comes next, to stderr; escaped.
void warn(const std::string& message, std::string_view command);

/// "rlctl inspect login:alice shows what it holds": a command to be copied into a shell, unless the
/// key would need more than quotes there.
[[nodiscard]] std::string inspect_hint(std::string_view key);

}  // namespace rlctl::cli
