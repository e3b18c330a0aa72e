load ../support/common

check() { "$project/tests/project/layering" "$@"; }

# A small project that keeps every rule.
make_tree() {
  cd "$BATS_TEST_TMPDIR"
  mkdir -p cli/check src/redis src/limiter
  printf '#pragma once\nint f();\n' >src/redis/good.h
  cat >src/redis/good.cc <<'END'
#include "redis/good.h"

#include <hiredis/hiredis.h>
int f(char* b) { return snprintf(b, 1, "x"); }  // not printf("x")
END
  printf '#pragma once\n#include "redis/good.h"\n' >src/limiter/alone.h
  printf '#include "limiter/alone.h"\nint main() { return f(); }\n' >cli/main.cc
  printf '#pragma once\n' >cli/check/check.h
}

@test "the project keeps its layers and its file rules" {
  # To compile every header on its own takes half a minute of processor time.
  run check ${RLCTL_TEST_ALL:+--alone}
  assert_output ''
}

# bats test_tags=night
@test "a small project that keeps the rules passes" {
  make_tree
  run -0 check --alone .
  assert_output ''
}

# bats test_tags=night
@test "each violation of a rule is found, with its file and line" {
  make_tree
  local root=/work file line message
  echo "see $root/notes" >README.md
  echo "README.md:1: names a folder outside the project" >expected
  mkdir -p cli/reset cli/commands/debug/dap
  printf 'int g();\n' >src/limiter/bare.h
  printf '#include <string>\n#include "redis/late.h"\n' >src/redis/late.cc
  printf '#pragma once\n' >src/redis/late.h
  touch src/redis/Bad.cc cli/bad-name.cc src/limiter/bad.cpp
  cat >>expected <<'END'
src/limiter/bare.h:1: #pragma once is missing
src/redis/late.cc:1: the first include must be its own header, redis/late.h
src/redis/Bad.cc:1: the name is not snake_case.cc or .h
cli/bad-name.cc:1: the name is not snake_case.cc or .h
src/limiter/bad.cpp:1: the name is not snake_case.cc or .h
END
  while IFS='|' read -r file line message; do
    printf '%s\n' "$line" >>"$file"
    echo "$file:$(wc -l <"$file"): $message" >>expected
  done <<'END'
src/limiter/a.cc|#include <hiredis/hiredis.h>|hiredis is for src/redis alone
src/limiter/a.cc|#include <openssl/ssl.h>|OpenSSL is for src/redis alone
src/limiter/a.cc|#include <zlib.h>|zlib is for src/replay/input.cc alone
cli/main.cc|#include <toml++/toml.h>|toml++ is for src/limiter/toml.h alone
cli/main.cc|#include <histedit.h>|libedit is for cli/terminal/line_editor.cc alone
cli/main.cc|#include <nlohmann/json.hpp>|nlohmann-json is for cli/commands/debug/dap/members.h, src/base/json.cc, src/exec/protocol.cc, src/lua/expression.cc, src/replay/named_fields.cc and src/stored/backup.cc
cli/main.cc|auto a = Json::parse(text);|JSON is parsed by parse_json() and read_json() alone
cli/main.cc|auto a = nlohmann::ordered_json::parse(text, nullptr, false);|JSON is parsed by parse_json() and read_json() alone
src/limiter/a.cc|return nlohmann::json::sax_parse(text, &reader);|JSON is parsed by parse_json() and read_json() alone
src/limiter/a.cc|return Json::accept(text);|JSON is parsed by parse_json() and read_json() alone
src/limiter/a.cc|return nlohmann::json::from_cbor(bytes);|JSON is parsed by parse_json() and read_json() alone
src/limiter/a.cc|const auto a = "{}"_json;|JSON is parsed by parse_json() and read_json() alone
cli/commands/debug/dap/a.cc|std::istringstream(text) >> request;|JSON is parsed by parse_json() and read_json() alone
src/redis/good.cc|#include <iostream>|only cli prints
src/redis/good.cc|std::cout << 1;|only cli prints
src/redis/good.cc|printf("x");|only cli prints
src/redis/good.cc|std::fprintf(file, "x");|only cli prints
src/redis/good.cc|fmt::print("x");|only cli prints
src/redis/good.cc|puts("x");|only cli prints
src/redis/good.cc|write(STDOUT_FILENO, "x", 1);|only cli prints
cli/check/a.cc|printf("x");|only cli/terminal/output.cc prints, and escapes what comes from outside
cli/check/a.cc|std::cerr << key;|only cli/terminal/output.cc prints, and escapes what comes from outside
cli/check/a.cc|fmt::print("{}", key);|only cli/terminal/output.cc prints, and escapes what comes from outside
cli/check/a.cc|write_all(STDOUT_FILENO, key);|only cli/terminal/output.cc prints, and escapes what comes from outside
cli/check/a.cc|::write(2, key.data(), key.size());|only cli/terminal/output.cc prints, and escapes what comes from outside
cli/check/a.cc|out.write_raw(key);|bytes that are not escaped are for cli/commands/config/command.cc and cli/commands/debug/dap/client.cc
src/redis/good.cc|void g() { std::exit(1); }|only cli exits
src/redis/good.cc|int main() {}|only cli has a main
src/redis/good.cc|#include "limiter/alone.h"|src/redis must not include limiter
cli/main.cc|#include "tests/support/helper.h"|cli must not include tests
cli/reset/reset.cc|#include "cli/check/check.h"|cli/reset must not include cli/check
END
  run -1 check .
  diff <(sort expected) <(sort <<<"$output")

  echo 'std::vector<int> g();' >>src/limiter/alone.h
  run -1 check --alone .
  assert_line --regexp '^src/limiter/alone.h:3:[0-9]+: does not compile alone'
}

@test "nothing of Lua is prepared when rlctl starts, since most commands never run a script" {
  run -0 nm "$RLCTL_BUILD/src/lua/librlctl_lua.a"
  assert_output --partial lua_newstate
  refute_output --partial _GLOBAL__sub_I
}
