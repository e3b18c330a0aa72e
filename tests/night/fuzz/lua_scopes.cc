// The declarations of a source refer to each other and to its text; with substitutes it
// is Lua still, and its lines are those of the source.
#include "lua/scopes.h"

#include "lua/substitute.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::lua_scopes {

using namespace rlctl::lua;

void require_consistent(const Scopes& scopes, std::string_view source) {
  const auto functions = scopes.functions.size(), locals = scopes.locals.size();
  require(functions >= 1, "there is a main function");
  for (const auto& function : scopes.functions) {
    for (const auto local : function.outer) require(local < locals, "an upvalue is a local");
  }
  for (const auto name : scopes.locals) require(!name.empty(), "a local has a name");
  for (const auto& read : scopes.global_reads) {
    require(source.substr(read.offset).starts_with(read.name), "a global is read there");
  }
  const auto unused = unused_name(scopes);
  for (const auto name : scopes.names) require(!name.starts_with(unused), "a name is unused");
}

// A digit for what is made of the source, on a line, and the source.
void test(std::string_view input) {
  Parts parts(input);
  const auto what = parts.choice(7);
  (void)parts.until('\n');
  const auto source = parts.rest();
  const auto scopes = find_scopes(source);
  if (!scopes) return;
  require_consistent(*scopes, source);
  const bool variant = what % 2 == 1;
  const Substitutes all{.time = true, .expiry = true, .other_keys = variant};
  const auto text =
      what < 6 ? with_substitutes(source, all) : library_with_substitutes(source, all);
  require(!text || find_scopes(*text).has_value(), "with substitutes it is Lua", text.value_or(""));
}

const Target kTarget("lua_scopes", test);

}  // namespace fuzz::lua_scopes
