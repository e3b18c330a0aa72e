#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace rlctl::redis {

/// Why talking to a server failed. The classes are those a caller acts on differently; an error of
/// the server is put into one of them by its code (the first word), never by its sentence, since
/// sentences differ from version to version.
enum class Failure {
  kUsage,        ///< a URL, option or number that cannot mean anything
  kUnsupported,  ///< understood, but this build cannot do it (yet)
  kUnreachable,  ///< no connection, or it broke
  kTimeout,      ///< no connection or no answer within the time-out
  kNotNow,       ///< the server is not ready (LOADING, BUSY, MASTERDOWN, CLUSTERDOWN, TRYAGAIN)
  kRefused,      ///< the server refuses this user (NOAUTH, WRONGPASS, NOPERM, also inside a script)
  kRejected,  ///< the server or the script refuses the command (WRONGTYPE, READONLY, OOM, ERR ...)
  kProtocol,  ///< what came back is not RESP
};

/// The one exception of this library. what() is one line for a person, lower case, without a
/// password in it; code() is the server's first word ("WRONGTYPE"), empty if no server spoke.
class Error : public std::runtime_error {
 public:
  Error(Failure failure, const std::string& message, std::string code = {}, std::string hint = {})
      : std::runtime_error(message),
        failure_(failure),
        code_(std::move(code)),
        hint_(std::move(hint)) {}

  [[nodiscard]] Failure failure() const noexcept { return failure_; }
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  /// What the user can do about it; may be empty.
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  Failure failure_;
  std::string code_;
  std::string hint_;
};

/// Hints of errors that leave it open what was done: of a connection that broke, or whose AUTH was
/// refused, and of one whose SELECT was refused. A caller that only read does not show them.
inline constexpr const char* kMayHaveRun = "what was sent may have been executed";
inline constexpr const char* kMayHaveRunElsewhere =
    "what was sent after it may have been executed in database 0";

}  // namespace rlctl::redis
