// The tokens of a source are its text in order, its lines are counted alike by the lexer and by
// source_lines(), its #! line can be taken away, and substitutes keep its lines.
#include "lua/lexer.h"

#include <algorithm>
#include <array>

#include "debugger/engine_debugger.h"
#include "lua/calls.h"
#include "lua/compiled.h"
#include "lua/sandbox.h"
#include "lua/substitute.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::lua_lexer {

using namespace rlctl::lua;

void require_in_order(const Tokens& found, std::string_view source) {
  const auto& tokens = found.tokens;
  require(!tokens.empty() && tokens.back().kind == Token::Kind::kEnd, "it has an end");
  std::size_t at = 0;
  int line = 1;
  for (const auto& token : tokens) {
    require(token.offset >= at && token.offset + token.text.size() <= source.size(),
            "tokens are in order");
    require(source.substr(token.offset, token.text.size()) == token.text,
            "a token is the source's text", token.text);
    require(token.line >= line && token.last_line >= token.line, "so are their lines");
    require((token.kind == Token::Kind::kEnd) == token.text.empty(), "only the end is empty");
    at = token.offset + token.text.size();
    line = token.last_line;
  }
  require(std::is_sorted(found.line_offsets.begin(), found.line_offsets.end()),
          "line ends are in order");
  const auto lines = source_lines(source).size();
  // A final line end begins one more.
  require(found.line_offsets.size() == lines || found.line_offsets.size() == lines + 1,
          "lines are counted alike", source);
}

void require_same_lines(const Tokens& found, std::string_view source) {
  if (source.size() > kLongestSubstituted) return;  // Lua may take quadratic time
  const Substitutes all{.time = true, .expiry = true, .other_keys = true};
  for (const auto& text : {with_substitutes(source, all), library_with_substitutes(source, all)}) {
    require(!text || lex(*text)->line_offsets.size() == found.line_offsets.size(),
            "substitutes keep the lines", text.value_or(""));
  }
}

void test(std::string_view input) {
  if (const auto tokens = lex(input)) {
    require_in_order(*tokens, input);
    require_same_lines(*tokens, input);
    const Calls calls(tokens->tokens);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      (void)calls.is_redis(i);
      (void)calls.is_field(i);
      (void)calls.callee_size(i);
      (void)calls.command(i);
      (void)calls.ends_statement(i);
    }
    (void)direct_calls_of_time(calls);
  }
  (void)may_read_ttl(input);
  const auto shebang = read_shebang(input);
  require(shebang.has_value() == input.starts_with("#!"), "a #! line is one");
  require(unknown_flags(without_unknown_flags(input)).empty(), "unknown flags are gone",
          without_unknown_flags(input));
  require(!read_shebang(without_shebang(input)), "a #! line is gone", without_shebang(input));
  (void)registered_functions(input);
  (void)library_as_script(input, "f");
  const std::array<std::string_view, 1> words{input};
  (void)needed_substitutes(input, words);
  (void)needed_substitutes("return redis.call(ARGV[1])", words);
  (void)rlctl::debugger::parse_assignment(input);
  const auto stops = stop_lines(input);
  require(stops.empty() || *stops.begin() >= 1, "lines begin with 1");
}

const Target kTarget("lua_lexer", test);

}  // namespace fuzz::lua_lexer
