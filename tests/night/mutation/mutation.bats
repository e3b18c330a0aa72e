# needs: server
load ../../support/common

# That mutation/run reports what becomes of mutants, and that `rlctl burst` notices them. All mutants take hours:
# at night, the seed chooses a tenth of them.

mutation() { "$project/tests/night/mutation/run" "$@"; }

# bats test_tags=night
@test "mutants are counted by what kills them, and one fails that survives or is killed against the list" {
  local list=$BATS_TEST_TMPDIR/equivalent
  local some=(--no-tests -n 2000 --equivalent "$list" --only 'local kept = |if.* reset_if_allowed = ends end'
    lua/fixed-window.lua)
  cat >"$list" <<'END'
[lua/fixed-window.lua]
# With one key, nothing is kept.
local kept = n [> → >=] 1 and {}
local kept = n > [1 → 0] and {}
# If both are equal, it does not matter which is taken.
if ends [> → >=] reset_if_allowed then reset_if_allowed = ends end
END
  run -0 --separate-stderr mutation "${some[@]}"
  assert_output 'lua/fixed-window.lua: 7 mutants, 4 killed (4 by the comparison), 0 survived, 3 equivalent
7 passed, 0 failed'
  sed -i 's/n > \[1 → 0\]/n > [1 → 2]/' "$list"
  run -1 mutation "${some[@]}"
  assert_line --regexp '^survived: lua/fixed-window.lua:[0-9]+: local kept = n > \[1 → 0\] '
  assert_line --regexp '^listed as equivalent, but killed: lua/fixed-window.lua:[0-9]+: local kept = n > \[1 → 2\] '
  assert_line '5 passed, 2 failed'
}

@test "every mutant that is listed as equivalent exists" {
  local list=$BATS_TEST_TMPDIR/equivalent
  run -0 mutation --check-list
  assert_line --regexp '^[0-9]+ passed, 0 failed$'
  # One that does not is named.
  printf '[lua/fixed-window.lua]\nif no such line [> → >=] 0 then\n' >"$list"
  run -1 mutation --check-list --equivalent "$list"
  assert_line 'listed as equivalent, but not a mutant: lua/fixed-window.lua: if no such line [> → >=] 0 then'
}

# bats test_tags=night
@test "burst notices every mutant of a limiter, and nothing wrong with the original" {
  run -0 mutation --by burst
  assert_line --regexp '^[0-9]+ passed, 0 failed$'
}

# bats test_tags=night
@test "a mutant of a script or a model is noticed" {
  run -0 mutation --every 10
}
