#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/probes.h"
#include "ldb/trace.h"
#include "redis/reply.h"

namespace rlctl::ldb {

/// A call of our own, as the debugger would have told of it.
[[nodiscard]] Call call_of(const std::vector<std::string>& words, redis::ReplyView reply);

/// Puts together what is told of Redis calls between two stops: the shim's exact words, which come
/// first, and the debugger's <redis>, <reply> and <error>.
class CallLog {
 public:
  /// `tells_errors`: the server has an <error> for each reply that is one, as from Redis 7.0 on;
  /// else it is known by its looks, as strings are that begin with "-ERR ".
  explicit CallLog(bool tells_errors = true) : tells_errors_(tells_errors) {}

  /// An empty one of the same server's.
  [[nodiscard]] CallLog like() const { return CallLog(tells_errors_); }

  /// What the shim told; `answer` where the server will not be asked.
  void add_words(CallWords words, const std::optional<std::vector<std::string>>& answer);
  /// An item of the debugger's; what is of no call is left out.
  void add_item(std::string_view item);
  /// The debugger has said all that it will of what was called until now: what was told by its
  /// words alone was refused.
  void close();
  /// While it is silent the debugger tells nothing of its own, so that words are all there is.
  void set_silent(bool silent);
  /// The calls since it was last asked, in their order. Closes.
  [[nodiscard]] std::vector<Call> take();

 private:
  void begin(Call call);
  void add_reply(std::string_view reply);
  void add_error(std::string_view error);
  void refuse_pending();

  bool tells_errors_;
  bool is_silent_ = false;
  std::vector<Call> calls_;
  std::optional<CallWords> pending_;  ///< told, and nothing of it came yet
  bool is_open_ = false;              ///< the last call may still get a reply or an error
  bool has_error_item_ = false;       ///< the last call has
};

}  // namespace rlctl::ldb
