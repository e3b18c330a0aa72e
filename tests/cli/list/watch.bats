# needs: server
load ../../support/common

# `rlctl list --watch`: on a terminal and in a pipe. inspect/watch.bats has what every --watch does.

setup() {
  start_server
  out=$BATS_TEST_TMPDIR/out
  printf 'k%s\n' {1..30} | rlctl check --batch -q --limit 5/1h --algorithm gcra >/dev/null
}

# watch_in_terminal KEYS COMMAND: runs the command in a terminal of 20 lines, and types KEYS once it has drawn. $output
# is the screen without escape sequences.
watch_in_terminal() {
  TERM=xterm run -130 at_terminal "wait_until grep -q 'Ctrl-C ends' \"\$screen\"; $1; printf '\003'" "stty rows 20; $2"
  run -0 sed $'s/\e\\[[0-9;?]*[a-zA-Z]//g; s/\r$//' "$BATS_TEST_TMPDIR/screen"
}

# has LINES TEXT: the file $out has so many lines with this text.
has() { (($(grep -cF -- "$2" "$out") >= $1)); }

# in_pipe KEYS [OPTION…]: watches in a pipe, writing to $out, until the shell command KEYS has run.
in_pipe() {
  local pid
  bound rlctl list --watch=100ms "${@:2}" >"$out" 3>&- &
  pid=$!
  eval "$1"
  kill "$pid"
  wait "$pid" || (($? == 143))
}

@test "on a terminal the fullest keys are redrawn as they change, as many as fit" {
  needs_terminal
  watch_in_terminal 'rlctl check -q k7 --limit 5/1h --cost 4 --algorithm gcra; wait_until grep -q "100%.*k7" "$screen"' \
    'stty cols 100; rlctl list --watch=100ms'
  assert_line --regexp '^30 limiters, 0 full; scanned [0-9]+ s ago$'
  # The last text, which stays: 20 lines without what is not rows.
  assert_equal "$(sed -n $'/\e\\[?1049l/,$p' "$BATS_TEST_TMPDIR/screen" | grep -c '5/1h')" 16
}

@test "on a narrow terminal columns are left out, and a long key loses its middle" {
  needs_terminal
  rlctl check -q login:user-with-a-rather-long-name-that-ends-in:ann --limit 5/1h --cost 5 --algorithm gcra
  watch_in_terminal : 'stty cols 50; rlctl list --watch=100ms'
  assert_line --regexp '^ +5 +5/1h +100%  login:user.*s-in:ann$'
  watch_in_terminal : 'stty cols 80; rlctl list --watch=100ms'
  assert_line --regexp '^ +5 +5/1h +100% +[^ ]+  login:user-with-.*that-ends-in:ann$'
}

@test "in a pipe the text or the JSON is printed again and again, and --top says of how many keys" {
  in_pipe 'wait_until has 3 limiters' --top 4 --sort key
  run -0 head -n 6 "$out"
  assert_line --index 0 --regexp '^30 limiters, 0 full; .*scanned [0-9]+ s ago$'
  assert_line --index 2 --regexp ' k1$'
  assert_line --index 5 --regexp ' k12$'
  in_pipe 'wait_until has 6 key' --top 2 --json --sort key
  assert_equal "$(head -n 4 "$out" | gojq -r .key | paste -sd ' ')" 'k1 k10 k1 k10'
}

# summary [OPTION…]: the first line of what is watched, up to the time of the scan.
summary() {
  in_pipe 'wait_until has 1 scanned' "$@"
  head -n 1 "$out" | sed 's/; scanned.*//'
}

@test "the first line counts the keys that match, that are full, and whose limit is not known or another" {
  rlctl check -q full --limit 5/1h --cost 5 --algorithm gcra
  rlctl check -q unknown --limit 5/1h --cost 5
  assert_equal "$(summary --above 90% 'f*')" '1 matching limiter, 1 full'
  has 1 ' full'
  assert_equal "$(summary 'k*')" '30 matching limiters, 0 full'
  assert_equal "$(summary unknown)" '1 matching limiter, 0 full, the limit of 1 not known'
  assert_equal "$(summary --above 90% unknown)" '0 matching limiters, 0 full, the limit of 1 not known'
  assert_equal "$(summary --limit 1/1h 'k1?')" \
    '10 matching limiters, 10 full, 10 with another limit stored than --limit 1/1h'
}

# Adds so many keys that there is a pause between two scans.
add_many() {
  cli EVAL "for i = 1, 20000 do
      redis.call('RESTORE', 'many:' .. i, 3600000, redis.call('DUMP', KEYS[1]))
    end" 1 k1 >/dev/null
}

@test "a lost connection does not empty the list" {
  add_many
  in_pipe 'wait_until has 1 limiters
    for _ in {1..20}; do
      cli CLIENT KILL TYPE normal >/dev/null
      sleep 0.05
    done
    wait_until has "$(($(grep -c limiters "$out") + 3))" limiters' --top 3
  assert_equal "$(grep -c '5/1h' "$out")" "$((3 * $(grep -c limiters "$out")))"
}

# looked PASS: there are more looks than passes of as many calls of SCAN.
looked() {
  local scans
  scans=$(calls scan)
  has "$((scans / $1 + 3))" limiters
}

@test "between scans only what is shown is read" {
  add_many
  cli CONFIG RESETSTAT >/dev/null
  rlctl list --totals >/dev/null
  local pass reads
  pass=$(calls scan) reads=$(calls getrange)
  ((reads > 20000)) || fail "only $reads keys were read"
  cli CONFIG RESETSTAT >/dev/null
  in_pipe 'wait_until looked "$pass"' --top 4
  local most=$((($(calls scan) / pass + 1) * reads + 4 * ($(grep -c limiters "$out") + 1)))
  (($(calls getrange) <= most)) || fail "$(calls getrange) keys were read, not $most"
}
