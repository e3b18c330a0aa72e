#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/probe_reader.h"
#include "redis/reply.h"

namespace rlctl::ldb {

/// A Redis command that a script called.
struct Call {
  /// Its words. Without probes the debugger reports at most the first ten, joined into one text in
  /// which words may contain blanks: then this holds that one text, and `raw` is true.
  std::vector<std::string> words = {};
  bool raw = false;
  /// As the debugger writes it: 5, "abc", NULL, [1,"a"], "+OK". None if the call was refused before
  /// it was executed.
  std::optional<std::string> reply = {};
  std::optional<std::string> error = {};  ///< "WRONGTYPE Operation against ..."
  /// Its outcome is not known because the script ran freely; this never happens in a trace.
  bool is_silent = false;

  /// Whether it ended in an error or was refused.
  [[nodiscard]] bool failed() const { return error || (!reply && !is_silent); }
};

/// A call made by rlctl, in the form in which the debugger reports calls.
[[nodiscard]] Call call_of(const std::vector<std::string>& words, redis::ReplyView reply);

/// Collects the Redis calls between two stops from the shim's exact words, which come first, and
/// the debugger's <redis>, <reply> and <error>.
class CallLog {
 public:
  /// `tells_errors`: the server writes an <error> for each error reply, as since Redis 7.0;
  /// otherwise an error is recognized by its form, like a string that begins with "-ERR ".
  explicit CallLog(bool tells_errors = true) : tells_errors_(tells_errors) {}

  /// An empty log for the same server.
  [[nodiscard]] CallLog like() const { return CallLog(tells_errors_); }

  /// Takes the words that the shim reported; `answer` is set if the server will not be asked.
  void add_words(CallWords words, const std::optional<std::vector<std::string>>& answer);
  /// Takes an item of the debugger; items that belong to no call are ignored.
  void add_item(std::string_view item);
  /// All output about the calls so far has arrived: a call known only by its words was refused.
  void close();
  /// While silent, the debugger itself reports nothing, so only the shim's words are known.
  void set_silent(bool silent);
  /// Closes the log, then returns the calls since the previous take(), in order.
  [[nodiscard]] std::vector<Call> take();

 private:
  void begin(Call call);
  void add_reply(std::string_view reply);
  void add_error(std::string_view error);
  void refuse_pending();

  bool tells_errors_;
  bool is_silent_ = false;
  std::vector<Call> calls_;
  std::optional<CallWords> pending_;  ///< reported by the shim, without output so far
  bool is_open_ = false;              ///< the last call may still get a reply or an error
  bool has_error_item_ = false;       ///< the last call has one
};

}  // namespace rlctl::ldb
