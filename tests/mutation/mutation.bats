load ../support/common

# All mutants take an hour or more; here tests/mutation/run is tested itself, with a few that the comparison judges.

mutation() { "$project/tests/mutation/run" --no-tests -n 2000 --equivalent "$list" "$@"; }

# The mutants of a line that keeps the later one of two times.
of_line() { mutation --only 'if.* reset_if_allowed = ends end' lua/fixed-window.lua; }

setup() {
  list=$BATS_TEST_TMPDIR/equivalent
  {
    echo '# If the times are equal, it does not matter which one is kept.'
    echo '[lua/fixed-window.lua]'
    echo 'if ends [> → >=] reset_if_allowed then reset_if_allowed = ends end'
  } >"$list"
}

@test "mutants are counted, and those that are equivalent may survive" {
  run -0 of_line
  assert_line 'lua/fixed-window.lua: 3 mutants, 2 killed (2 by the comparison, 0 by other tests), 0 survived, 1 equivalent'
  assert_line '3 passed, 0 failed'
}

@test "a mutant that survives and is not listed fails" {
  echo >"$list"
  run -1 of_line
  assert_line --regexp '^survived: lua/fixed-window.lua:[0-9]+: if ends \[> → >=\] reset_if_allowed then '
  assert_line '2 passed, 1 failed'
}

@test "a mutant that is listed and killed fails" {
  echo '[if ends > reset_if_allowed then reset_if_allowed = ends end → nothing]' >>"$list"
  run -1 of_line
  assert_line --partial 'listed as equivalent, but killed: lua/fixed-window.lua:'
  assert_line '2 passed, 1 failed'
}

@test "a script that hangs or is not Lua is killed" {
  run -0 mutation --list --only '^rest = rest \[- → \+\] 1000' lua/sliding-window-log.lua
  assert_line --regexp ': comparison$'
}

@test "mutants of a model are compiled, and killed if its decisions differ from the script's" {
  run -0 mutation --list --only '^decision.allowed = cost == 0 \[\|\| → &&\] cost \* unit' src/limiter/model.cc
  assert_line --regexp '^src/limiter/model.cc:[0-9]+: .*: comparison$'
  assert_line '1 passed, 0 failed'
}

@test "a file without mutants is refused" {
  run -2 mutation README.md
  assert_output --partial "'README.md' has no mutants"
}

@test "every mutant that is listed as equivalent exists" {
  run -0 "$project/tests/mutation/run" --check-list
  assert_line --regexp '^[0-9]+ passed, 0 failed$'
  # One that does not is named.
  echo 'if no such line [> → >=] 0 then' >>"$list"
  run -1 mutation --check-list
  assert_line 'listed as equivalent, but not a mutant: lua/fixed-window.lua: if no such line [> → >=] 0 then'
  assert_line '1 passed, 1 failed'
}
