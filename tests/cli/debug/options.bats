load ../../support/common

# Invalid combinations are refused before anything is started.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  echo 'return 1' >a.lua
  printf '1767225660.000000 ann 1\n1767225661.000000 ann 1\n' >two.log
  export RLCTL_REDIS_SERVER=/nowhere
}

refused() {
  local message=$1
  shift
  run -2 rlctl debug "$@"
  assert_line --partial "rlctl: debug: $message"
}

@test "a missing or unknown script is refused" {
  refused 'no SCRIPT given' --trace
  refused 'SCRIPT is empty' '' --trace
  refused "no bundled script 'gcr', and no script of that name in $RLCTL_CONFIG; did you mean 'gcra'?" \
    gcr k --limit 5/60s --trace
  assert_line --partial 'hint: there is fixed-window, '
  assert_line --partial 'for a file, write ./gcr'
  refused "cannot read 'none.lua': no such file or directory" none.lua k --trace
  refused "cannot read './': is a directory" ./ k --trace
}

@test "a bundled script needs one KEY and a --limit" {
  refused 'no KEY given' gcra --limit 5/60s --trace
  refused 'expected one KEY, but got 2' gcra a b --limit 5/60s --trace
  refused 'KEY is empty' gcra '' --limit 5/60s --trace
  refused '--limit is missing' gcra k --trace
  refused "--limit: '5/5q' " gcra k --limit 5/5q --trace
  refused 'sliding-window-log' sliding-window-log k --limit 5/60s --burst 3 --trace
  refused '--cost must be a whole number' gcra k --limit 5/60s --cost x --trace
  refused "--now: '1767225660' looks like seconds" gcra k --limit 5/60s --now 1767225660 --trace
}

@test "a policy has its own script, limit and key" {
  printf '[policy.login]\nkey = "login:%%s"\nlimit = "5/60s"\n' >config.toml
  export RLCTL_CONFIG=$PWD/config.toml
  refused "--policy and --limit cannot be combined" --policy login ann --limit 5/60s --trace
  refused "--policy and --args cannot be combined" --policy login ann --args x --trace
  refused "policy 'login' (key login:%s) takes 1 argument, but none was given" --policy login --trace
  refused "policy 'login' (key login:%s) takes 1 argument, not 2: 'a', 'b'" --policy login a b --trace
  run -2 rlctl debug --policy nope ann --trace
  assert_line --partial "no policy 'nope'"
}

@test "--keys and --args must be meaningful" {
  refused "--args: '{nwo}' contains {nwo}, which is not a placeholder" a.lua --args '{nwo}' --trace
  refused "--keys: '{ky}' contains {ky}" a.lua --keys '{ky}' --trace
  refused '--args' a.lua --args "'x" --trace
  refused 'no KEY given, but --keys or --args contain {key}' a.lua --args '{key}' --trace
  refused '{key} is one KEY, but there are 2' a.lua a b --keys '{key}' --trace
  refused "KEY 'a' has no effect: --keys does not contain {key}" a.lua a --keys 'x' --trace
  refused '--limit is missing' a.lua a --args '{limit}' --trace
  refused '--limit is missing' a.lua a --args '{window_index}' --trace
  refused '--limit has no effect' a.lua a --limit 5/60s --trace
  refused '--burst requires --limit' a.lua a --burst 5 --trace
  refused '--cost has no effect' a.lua a --cost 5 --trace
  refused 'a script that is called with --keys and --args takes one --limit' a.lua a --args '{limit}' --limit 5/60s --limit 6/60s --trace
  refused '--args: a window of 1500ms is not a whole number for {window_s}' a.lua a --args '{window_s}' \
    --limit 1/1500ms --trace
  refused '--limit is missing: the reply is compared with it' a.lua a --allowed-when 'r <= limit' --trace
  refused '--limit is missing: the reply is compared with it' a.lua a --reset-after 'r - window_ms ms' --trace
  # A text is not the limit: nothing is missing but the server.
  run -3 rlctl debug --script a.lua a --allowed-when "r == 'limited'" --trace
}

@test "a log determines the time, the key and the cost" {
  local replay=(--replay two.log --trace)
  refused "--replay takes no KEY, the log has the keys: unexpected argument 'k'" gcra k --limit 5/60s "${replay[@]}"
  refused '--now and --replay cannot be combined: the log has the times' gcra --limit 5/60s --now 1767225660000000 "${replay[@]}"
  refused '--cost and --replay cannot be combined: the log has the costs' gcra --limit 5/60s --cost 2 "${replay[@]}"
  refused '--attach and --replay cannot be combined: a log is replayed on a private server' gcra --limit 5/60s --attach "${replay[@]}"
  refused '--replay runs on a private server' gcra --limit 5/60s -s /tmp/x "${replay[@]}"
  refused '--skip 2 leaves no request: the log has 2 requests' gcra --limit 5/60s --skip 2 "${replay[@]}"
  assert_line --partial '--skip 1 debugs the last one'
  refused '--skip must be' gcra --limit 5/60s --skip -1 "${replay[@]}"
  refused '--trace shows one request' gcra --limit 5/60s --coverage "${replay[@]}"
  refused '--skip requires --replay' gcra k --limit 5/60s --skip 1 --trace
  refused '--format requires --replay' gcra k --limit 5/60s --format csv --trace
  refused "--format: unknown format 'nope'" gcra --limit 5/60s --format nope "${replay[@]}"
  run -2 rlctl debug gcra --limit 5/60s --replay none.log --trace
  assert_line --partial 'none.log'
}

@test "contradictory options about the server are refused" {
  refused '--sync requires --attach' gcra k --limit 5/60s --sync --trace
  refused '--yes requires --sync' gcra k --limit 5/60s --attach --yes --trace
  refused '--attach requires an existing server' -u private: gcra k --limit 5/60s --attach --trace
}

@test "two output formats at once are refused" {
  refused '--lcov requires --coverage' gcra k --limit 5/60s --trace --lcov x
  run -2 rlctl debug gcra k --limit 5/60s --coverage --lcov - --json
  assert_output --partial '"message":"standard output is asked for more than once"'
  refused 'standard output is asked for more than once' gcra k --limit 5/60s --coverage --lcov - --trace
  refused '--max-steps must be' gcra k --limit 5/60s --trace --max-steps 0
  refused '--max-steps must be' gcra k --limit 5/60s --trace --max-steps 1e5
  local form option
  for form in --redis-cli --print-command; do
    for option in --trace --coverage '--max-steps 5' '--replay two.log'; do
      # shellcheck disable=SC2086 # split into words
      refused "$form and ${option% *} cannot be combined" gcra k --limit 5/60s $form $option
    done
  done
  run -2 rlctl debug gcra k --limit 5/60s --redis-cli --json
  assert_output --partial '"message":"--redis-cli and --json cannot be combined"'
  refused '--redis-cli and --print-command cannot be combined' gcra k --limit 5/60s --redis-cli --print-command
}

@test "an lcov file that cannot be written is an error before anything runs" {
  run -2 rlctl debug gcra k --limit 5/60s --coverage --lcov /nowhere/x
  assert_line --partial '/nowhere/x'
}

@test "a server that cannot be started exits with status 3" {
  run -3 rlctl -u private: debug gcra k --limit 5/60s --trace
  assert_line --partial 'RLCTL_REDIS_SERVER names'
}
