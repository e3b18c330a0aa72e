#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "redis/error.h"

struct redisReply;

namespace rlctl::redis {

enum class ReplyType { kString, kStatus, kInteger, kNil, kError, kArray };

/// One reply of a server, as hiredis parsed it. A ReplyView looks into the Reply that owns it.
class ReplyView {
 public:
  explicit ReplyView(const redisReply* reply) : reply_(reply) {}

  [[nodiscard]] ReplyType type() const;
  [[nodiscard]] bool is_error() const { return type() == ReplyType::kError; }
  [[nodiscard]] bool is_nil() const { return type() == ReplyType::kNil; }
  /// Of kString, kStatus and kError; else empty.
  [[nodiscard]] std::string_view text() const;
  /// Of kInteger; else 0.
  [[nodiscard]] std::int64_t integer() const;
  /// Of kArray; else 0.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] ReplyView operator[](std::size_t index) const;

 private:
  const redisReply* reply_;
};

class Reply : public ReplyView {
 public:
  /// Takes ownership.
  explicit Reply(redisReply* reply) : ReplyView(reply), owned_(reply) {}

 private:
  struct Free {
    void operator()(redisReply* reply) const noexcept;
  };
  std::unique_ptr<redisReply, Free> owned_;
};

/// The first word of an error reply ("WRONGTYPE"), or empty. Where a script failed, older servers
/// put the inner error after "ERR Error running script (call to f_...): @user_script:N: "; the
/// inner code is the one returned; so it is where EXEC itself was refused ("EXECABORT Transaction
/// discarded because of: NOPERM ...").
[[nodiscard]] std::string_view error_code(std::string_view error_text);

/// The line of the script at which an error was raised, as the reply says it in the words of each
/// version: "@user_script:12", "@user_script: 12", "user_script:12: ...". None if the script
/// returned the error, or where no script ran.
[[nodiscard]] std::optional<int> script_line(std::string_view error_text);

/// Which class an error reply belongs to. A denial by an ACL inside a script, which comes as ERR
/// ("The user executing the script can't run this command", "ACL failure in script"), is kRefused.
[[nodiscard]] Failure classify_error(std::string_view error_text);

/// The error reply as an exception: what() is the server's text without its code where that says
/// nothing (ERR), without the script's SHA1 and line after it, control bytes escaped.
[[nodiscard]] Error to_error(ReplyView error_reply);

}  // namespace rlctl::redis
