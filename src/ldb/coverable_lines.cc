#include "ldb/coverable_lines.h"

#include <algorithm>

#include "ldb/lua_bytecode.h"
#include "ldb/lua_lexer.h"
#include "redis/error.h"

namespace rlctl::ldb {
namespace {

// Before 7.0 the script is the body of a function, whose `end` has a line of its own.
constexpr std::string_view kCompile = R"(
local script, message = loadstring(ARGV[1], '@user_script')
if script and not redis.REDIS_VERSION_NUM then
  script, message = loadstring('return function() ' .. ARGV[1] .. '\nend', '@user_script')
  script = script and script()
end
if not script then
  return redis.error_reply('ERR Error compiling script (new function): ' .. message)
end
return string.dump(script))";

}  // namespace

std::vector<int> coverable_lines(redis::Connection& connection, std::string_view source) {
  auto code = source;
  if (code.substr(0, 2) == "#!") code.remove_prefix(std::min(code.find('\n'), code.size()));
  const auto reply = connection.call({"EVAL", kCompile, "0", code});
  if (reply.is_error()) throw redis::to_error(reply);
  std::vector<int> lines;
  append_reachable_lines(parse_bytecode(reply.text()), lines);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  if (const auto tokens = lex_lua(source)) {
    const auto last = static_cast<int>(tokens->line_offsets.size());
    std::erase_if(lines, [last](int line) { return line > last; });
  }
  return lines;
}

std::vector<int> coverable_lines(redis::Connection& connection, const ProbedScript& script) {
  std::vector<int> lines;
  for (const int line : coverable_lines(connection, script.text)) {
    const int own = script.line_of(line);
    if (own > 0 && (lines.empty() || lines.back() != own)) lines.push_back(own);
  }
  return lines;
}

std::vector<int> coverable_lines_as_run(redis::Connection& connection, std::string_view source) {
  for (const bool wrapped : {false, true}) {
    const auto probed = add_probes(source, {.wrapped = wrapped});
    if (!probed || probed->probes.empty()) break;
    try {
      return coverable_lines(connection, *probed);
    } catch (const redis::Error& error) {
      if (error.failure() != redis::Failure::kRejected) throw;
    }
  }
  return coverable_lines(connection, source);
}

}  // namespace rlctl::ldb
