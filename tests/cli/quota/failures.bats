# needs: server
load ../../support/common

# Whatever goes wrong, `rlctl quota` exits with status 3 and says so in its first line on standard output, and
# writes nothing to standard error.

# unknown WORDS COMMAND…: runs the command and checks that it reports these words.
unknown() {
  local words=$1
  shift
  run_with_timeout -3 --separate-stderr "$@"
  assert_line --index 0 --partial "RATELIMIT UNKNOWN - $words"
  assert_equal "$stderr" ''
  ((${#lines[@]} <= 2)) || fail "more than two lines: $output"
}

@test "wrong usage is UNKNOWN, even before the command" {
  unknown "unknown option '-w'" rlctl -w 80% quota k
  assert_line --index 1 'hint: put the options of a command after the command'
}

@test "no server is UNKNOWN" {
  unknown 'cannot connect to unix:' rlctl quota k
  unknown 'cannot connect to redis://127.0.0.1:1: ' rlctl quota k -p 1
}

@test "a server that does not answer, or not RESP, is UNKNOWN" {
  start_fake_server ''
  unknown 'no answer from ' rlctl quota k -t 100ms
  assert_line --index 0 --partial 'within 100ms'
  start_fake_server --close 'HTTP/1.1 400 Bad Request\r\n'
  unknown '' rlctl quota k
}

@test "a server that is not ready is UNKNOWN" {
  start_fake_server '-LOADING Redis is loading the dataset in memory\r\n'
  unknown '' rlctl quota k
  assert_line --index 0 --partial 'loading'
}

@test "a user whom the server refuses is UNKNOWN" {
  start_server
  cli ACL SETUSER nobody on nopass '~*' +ping >/dev/null
  unknown '' rlctl quota k --user nobody
  assert_line --index 1 --partial 'hint: grant what quota needs, besides access to its keys: ACL SETUSER nobody +time '
  cli ACL SETUSER nobody resetkeys '~good*' '+@all' >/dev/null
  REDISCLI_AUTH=x unknown "'bad': " rlctl quota bad --user nobody
  REDISCLI_AUTH=x run -3 rlctl quota good bad --user nobody --limit 5/60s
  assert_line --index 1 'OK good does not exist (0 of 5)'
}

@test "a wrong type is UNKNOWN" {
  start_server
  cli RPUSH list job >/dev/null
  unknown "'list' holds a list that is not a limiter's state" rlctl quota list
  assert_line --index 1 'hint: rlctl inspect list shows what it holds'
  rlctl check -q k --limit 5/60s --algorithm gcra
  unknown "'k' holds the state of gcra, not of fixed-window: check would fail" \
    rlctl quota k --limit 5/60s --algorithm fixed-window
}

@test "a hint is a command to copy, or is left out: a bar would begin performance data" {
  start_server
  cli RPUSH 'a|b' job >/dev/null
  unknown "'a\x7cb' holds a list" rlctl quota 'a|b'
  assert_equal "${#lines[@]}" 1
}

@test "a log without a limit is UNKNOWN, with the option that names it" {
  start_server
  rlctl check -q k --limit 5/60s
  unknown "the state of 'k' does not include its limit" rlctl quota k
  assert_line --index 1 'hint: pass --limit or --policy'
}

@test "with --json, a failure is an object on standard output" {
  run -3 --separate-stderr rlctl quota k --json
  assert_equal "$stderr" ''
  assert_equal "$(gojq -c '[.status, .limits, .error.code]' <<<"$output")" '["unknown",[],"unreachable"]'
  run -3 --separate-stderr rlctl quota k --json -w x
  assert_equal "$(gojq -c '[.status, .error.code]' <<<"$output")" '["unknown","usage"]'
}

@test "-q does not hide a failure" {
  unknown 'cannot connect' rlctl quota -q k
}

@test "if standard output cannot be written, the error goes to standard error" {
  start_server
  run -3 bash -c 'rlctl quota k 2>&1 >/dev/full'
  assert_output --regexp '^rlctl: quota: .*no space left'
  run -3 bash -c 'rlctl quota k 2>&1 >&-'
  assert_output --partial 'rlctl: quota: '
}

@test "it works in the environment of cron: no TERM, no HOME, standard input closed" {
  start_server
  run -0 --separate-stderr env -i PATH=/usr/bin:/bin "$RLCTL_BUILD/cli/rlctl" quota k -s "$socket" -t 120 <&-
  assert_output 'RATELIMIT OK - k does not exist | used=0;;;0 reset=0s'
  assert_equal "$stderr" ''
  run -0 env -i "$RLCTL_BUILD/cli/rlctl" quota -q k -s "$socket" -t 120 <&-
  assert_output ''
}

@test "a limit that a key cannot have leaves only that key unjudged" {
  start_server
  rlctl check -q --algorithm gcra --limit 10/60s k
  rlctl check -q --algorithm fixed-window --limit 10/1000d --cost 10 full
  run -1 --separate-stderr rlctl quota --limit 100M/1d -w 5 -c 1000 k full
  assert_line --index 0 --partial "RATELIMIT WARNING - full"
  assert_line --partial "UNKNOWN 'k':"
}

@test "a KEY that is named like a command with statuses of its own is only a KEY" {
  run -2 rlctl -q check --limit 5 quota
  run -2 rlctl -q check --limit 5 run
}
