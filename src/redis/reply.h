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

/// One reply of a server, as parsed by hiredis. A ReplyView refers to the Reply that owns it.
class ReplyView {
 public:
  explicit ReplyView(const redisReply* reply) : reply_(reply) {}

  [[nodiscard]] ReplyType type() const;
  [[nodiscard]] bool is_error() const { return type() == ReplyType::kError; }
  [[nodiscard]] bool is_nil() const { return type() == ReplyType::kNil; }
  /// For kString, kStatus and kError; otherwise empty.
  [[nodiscard]] std::string_view text() const;
  /// For kInteger; otherwise 0.
  [[nodiscard]] std::int64_t integer() const;
  /// For kArray; otherwise 0.
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

/// The first word of an error reply ("WRONGTYPE"), or empty. If a script failed, older servers put
/// the inner error after "ERR Error running script (call to f_...): @user_script:N: ", and EXEC
/// puts it after "EXECABORT Transaction discarded because of: " ("NOPERM ..."); the inner code is
/// then returned.
[[nodiscard]] std::string_view error_code(std::string_view error_text);

/// The script line that raised an error, in the notation of any version: "@user_script:12",
/// "@user_script: 12", "user_script:12: ...". None if the script returned the error, or if no
/// script ran.
[[nodiscard]] std::optional<int> script_line(std::string_view error_text);

/// The class of an error reply. An ACL denial inside a script, which arrives as ERR ("The user
/// executing the script can't run this command", "ACL failure in script"), is kRefused.
[[nodiscard]] Failure classify_error(std::string_view error_text);

/// An error reply as an exception: what() is the server's text without an uninformative code (ERR)
/// and without the script's SHA1 and line at its end, with control bytes escaped.
[[nodiscard]] Error to_error(ReplyView error_reply);

}  // namespace rlctl::redis
