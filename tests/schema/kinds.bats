# needs: server
load ../support/common

# JSON of kinds that no other test looks at, for the comparison with the schemas; see ../run.

# is_error WHAT: standard error is one error with this code.
is_error() { assert_regex "$stderr" "^\{\"error\":\{\"code\":\"$1\","; }

@test "every command reports wrong usage as JSON" {
  local command all
  lines_of all commands
  for command in "${all[@]}"; do
    case $command in quota) continue ;; esac
    run --separate-stderr rlctl "$command" --nope --json
    assert_output ''
    is_error usage
  done
}

@test "quota reports on standard error that standard output cannot be written" {
  start_server
  run -3 --separate-stderr bash -c 'rlctl quota k --limit 5/60s --json >/dev/full'
  is_error output
}

@test "burst reports an assertion that does not hold on standard error" {
  run -1 --separate-stderr rlctl burst --model --json --assert 'worst<=1'
  assert_regex "$output" '"ratio":2,'
  is_error assertion
}

@test "config path prints the file as JSON" {
  run -0 rlctl config path --json
  assert_output "{\"file\":\"$RLCTL_CONFIG\"}"
}
