#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/debug/keys.h"
#include "ldb/trace.h"

namespace rlctl::cli {

/// A trace as JSON, one event a line; no field changes its type except to null:
///
///     {"event":"line","line":24,"source":"local len = redis.call('LLEN', key)"}
///     {"event":"call","line":24,"command":["LLEN","login:ann"],"exact":true,"reply":"5","error":null}
///     {"event":"debug","line":24,"message":"\"a\", 1"}
///     {"event":"local","line":24,"name":"len","value":"5","exact":true}
///     {"event":"result","ending":"returned","value":"{1, 4}","error":null,"error_line":null,
///      "lines":19,"calls":3,"exact":true}
///     {"event":"key","key":"login:ann","before":null,"after":"list, ...","changed":true}
///
/// Replies are as the debugger writes them, values as Lua does. A command that is not exact is one
/// text of its first ten words.
class TraceJson {
 public:
  /// Appends to `out`; reads `debuggee`.
  TraceJson(std::string& out, const ldb::Debuggee& debuggee);

  void line(const ldb::TracedLine& line);
  void result(const ldb::TraceResult& result);
  void key(const KeyChange& change);

 private:
  std::string& out_;
  std::vector<std::string_view> source_;
};

}  // namespace rlctl::cli
