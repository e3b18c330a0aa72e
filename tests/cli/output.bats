# needs: server
load ../support/common

# With --now every number is known in advance.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

check() { rlctl check "$@" --now 1000000000; }

# assert_json FILTER: the output is one line with one JSON value for which FILTER is true.
assert_json() {
  assert_equal "${#lines[@]}" 1
  gojq -es "length == 1 and (.[0] | $1)" <<<"$output" >/dev/null || fail "not $1: $output"
}

# --- text -------------------------------------------------------------------------------------------

@test "an allowed result shows key, limit, remaining and reset" {
  run -0 check login:ann --limit 5/60s
  assert_output 'allowed key=login:ann limit=5/60s remaining=4 reset=60.000s'
}

@test "the answer has a colour on a terminal, or where one is asked for" {
  local green=$'\e[32mallowed\e[0m key=k ' red=$'\e[31mdenied\e[0m key=k '
  run -0 check k --limit 5/60s --color=always
  assert_output --partial "$green"
  CLICOLOR_FORCE=1 run -1 check k --limit 5/60s --cost 6
  assert_output --partial "$red"
  CLICOLOR_FORCE=1 NO_COLOR=1 run -0 rlctl check --batch --limit 5/60s <<<k
  refute_output --partial $'\e'
  run -0 rlctl check --batch --limit 5/60s --color always <<<k
  assert_output --partial "$green"
  CLICOLOR_FORCE=1 run -0 check k --limit 5/60s --color never
  refute_output --partial $'\e'
  run -2 check k --limit 5/60s --color=blue
  assert_line --partial "--color must be auto, always or never, not 'blue'"
}

@test "if the cost can never be allowed, retry_after is never" {
  run -1 check k --limit 5/60s --cost 6
  assert_output 'denied key=k limit=5/60s remaining=5 retry_after=never reset=0.000s'
  run -1 check k --limit 5/60s --cost 6 --json
  assert_json '.retry_after_us == -1 and .cost == 6 and .remaining == 5'
}

@test "leaky-bucket shows its delay, but only if there is one" {
  run -0 check k --limit 5/s --algorithm leaky-bucket
  assert_output 'allowed key=k limit=5/1s algorithm=leaky-bucket remaining=5 reset=0.200s'
  run -0 check k --limit 5/s --algorithm leaky-bucket
  assert_output 'allowed key=k limit=5/1s algorithm=leaky-bucket remaining=4 reset=0.400s delay=0.200s'
}

@test "the algorithm and the burst are shown unless they are the default" {
  run -0 check k --limit 10/s --algorithm gcra --burst 20
  assert_output 'allowed key=k limit=10/1s algorithm=gcra burst=20 remaining=19 reset=0.100s'
  run -0 check l --limit 10/s --algorithm gcra --burst 10
  assert_output 'allowed key=l limit=10/1s algorithm=gcra remaining=9 reset=0.100s'
  run -0 check m --limit 2/s --limit 10/60s --algorithm gcra --burst 2
  assert_output --partial 'limit=2/1s,10/60s algorithm=gcra burst=2 remaining=1 '
  run -0 check n --limit 10/s --algorithm token-bucket --burst 20 --json
  assert_json '.limits[0].burst == 20'
}

@test "--limit takes limits as they are shown" {
  run -0 check k --limit 5/60s,10/1h
  assert_output 'allowed key=k limit=5/60s,10/1h remaining=4 reset=3600.000s'
  run -0 check k --limit 5/60s,10/1h --limit 20/1d
  assert_output --partial ' limit=5/60s,10/1h,20/1d '
  run -2 check k --limit 5/60s,
  assert_line --partial "--limit: '' is not a limit"
  run -2 check k --limit 5/60s,9/1m
  assert_line --partial 'two limits have the same window, 60s'
}

@test "several limits give one decision, and the key that denied is named" {
  run -0 check k --limit 2/s --limit 3/1m
  assert_output 'allowed key=k limit=2/1s,3/60s remaining=1 reset=60.000s'
  run -0 check k --limit 2/s --limit 3/1m
  run -1 check k --limit 2/s --limit 3/1m
  assert_output \
    'denied key=k limit=2/1s,3/60s remaining=0 retry_after=1.000s reset=60.000s denied_by={k}:1s'
  run -0 rlctl check k --limit 2/s --limit 3/1m --now 1001000000
  run -1 rlctl check k --limit 2/s --limit 3/1m --now 1002000000
  assert_output \
    'denied key=k limit=2/1s,3/60s remaining=0 retry_after=58.000s reset=59.000s denied_by={k}:60s'
  # A denial takes nothing from the key that would have allowed it.
  assert_equal "$(cli LLEN '{k}:60s')" 3
}

@test "--quiet prints nothing except errors" {
  run -0 --separate-stderr check k --limit 1/60s -q
  assert_equal "$output$stderr" ''
  run -1 --separate-stderr check k --limit 1/60s --quiet
  assert_equal "$output$stderr" ''
  run -3 --separate-stderr check k --limit 1/60s -q -u unix:///nowhere
  assert_equal "$stderr" 'rlctl: cannot connect to unix:///nowhere: no such file or directory'
}

# --- JSON -------------------------------------------------------------------------------------------

@test "JSON of an allowed request" {
  run -0 --separate-stderr check k --limit 5/60s --json
  assert_output '{"key":"k","algorithm":"sliding-window-log","allowed":true,"cost":1,"remaining":4,"retry_after_us":0,"reset_after_us":60000000,"delay_us":0,"limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":null}'
  assert_equal "$stderr" ''
}

@test "JSON of several limits has their keys and the one that denied" {
  check k --limit 9/s --limit 1/1m
  run -1 check k --limit 9/s --limit 1/1m --json
  assert_json '.key == "k" and .denied_by == "{k}:60s" and .limits == [
    {key: "{k}:1s", limit: 9, window_us: 1000000, burst: null},
    {key: "{k}:60s", limit: 1, window_us: 60000000, burst: null}]'
}

@test "with --json an error prints nothing on stdout and one object on stderr" {
  run -3 --separate-stderr check k --limit 5/60s --json -u unix:///nowhere
  assert_output ''
  assert_equal "$stderr" \
    '{"error":{"code":"unreachable","message":"cannot connect to unix:///nowhere: no such file or directory","hint":null}}'
  run -4 --separate-stderr env REDISCLI_AUTH=x rlctl check k --limit 5/60s --json
  assert_output ''
  run -0 gojq -ec '[.error | .code, .message, .hint | type]' <<<"$stderr"
  assert_output '["string","string","string"]'
}
