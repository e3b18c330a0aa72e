load ../support/common

# All mutants take an hour or more; here tests/mutation/run is tested itself, with a few that the comparison judges.

mutation() { "$project/tests/mutation/run" --no-tests -n 2000 --equivalent "$list" "$@"; }

# The mutants of a line that decides something only if what remains is below 0, after a limit was lowered.
of_line() { mutation --only '^\[?if remaining' lua/sliding-window-log.lua; }

setup() {
  list=$BATS_TEST_TMPDIR/equivalent
  {
    echo '# Less than nothing and nothing are both nothing, in whole numbers.'
    echo '[lua/sliding-window-log.lua]'
    echo 'if remaining [< → <=] 0 then remaining = 0 end'
    echo 'if remaining < [0 → 1] then remaining = 0 end'
  } >"$list"
}

@test "mutants are counted, and those that are equivalent may survive" {
  run -0 of_line
  assert_line --regexp '^lua/sliding-window-log.lua: ([0-9]+) mutants, [1-9][0-9]* killed .*, 0 survived, 2 equivalent$'
  assert_line --regexp '^[1-9][0-9]* passed, 0 failed$'
}

@test "a mutant that survives and is not listed fails" {
  echo >"$list"
  run -1 of_line
  assert_line --regexp '^survived: lua/sliding-window-log.lua:[0-9]+: if remaining \[< → <=\] 0 then remaining = 0 end$'
  assert_line --regexp '^[1-9][0-9]* passed, 2 failed$'
}

@test "a mutant that is listed and killed fails" {
  echo 'if remaining < 0 then remaining = [0 → 1] end' >>"$list"
  run -1 of_line
  assert_line --partial 'listed as equivalent, but killed: lua/sliding-window-log.lua:'
  assert_line --regexp '^[1-9][0-9]* passed, 1 failed$'
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
