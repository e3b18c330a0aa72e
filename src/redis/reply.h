#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/error.h"

struct redisReader;

// Replies of a server: a Link parses them with a ReplyReader, which is hiredis's parser; the
// code that sent a command gets a Reply. An error in a reply becomes an exception only where a
// caller makes one of it with to_error(), since an error may be an answer, such as NOSCRIPT.

namespace rlctl::redis {

enum class ReplyType { kString, kStatus, kInteger, kNil, kError, kArray };

/// A reply as it was parsed, or an element of it; read it through a ReplyView.
struct ReplyNode {
  ReplyType type = ReplyType::kNil;
  std::int64_t integer = 0;
  std::string text = {};
  std::vector<ReplyNode> elements = {};
};
struct ReplyProgress;
struct ReplyRoot;

// ---- Replies ----

/// One reply of a server, or an element of it. A ReplyView refers to the Reply that owns it.
class ReplyView {
 public:
  ReplyType type() const { return node_->type; }
  bool is_error() const { return type() == ReplyType::kError; }
  bool is_nil() const { return type() == ReplyType::kNil; }
  /// For kString, kStatus and kError; otherwise empty.
  std::string_view text() const { return node_->text; }
  /// For kInteger; otherwise 0.
  std::int64_t integer() const { return node_->integer; }
  /// For kArray; otherwise 0.
  std::size_t size() const { return node_->elements.size(); }
  ReplyView operator[](std::size_t index) const;

 protected:
  ReplyView(const ReplyNode* node, const ReplyRoot* root) : node_(node), root_(root) {}

 private:
  friend Error error_about(ReplyView reply, const Error& error);
  friend const Error* failure_of(ReplyView reply);
  friend class Reply;

  const ReplyNode* node_;
  const ReplyRoot* root_;  ///< the whole reply
};

class Reply : public ReplyView {
 public:
  /// Takes ownership.
  explicit Reply(ReplyRoot* root);
  /// The answer to a command of which no server's reply is known: to_error() returns `error`.
  static Reply failed(const Error& error);
  /// Without what an error about it would name.
  static Reply copy_of(ReplyView reply);
  /// Sets the server and the command that an error of this reply names.
  void set_origin(std::shared_ptr<const Endpoint> server, std::string command);

 private:
  struct Free {
    void operator()(ReplyRoot* root) const noexcept;
  };
  std::unique_ptr<ReplyRoot, Free> owned_;
};

// ---- The parser ----

/// What a command's reply may be.
enum class ReplyKind {
  kAny,       ///< a value may be as large as a server allows
  kDecision,  ///< a few numbers and words
  kDebugger   ///< a session of the script debugger, which prints values on one line each
};

/// The most that one reply may have.
struct ReplyBounds {
  std::size_t bytes = std::size_t{1} << 30;  ///< a server's largest value has half of them
  std::size_t elements = 1'000'000;          ///< those of nested arrays included
  std::size_t line = std::size_t{1} << 20;   ///< bytes of a status, an error or a number
};
ReplyBounds bounds_of(ReplyKind kind);

/// A reply that exceeds a bound: what() is a predicate, "has more than 1000000 elements".
class ReplyTooLarge : public Error {
 public:
  explicit ReplyTooLarge(const std::string& what) : Error(Failure::kProtocol, what) {}
};

/// Parses a stream of RESP2 replies. Its memory grows with the bytes that came, not with the
/// lengths that they claim.
class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  /// Adds bytes that came: a few KiB at a time, since hiredis moves all that it has not parsed
  /// after each KiB that it has. Throws std::bad_alloc.
  void feed(std::string_view bytes);
  /// The next reply; std::nullopt if it is not complete. Throws Error(kProtocol) if the bytes are
  /// not RESP2, ReplyTooLarge, and std::bad_alloc.
  std::optional<Reply> next(const ReplyBounds& bounds = {});
  /// The number of bytes that were fed and are not parsed yet.
  std::size_t unparsed() const noexcept;

 private:
  struct Free {
    void operator()(redisReader* reader) const noexcept;
  };
  std::unique_ptr<ReplyProgress> progress_;
  std::unique_ptr<redisReader, Free> reader_;
};

// ---- What a reply says ----

/// The first word of an error reply ("WRONGTYPE"), or empty. If a script failed, older servers put
/// the inner error after "ERR Error running script (call to f_...): @user_script:N: ", and EXEC
/// puts it after "EXECABORT Transaction discarded because of: " ("NOPERM ..."); the inner code is
/// then returned.
std::string_view error_code(std::string_view error_text);

/// Throws unless the reply has this type: to_error() for an error reply, otherwise
/// Error(kProtocol), since nothing can be concluded from a reply of another type.
void require_type(ReplyView reply, ReplyType type);
/// integer() of a reply that must be one.
std::int64_t number_in(ReplyView reply);

/// Whether the server does not have the script of an EVALSHA, and so has executed nothing. A script
/// may reply NOSCRIPT, too, with other words.
bool is_unknown_script(ReplyView reply);

/// The script line that raised an error, in the notation of any version: "@user_script:12",
/// "@user_script: 12", "user_script:12: ...". std::nullopt if the script returned the error, or if
/// no script ran.
std::optional<int> script_line(std::string_view error_text);

/// The value of a field in a reply to HELLO, a list of names and values; empty if there is none.
/// Valid as long as the reply.
std::string_view hello_field(ReplyView hello, std::string_view name);

/// Whether this is what a server sends, without reading anything, before it closes a new
/// connection: it has too many clients, or is in protected mode. Other replies may have the same
/// words.
bool refuses_connection(ReplyView first_reply);

// ---- Replies as exceptions ----

/// The error with the server and the command of the reply.
Error error_about(ReplyView reply, const Error& error);

/// The error that Reply::failed() was given; null for a server's reply. Lives as long as the reply.
const Error* failure_of(ReplyView reply);
/// Throws failure_of(), if there is one: for a caller to whom other error replies are refusals.
void throw_failure_of(ReplyView reply);

/// An error reply as an exception: what() is the server's text without an uninformative code (ERR)
/// and without the script's SHA1 and line at its end, with control bytes escaped. Its server and
/// command are those of the reply's origin. An ACL denial inside a script, which arrives as ERR
/// ("The user executing the script can't run this command", "ACL failure in script"), is kRefused.
Error to_error(ReplyView error_reply);
/// to_error() for a call of this script. If an ACL refused a command within it and the server does
/// not name the command, as up to Redis 7.0, names it from the line that raised the error; without
/// a line, it is the first command that the script calls with pcall, whose error it has returned.
Error to_error(ReplyView error_reply, std::string_view script);

}  // namespace rlctl::redis
