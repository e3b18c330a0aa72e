#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ldb/trace.h"

namespace rlctl::cli {

/// A trace as JSON, an event a line, of which no field ever changes its type but for null:
///
///     {"event":"line","line":24,"source":"local len = redis.call('LLEN', key)"}
///     {"event":"call","line":24,"command":["LLEN","login:ann"],"exact":true,"reply":"5","error":null}
///     {"event":"debug","line":24,"message":"\"a\", 1"}
///     {"event":"local","line":24,"name":"len","value":"5","exact":true}
///     {"event":"result","ending":"returned","value":"{1, 4}","error":null,"error_line":null,
///      "lines":19,"calls":3,"exact":true}
///
/// Replies are as the debugger writes them, values as Lua does. A command that is not exact has all
/// its words in one text, and the first ten at most.
class TraceJson {
 public:
  /// Appends to `out`; looks into `debuggee`.
  TraceJson(std::string& out, const ldb::Debuggee& debuggee);

  void line(const ldb::TracedLine& line);
  void result(const ldb::TraceResult& result);

 private:
  void begin(std::string_view event, int line);
  void add_call(const ldb::Call& call, int line);

  std::string& out_;
  std::vector<std::string_view> source_;
};

}  // namespace rlctl::cli
