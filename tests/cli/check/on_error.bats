# needs: server
load ../../support/common

setup_file() { start_server; }
setup() { cli FLUSHALL; }

# Each causes one of the errors that --on-error applies to.
unreachable() { rlctl check k --limit 5/60s -u unix:///nowhere "$@"; }
refused() { REDISCLI_AUTH=wrong rlctl check k --limit 5/60s --user nobody "$@"; }
rejected() { cli SET k v >/dev/null && rlctl check k --limit 5/60s "$@"; }

@test "fail is the default: statuses 3, 4 and 5 do not change" {
  run -3 --separate-stderr unreachable
  assert_output ''
  run -4 --separate-stderr refused
  assert_output ''
  run -5 --separate-stderr rejected
  assert_output ''
  run -3 unreachable --on-error fail
  run -4 refused --on-error fail
  run -5 rejected --on-error=fail
}

@test "allow turns 3, 4 and 5 into 0, and deny into 1, with a warning" {
  local failure answer expected option
  for failure in unreachable refused rejected; do
    for answer in '0 allow allowed' '1 deny denied'; do
      read -r expected option answer <<<"$answer"
      run "-$expected" --separate-stderr "$failure" --on-error "$option"
      assert_output "$answer key=k limit=5/60s on_error=$option"
      assert_regex "${stderr_lines[0]}" "^rlctl: check: warning: .*; taken as $answer \\(--on-error\\)$"
    done
  done
}

@test "the warning gives the error, and is printed even with --quiet" {
  run -0 --separate-stderr unreachable --on-error allow -q
  assert_output ''
  assert_equal "$stderr" 'rlctl: check: warning: cannot connect to unix:///nowhere: no such file or directory; taken as allowed (--on-error)'
}

@test "--on-error applies to a timeout" {
  start_fake_server ''
  run_with_timeout -1 --separate-stderr \
    rlctl check k --limit 5/60s --timeout 300ms --on-error deny
  assert_output 'denied key=k limit=5/60s on_error=deny'
}

@test "JSON has the error, with its hint" {
  run -0 --separate-stderr rejected --on-error allow --json
  assert_equal "$(gojq -c '[.allowed, .remaining, .error.code, .error.hint]' <<<"$output")" \
    '[true,null,"WRONGTYPE","rlctl inspect k shows what it holds"]'
}

@test "real answers do not change" {
  run -0 --separate-stderr rlctl check k --limit 1/60s --on-error deny
  assert_output --partial 'allowed key=k limit=1/60s remaining=0'
  run -1 --separate-stderr rlctl check k --limit 1/60s --on-error allow
  assert_output --partial 'denied key=k limit=1/60s remaining=0'
  assert_equal "$stderr" ''
}

@test "in a batch each line gets the answer, and a bad line is still an error" {
  run -0 --separate-stderr rlctl check --limit 5/60s --on-error allow --batch -u unix:///nowhere <<<$'a\nb'
  assert_output $'allowed key=a limit=5/60s on_error=allow\nallowed key=b limit=5/60s on_error=allow'
  run -1 --separate-stderr rlctl check --limit 5/60s --on-error deny --batch -u unix:///nowhere <<<a
  run -2 --separate-stderr rlctl check --limit 5/60s --on-error deny --batch -u unix:///nowhere \
    <<<$'a\nb\tx\nc'
  assert_equal "${#lines[@]}" 3
  assert_line --index 1 --regexp '^error line=2 status=2 '
  assert_line --index 2 'denied key=c limit=5/60s on_error=deny'
}
