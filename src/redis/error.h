#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"

// What goes wrong between rlctl and a server. redis/ throws Error, or returns an error reply,
// which to_error() of redis/reply.h makes an Error of. cli/errors/failure.cc says what each class
// means and which exit status it has; retries and fallbacks elsewhere depend on failure() and
// code().

namespace rlctl::redis {

/// Why talking to a server failed. Each class is one that callers handle differently. A server
/// error is classified by its code (the first word), never by its text, which differs between
/// versions.
enum class Failure {
  kUsage,        ///< an invalid URL, option or number
  kUnsupported,  ///< a key cannot be copied: the server does not understand its dump
  kUnreachable,  ///< no connection, or it broke
  kTimeout,      ///< no connection or no answer within the timeout
  kNotNow,       ///< the server is not ready (LOADING, BUSY, MASTERDOWN, CLUSTERDOWN, TRYAGAIN,
                 ///< ASK) or has too many clients
  kNotSent,      ///< the one server of several that has the keys cannot be reached
  kRefused,      ///< the server refuses this user (NOAUTH, WRONGPASS, NOPERM, also inside a script)
  kRejected,  ///< the server or the script refuses the command (WRONGTYPE, READONLY, OOM, ERR ...)
  kProtocol,  ///< the reply is not RESP, not one to the command, or names a forbidden address
};

struct Endpoint;

/// What this library throws, besides Interrupted, InputError for a file of TLS, and
/// std::system_error if the system refuses what a connection needs, such as a file descriptor.
/// what() is one line for people, in lower case, without passwords; code() is the server's first
/// word ("WRONGTYPE"), kTlsCode if TLS failed, and else empty.
class [[nodiscard]] Error : public std::runtime_error {
 public:
  Error(Failure failure, const std::string& message, std::string code = {}, std::string hint = {})
      : std::runtime_error(without_nul(message)),
        failure_(failure),
        code_(std::move(code)),
        hint_(std::move(hint)) {}

  Failure failure() const noexcept { return failure_; }
  const std::string& code() const noexcept { return code_; }
  /// What the user can do about it; may be empty.
  const std::string& hint() const noexcept { return hint_; }

  /// A copy of the error with its origin.
  Error from(std::shared_ptr<const Endpoint> server, std::string command = {}) const {
    Error error = *this;
    error.server_ = std::move(server);
    error.command_ = std::move(command);
    return error;
  }
  /// The server that failed or refused; null if it is private to this process or not known.
  const std::shared_ptr<const Endpoint>& server() const noexcept { return server_; }
  /// The command that the server refused: "EVALSHA", "SCRIPT LOAD"; empty if not known.
  const std::string& command() const noexcept { return command_; }

 private:
  Failure failure_;
  std::string code_;
  std::string hint_;
  std::shared_ptr<const Endpoint> server_;
  std::string command_;
};

/// The code() of an error if TLS failed, also in a later read: the server has executed nothing.
inline constexpr const char* kTlsCode = "tls";
/// The hint of errors after which it is unknown what was executed, because the connection broke. A
/// caller that only read does not show it.
inline constexpr const char* kMayHaveRun = "what was sent may have been executed";
/// The hint if a server hangs up without an answer, as one that expects TLS does.
inline constexpr const char* kUseTls = "use rediss:// if the server expects TLS at that port";

}  // namespace rlctl::redis
