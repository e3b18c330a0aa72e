#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_object.h"
#include "base/text.h"

namespace rlctl::cli {

/// The exit statuses, a stable interface that rlctl(1) documents. After a signal, the process ends
/// with that signal, so that a shell sees 128+n.
enum class ExitStatus : int {
  kDone = 0,         ///< allowed, found, done
  kDenied = 1,       ///< denied, not found, an assertion failed
  kUsage = 2,        ///< wrong usage, configuration or input; output cannot be written
  kUnreachable = 3,  ///< no server, no answer in time, or the server is not ready
  kRefused = 4,      ///< the server refuses this user
  kRejected = 5,     ///< the server or the script failed
};

/// The states of the Monitoring Plugins guidelines; the values are the exit statuses of the
/// commands that judge: quota, audit, lint and doctor.
enum class PluginState { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 };

constexpr ExitStatus to_status(PluginState state) noexcept {
  return static_cast<ExitStatus>(state);
}

// Texts for Command::statuses of those that report findings.
inline constexpr std::string_view kStatusWarning =
    "WARNING: memory is wasted, or something is at risk";
inline constexpr std::string_view kStatusCritical = "CRITICAL: somebody is locked out, or let in";

/// A failure as it is reported. The texts are raw; render() escapes them.
struct Problem {
  ExitStatus status = ExitStatus::kUsage;
  std::string code = {};  ///< a stable word such as usage, or the server's code: WRONGTYPE
  std::string message = {};
  std::string hint = {};      ///< what to do about it; may be empty
  bool of_command = true;     ///< the message starts with the command's name
  bool usage_advice = false;  ///< add "Try 'rlctl ... --help'."
  std::string help_of = {};   ///< the command in it: "scripts load"; empty: the one that reports
  std::string server = {};    ///< the server's name where the message contains it
  std::optional<std::int64_t> units = {};  ///< of the reservation that stands, as in the message

  bool operator==(const Problem&) const = default;
};

/// An exception that carries a Problem to main().
class ProblemError : public std::runtime_error {
 public:
  explicit ProblemError(Problem problem)
      : std::runtime_error(problem.message), problem_(std::move(problem)) {}
  const Problem& problem() const noexcept { return problem_; }

 private:
  Problem problem_;
};

/// Converts an exception to a Problem; the only place that chooses exit statuses for exceptions.
/// An error of a server that the user named gets that name and a hint at what to do about it; on a
/// replica, this asks the server once where its master is.
Problem describe(const std::exception& error);

/// The ACL rule for a command: "+evalsha", "+script|load".
std::string rule_for(std::string_view command);
/// "ACL SETUSER ann +evalsha '+script|load'", quoted for a shell. An empty user is the default one.
std::string acl_command(const std::string& user, const std::vector<std::string>& rules);

/// Whether a server's message says that the user may not access a key, not that a command is
/// refused.
bool refuses_key(std::string_view message);
/// Whether it says that the user may not call a command of a script, which has begun.
bool refuses_in_script(std::string_view message);

/// Removes the hint that the request may have been executed: for commands that only read, and for
/// messages that already include it.
Problem drop_in_doubt_note(Problem problem);

/// The text for stderr, with line ends: lines, or one JSON object. Masks all passwords in URLs,
/// except in the server's name, which has none.
std::string render(const Problem& problem, std::string_view command, bool json);

/// "error" and "failure" in common.schema.json: a problem as a field, and as a line of output.
extern const JsonObject<Problem> kErrorJson, kFailureJson;

/// Writes a warning or a note to stderr, escaped.
void warn(const std::string& message, std::string_view command);

/// "rlctl inspect login:alice shows what it holds": a command to copy into a shell, unless quotes
/// are not enough for the key.
std::string inspect_hint(std::string_view key);

}  // namespace rlctl::cli
