// What a debugger or a probe prints becomes a value, whose text is one line without control bytes,
// and whose literal is Lua; calls are put together from any items.
#include <string>

#include "ldb/coverable_lines.h"
#include "ldb/probes.h"
#include "ldb/session.h"
#include "ldb/value.h"
#include "lua/scopes.h"
#include "night/fuzz/fuzz.h"
#include "redis/error.h"

namespace fuzz::ldb_items {

using namespace rlctl::ldb;

constexpr std::string_view kScript =
    "local a, b = 1, {2}\n"
    "local function f(c)\n"
    "  local d = redis.call('GET', c)\n"
    "  return d\n"
    "end\n"
    "for i = 1, 2 do\n"
    "  b[i] = f(KEYS[i])\n"
    "end\n"
    "return b\n";

void require_usable(const Value& value, std::string_view source) {
  const auto text = text_of(value);
  require(text.size() <= 32 * source.size() + 100, "its text is bounded", text);
  if (const auto literal = literal_of(value)) {
    require(rlctl::lua::find_scopes("return " + *literal).has_value(), "a literal is Lua",
            *literal);
  }
  require(value == Value(value), "a value equals itself", text);
}

void test_reader(std::string_view input) {
  static const auto kProbed = add_probes(kScript).value();
  ProbeReader reader(kProbed);
  CallLog calls(input.size() % 2 == 0);
  Parts parts(input);
  std::size_t lines = 0;
  while (!parts.done()) {
    const auto text = parts.until('\n');
    auto line = reader.read(text);
    ++lines;
    if (line.kind == ProbeReader::Line::Kind::kProbe) {
      require(line.reading.probe < kProbed.probes.size(), "a probe is one of the script");
      for (const auto& variable : line.reading.variables) {
        require(variable.local < kProbed.locals.size(), "a variable is one of the script");
      }
    }
    if (line.kind == ProbeReader::Line::Kind::kCall) calls.add_words(line.words, line.answer);
    calls.add_item(text);
    if (text == "silent") calls.set_silent(true);
    if (text == "heard") calls.set_silent(false);
  }
  calls.close();
  require(calls.take().size() <= 2 * lines, "a call has a line at least");
}

void test(std::string_view input) {
  if (const auto told = parse_value(input)) require_usable(*told, input);
  test_reader(input);
  (void)with_source_lines(input, {0, 0, 1, 2, 3});
  const auto prototype = accepted<rlctl::redis::Error>([&] { return parse_bytecode(input); }, 1000);
  if (!prototype) return;
  std::vector<int> lines;
  (void)accepted<rlctl::redis::Error>(
      [&] { return (append_reachable_lines(*prototype, lines), 1); }, 1000);
}

const Target kTarget("ldb_items", test);

}  // namespace fuzz::ldb_items
