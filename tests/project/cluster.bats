# needs: server
# night: two Clusters fail over, which tests/cli/cluster_failures.bats does too
load ../support/common

# examples/cluster: each of its limits holds while slots move and a master is replaced.

@test "cluster/failover keeps every limit, and shows what the killed master forgot" {
  run -0 timeout --kill-after=10 500 "$project/examples/cluster/failover" </dev/null 3>&- 4>&-
  assert_line --regexp '^  masters on ports [0-9]+ [0-9]+ [0-9]+$'
  assert_line --regexp '^  after [0-9]+ s, its replica on port [0-9]+ is the master, and requests are answered again$'
  assert_line --regexp '^  user:[0-9]+ +[0-9]+ of 100  its master was killed$'
  assert_line --regexp '^  [0-9]+ others 100 of 100$'
  assert_line --regexp '^[0-9]+ decisions were forgotten with the killed master'
  assert_line --partial ' 0 counts are wrong.'
}

@test "cluster/failover stops its servers when it is interrupted" {
  TMPDIR=$BATS_TEST_TMPDIR run -0 ends_by TERM 'ls "$TMPDIR"/*/answers' "$project/examples/cluster/failover"
  assert_output --partial 'exit 143'
  assert_equal "$(find "$BATS_TEST_TMPDIR" -name 'tmp.*')" ''
  run ! pgrep -f "^$BATS_TEST_TMPDIR"
}
