# needs: server
load ../../support/common

# `rlctl adversary` on terminals, with keys that expire, and searches for a night. What it says is in adversary.t and
# adversary_holders.t.

@test "the report fits 80 columns and 40 columns" {
  needs_terminal
  cd "$project/tests/limiters"
  export RLCTL_REDIS_SERVER=/nowhere
  local columns
  for columns in 80 40; do
    run -0 env TERM=xterm script -qec "stty cols $columns rows 50; NO_COLOR=1 rlctl adversary --tries 2000 --model all
      NO_COLOR=1 rlctl adversary --tries 2000 trusting-log.lua" /dev/null </dev/null
    # On a slow machine there is progress first.
    output=$(tr '\r' '\n' <<<"$output" | sed $'s/\e\\[[0-9;]*[A-Za-z]//g')
    mapfile -t lines <<<"$output"
    assert_line --regexp '^(fixed-window)?  2\.00× the limit: 10 within 10 s$'
    assert_line --regexp '^if the clock steps back'
    refute grep -E ".{$((columns + 1))}" <<<"$output"
  done
}

@test "on a server, schedules that depend on the moment a key expires are left out, and assertions say so" {
  start_server
  cd "$BATS_TEST_TMPDIR"
  # A correct log, except that its key expires too early, by less than the precision of TTLs.
  sed "s/^return 1/redis.call('PEXPIRE', KEYS[1], ARGV[2] \/ 1000 - 15)\n&/" "$project/tests/limiters/trusting-log.lua" >expiring.lua
  local search=(rlctl adversary -s "$socket" --limit 2/60s expiring.lua)
  run -1 --separate-stderr "${search[@]}" --exhaustive 3 --assert 'worst>=1' --assert 'worst<=1'
  assert_regex "$stderr" "rlctl: adversary: assertion 'worst<=1' is not proven for expiring.lua: skipped [0-9,]+ of [0-9,]+ \
schedules, whose result depends on the exact moment a key expires$"
  output=$(tr -s ' \n' ' ' <<<"$output")
  assert_output --partial 'of them whose result depends on the exact moment a key expires, and all that begin with these'
  run -0 --separate-stderr "${search[@]}" --tries 500 --assert 'worst<=1' --assert 'wrongly_denied<9'
  assert_regex "$stderr" 'rlctl: adversary: warning: expiring.lua: the assertions do not cover [0-9,]+ schedules whose result depends on the exact moment a key expires'
  output=$(tr -s ' \n' ' ' <<<"$output")
  assert_output --regexp 'left out skipped [0-9]+ schedules whose result depends on the exact moment a key expires '
  run -0 --separate-stderr "${search[@]}" --tries 500 --json --assert 'worst>=1'
  assert_output --regexp '"undecided":[1-9]'
  refute_regex "$stderr" 'warning'
}

# bats test_tags=night
@test "every schedule: budget passes, by its script and by its model" {
  run -0 rlctl adversary --limit 10/60s --reserve 10 --hold 10s --model --exhaustive 5
  assert_output --partial 'proof      no schedule of up to 5 events'
  run -0 rlctl adversary --limit 10/60s --reserve 10 --hold 10s --exhaustive 4
  assert_output --partial 'proof      no schedule of up to 4 events'
}

# bats test_tags=night
@test "every schedule: units that are given back twice need four events" {
  run -0 rlctl adversary "$project/examples/pitfalls/double-refund.lua" --limit 1/60s --reserve 1 --hold 10s --exhaustive 4
  assert_output --partial '2 units spent and held, 1 more than the limit'
}
