# needs: server
load ../../support/common

# `rlctl adversary --concurrency`: the search for schedules of leases. leases_test.cc checks what it finds for which
# semaphore; this file tests the command line.

search() { rlctl adversary --concurrency 2 --lease 10s --tries 3000 "$@"; }

setup() {
  cd "$project/tests/limiters" || return
  export TMPDIR=$BATS_TEST_TMPDIR
}

members=(set-semaphore.lua --args '{limit} {holder}' --head)

@test "an exhaustive search says what it has proved, and repeats itself" {
  run -0 rlctl adversary --concurrency 2 --lease 10s --model --exhaustive 4
  without_blanks
  assert_line --partial 'proof no schedule of up to 4 events at critical times holds more than 2'
  assert_line --partial '--exhaustive 4'
  refute_output --partial '--hold'
  run -0 --separate-stderr rlctl adversary --concurrency 2 --lease 10s --model --exhaustive 3 --json
  assert_equal "$(gojq -c '[.exhaustive, .tries, (.runs[0] | .undecided, .held, .leaked, .leak, .tried > 2000)]' <<<"$output")" \
    '[3,null,0,2,0,null,true]'
}

@test "a slot that is lost is shown by the shortest schedule" {
  run -0 search "${members[@]}" 'release set-release.lua'
  without_blanks
  assert_line ' 2 slots lost: nobody has them, and nobody gets them, not even a year later'
  assert_line '0 h1 acquire allowed 1'
  assert_line '0 h2 acquire allowed 2'
  assert_line '+40 s h3 acquire denied 0'
}

@test "a release that frees another's slot is shown with what was wrong about it" {
  run -0 search -u private: "${members[@]}" 'release set-release-any.lua'
  without_blanks
  assert_line --partial 'set-semaphore.lua 3 held at once, 1 more than the limit'
  assert_line --regexp '^0 h[1-4] release ([0-9] )?(never held|released before)$'
}

@test "assertions about leases decide the status" {
  run -1 --separate-stderr search -u private: "${members[@]}" 'release set-release-any.lua' --assert 'held<=2' -q
  assert_regex "$stderr" "assertion 'held<=2' does not hold: set-semaphore.lua has [3-9]"
  run -1 search "${members[@]}" 'release set-release.lua' --assert 'leaked==0' -q
  run -0 search "${members[@]}" 'release set-release.lua' --assert 'held<=2' -q
}

@test "JSON has the schedules" {
  run -0 --separate-stderr search "${members[@]}" 'release set-release.lua' --json
  assert_equal "$(gojq -c '[.pattern, .concurrency, .lease_us, (.runs[0] | .held, .leaks_for_ever, .overfilled,
    (.leak.schedule[0] | .event, .holder, .allowed, .held))]' <<<"$output")" \
    '["adversary",2,10000000,2,true,null,"acquire","h1",true,1]'
}

@test "a program is asked for leases, too" {
  run -0 search --exec 'perl semaphore.pl' --tries 1000
  assert_line --partial 'at most 2 of 2 held at once, no slot lost'
}
