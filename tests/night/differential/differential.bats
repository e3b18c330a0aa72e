# needs: server
load ../../support/common

# That what rlctl lint and the adversary say of random limiters is what a simulation knows of them.

differential() { "$project/tests/night/differential/run" "$@"; }

@test "lint notices who is locked out, and says nothing against limiters without a flaw" {
  run -0 differential --seed 1 --count 1 --no-adversary -j 1
  assert_line 'lint notices that clients are locked out: 1 of 1'
  assert_line 'lint is clean without a flaw: 2 of 2'
  assert_line '3 passed, 0 failed'
}

# bats test_tags=night
@test "the adversary finds the worst window" {
  run -0 differential --seed 5 --count 1 --no-lint -j 1
  assert_line '2 passed, 0 failed'
}

# bats test_tags=night
@test "an rlctl that finds nothing fails, with the limiter that shows it" {
  mkdir -p "$BATS_TEST_TMPDIR/build/cli"
  printf '#!/bin/sh\n[ "$1" = lint ] || echo %s\n' "'{\"runs\": [{\"unbounded\": false, \"most\": null}]}'" \
    >"$BATS_TEST_TMPDIR/build/cli/rlctl"
  chmod +x "$BATS_TEST_TMPDIR/build/cli/rlctl"
  RLCTL_BUILD=$BATS_TEST_TMPDIR/build run -1 differential --seed 3 --count 9 -j 1
  assert_line --regexp '^ +[0-9]+ .*: denied-renews: lint has no findings, but a request of cost 1 each .* is denied in the end$'
  assert_line --regexp '^ +[0-9]+ .*: no flaw: the adversary found 0 of [0-9]+$'
  assert_line '1 passed, 4 failed'
}
