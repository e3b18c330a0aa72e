# needs: server
load ../../support/common

@test "--shadow prints how many would have been denied, even after Ctrl-C" {
  start_server
  cd "$BATS_TEST_TMPDIR"
  mkfifo keys
  exec 7<>keys
  printf '%s\n' a a a >&7
  run -0 ends_by INT 'grep -qs would_deny out' bash -c 'exec rlctl check --limit 2/60s --shadow --batch keys >out 2>errors'
  exec 7>&-
  assert_output 'signal 2'
  assert_equal "$(cat errors)" 'rlctl: check: 1 of 3 requests would have been denied (--shadow)'
}
