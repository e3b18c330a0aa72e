# needs: server
load ../../support/common

# --shadow: a limit on trial, which stops nothing.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

shadowed() { rlctl check --limit 2/60s --now 1000000000 --shadow "$@"; }

@test "what the limit allows looks the same and is recorded; a denial has status 0, is only reported, and is not" {
  run -0 shadowed k
  assert_output 'allowed key=k limit=2/60s remaining=1 reset=60.000s'
  shadowed -q k
  run -0 --separate-stderr shadowed k
  assert_output 'allowed key=k limit=2/60s would_deny=true remaining=0 retry_after=60.000s reset=60.000s'
  assert_equal "$stderr" ''
  run -0 shadowed k --cost 3 --peek
  assert_output 'allowed key=k limit=2/60s would_deny=true remaining=0 retry_after=never reset=60.000s'
  assert_equal "$(cli LLEN k)" 2
}

@test "JSON says that the request passes, and in would_deny what the limiter decided" {
  run -0 shadowed k --cost 2 --json
  assert_equal "$(gojq -c '[.allowed, .would_deny, .denied_by]' <<<"$output")" '[true,false,null]'
  run -0 shadowed k --json
  assert_equal "$(gojq -c '[.allowed, .would_deny, .retry_after_us, .denied_by]' <<<"$output")" \
    '[true,true,60000000,"k"]'
  run -0 rlctl check k --limit 5/60s --json
  assert_equal "$(gojq 'has("would_deny")' <<<"$output")" false
}

@test "a batch ends with status 0 and says how many requests would have been denied" {
  run -0 --separate-stderr shadowed --batch <<<$'a\na\na\nb\na'
  assert_equal "$(cut -d' ' -f1,2,4 <<<"$output")" 'allowed key=a remaining=1
allowed key=a remaining=0
allowed key=a would_deny=true
allowed key=b remaining=1
allowed key=a would_deny=true'
  assert_equal "$stderr" 'rlctl: check: 2 of 5 requests would have been denied (--shadow)'
  run -0 --separate-stderr shadowed --batch -q <<<c
  assert_output ''
  assert_equal "$stderr" 'rlctl: check: 0 of 1 request would have been denied (--shadow)'
}

@test "the number is printed after Ctrl-C too" {
  mkfifo "$BATS_TEST_TMPDIR/keys"
  exec 7<>"$BATS_TEST_TMPDIR/keys"
  printf '%s\n' a a a >&7
  run -0 ends_by INT "grep -qs would_deny $BATS_TEST_TMPDIR/out" bash -c "exec rlctl check --limit 2/60s --shadow \
    --batch $BATS_TEST_TMPDIR/keys >$BATS_TEST_TMPDIR/out 2>$BATS_TEST_TMPDIR/errors"
  exec 7>&-
  assert_output 'signal 2'
  assert_equal "$(cat "$BATS_TEST_TMPDIR/errors")" \
    'rlctl: check: 1 of 3 requests would have been denied (--shadow)'
}

@test "a failure of the server keeps its status, unless --on-error gives an answer" {
  run -3 --separate-stderr shadowed k -u unix:///nowhere
  assert_output ''
  run -3 --separate-stderr shadowed --batch -u unix:///nowhere <<<$'a\nb'
  assert_equal "${stderr_lines[-1]}" \
    'rlctl: check: 0 of 0 requests would have been denied (--shadow); no decision for 2 lines'
  run -0 --separate-stderr shadowed k -u unix:///nowhere --on-error allow
  assert_output 'allowed key=k limit=2/60s on_error=allow'
  run -0 --separate-stderr shadowed k -u unix:///nowhere --on-error deny
  assert_output 'allowed key=k limit=2/60s would_deny=true on_error=deny'
  assert_regex "$stderr" 'taken as denied \(--on-error\)$'
}

@test "a wrong line is an error" {
  run -2 --separate-stderr shadowed --batch <<<$'a\tx\na'
  assert_equal "${stderr_lines[-1]}" \
    'rlctl: check: 0 of 1 request would have been denied (--shadow); no decision for 1 line'
}
