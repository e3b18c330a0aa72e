load ../support/common

check() { "$project/tests/project/layering" "$@"; }

# Creates a small project that keeps every rule, for the tests to break.
setup() {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree"/{cli,src/redis,src/limiter,tests}
  cd "$tree"
  printf '#pragma once\nint f();\n' >src/redis/good.h
  printf '#include "redis/good.h"\n\n#include <hiredis/hiredis.h>\nint f() { return 1; }\n' \
    >src/redis/good.cc
  printf '#pragma once\n#include "redis/good.h"\n' >src/limiter/alone.h
  printf '#include "limiter/alone.h"\nint main() { printf("x"); }\n' >cli/main.cc
}

# spoil FILE LINE…: appends the line and checks that it is found, with its number and these words.
spoil() {
  local file=$1 text=$2 words=$3
  printf '%s\n' "$text" >>"$file"
  run -1 check "$tree"
  assert_line --partial "$file:$(wc -l <"$file"): $words"
  refute_line --index 1 --regexp '^(src|cli|tests)/'
}

@test "the project keeps its layers and its file rules" {
  run check
  assert_output ''
}

@test "a small project that keeps the rules passes" {
  run -0 check "$tree"
  assert_output ''
}

@test "hiredis outside src/redis is found" {
  spoil src/limiter/bad.cc '#include <hiredis/hiredis.h>' 'hiredis is for'
}

@test "toml++ outside the code that reads policies is found" {
  spoil cli/main.cc '#include <toml++/toml.h>' 'toml++ is for'
}

@test "a command that includes another command's file is found" {
  mkdir -p cli/check cli/reset
  printf '#pragma once\n' >cli/reset/reset.h
  spoil cli/check/check.cc '#include "cli/reset/reset.h"' 'cli/check must not include cli/reset'
}

@test "nlohmann-json and zlib outside their files are found" {
  spoil cli/main.cc '#include <nlohmann/json.hpp>' 'nlohmann-json is for'
  sed -i '$d' cli/main.cc
  spoil src/limiter/bad.cc '#include <zlib.h>' 'zlib is for'
}

@test "printing in src is found, whatever the function" {
  local line
  for line in '#include <iostream>' 'std::cout << 1;' 'printf("x");' 'std::fprintf(file, "x");' \
    'fmt::print("x");' 'puts("x");' 'write(STDOUT_FILENO, "x", 1);'; do
    cp src/redis/good.cc kept
    spoil src/redis/good.cc "$line" 'only cli prints'
    mv kept src/redis/good.cc
  done
}

@test "formatting into a buffer and comments do not count as printing" {
  # shellcheck disable=SC2028 # text of a C++ file
  echo 'int g(char* b) { return snprintf(b, 1, "x"); }  // not printf("x")' >>src/redis/good.cc
  run -0 check "$tree"
}

@test "exiting the process in src is found" {
  spoil src/redis/good.cc 'void g() { std::exit(1); }' 'only cli exits'
}

@test "a main in src is found" {
  spoil src/redis/good.cc 'int main() {}' 'only cli has a main'
}

@test "an include against the layers is found" {
  spoil src/redis/good.cc '#include "limiter/alone.h"' 'src/redis must not include limiter'
}

@test "an include of the tests from the program is found" {
  spoil cli/main.cc '#include "tests/support/helper.h"' 'cli must not include tests'
}

@test "a header without #pragma once is found" {
  echo 'int g();' >src/limiter/alone.h
  run -1 check "$tree"
  assert_line --index 0 'src/limiter/alone.h:1: #pragma once is missing'
}

@test "a header that does not compile alone is found" {
  echo 'std::vector<int> g();' >>src/limiter/alone.h
  run -1 check "$tree"
  assert_line --regexp '^src/limiter/alone.h:3:[0-9]+: does not compile alone'
}

@test "a source that does not include its own header first is found" {
  sed -i '1i #include <string>' src/redis/good.cc
  run -1 check "$tree"
  assert_line --index 0 'src/redis/good.cc:1: the first include must be its own header, redis/good.h'
}

@test "a file name in another style is found" {
  touch src/redis/Bad.cc cli/bad-name.cc src/limiter/bad.cpp
  run -1 check "$tree"
  assert_line 'src/redis/Bad.cc:1: the name is not snake_case.cc or .h'
  assert_line 'cli/bad-name.cc:1: the name is not snake_case.cc or .h'
  assert_line 'src/limiter/bad.cpp:1: the name is not snake_case.cc or .h'
}

@test "a path outside the project is found wherever it is named" {
  local root=/work
  echo "see $root/notes" >README.md
  run -1 check "$tree"
  assert_line --index 0 'README.md:1: names a folder outside the project'
}
