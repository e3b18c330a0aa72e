# needs: server
load ../../support/common

# What sleeps; wait.t has what is answered at once.

setup_file() { start_server; }
setup() { cli FLUSHALL && export waits=$BATS_TEST_TMPDIR/waits; }

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# traced COMMAND…: becomes the command, whose waits are written to the file $waits. (LeakSanitizer traces the process
# itself.)
traced() {
  export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
  exec strace -f -qq -e trace=?poll,ppoll,?select,pselect6,nanosleep,clock_nanosleep -o "$waits" "$@"
}
export -f traced

# slept_ms: how long rlctl has asked the system to sleep, in all: its waits that nothing but their time ended.
slept_ms() {
  perl -ne '
    next if !/= 0 \(Timeout\)$|nanosleep\(.*= 0$/;
    $ms += /\{tv_sec=(\d+), tv_nsec=(\d+)\}/ ? $1 * 1000 + $2 / 1e6 : / poll\(.*, (\d+)\) / ? $1 : die $_;
    END { printf "%d\n", $ms }' "$waits"
}

# has_waited OPTION…: makes a request with the limit $limit and another one with these options, which must sleep, as it
# must unless the machine is so busy that the time is over by then. Sets $took and $slept, in ms, beside what `run` sets.
has_waited() {
  local start
  needs_trace
  cli FLUSHALL >/dev/null
  start=$(now_ms)
  rlctl check -q k "${limit[@]}"
  run_with_timeout --separate-stderr bash -c 'traced "$@"' - rlctl check k "${limit[@]}" "$@"
  took=$(($(now_ms) - start))
  slept=$(slept_ms)
  ((status || slept))
}

# waits_for WINDOW MS OPTION…: with these options, a second request is allowed, and not earlier than one window, of MS
# ms, after the first. It sleeps for no longer than the window, which does not depend on how busy the machine is.
waits_for() {
  local took slept limit=(--limit "1/$1")
  wait_until has_waited "${@:3}"
  assert_success
  ((took >= $2)) || fail "took $took ms, not $2: $output$stderr"
  ((slept <= $2)) || fail "slept for $slept ms, and the window has $2: $(<"$waits")"
}

@test "--wait and --wait=TIME sleep until the request is allowed, which may be longer than the timeout" {
  waits_for 500ms 500 --wait
  assert_output 'allowed key=k limit=1/500ms remaining=0 reset=0.500s'
  assert_equal "$stderr" ''
  waits_for 2500ms 2500 --wait=1h --timeout 2s
}

# Only redis-cli itself is connected, and the limiter has been called.
has_gone_to_sleep() { (($(calls evalsha) && $(cli CLIENT LIST | wc -l) == 1)); }

@test "--wait keeps no connection open while it sleeps" {
  rlctl check -q k --limit 1/2s
  cli CONFIG RESETSTAT
  rlctl check k --limit 1/2s --wait >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- 4>&- &
  pause=0.1 wait_until has_gone_to_sleep
  cli CLIENT KILL TYPE normal
  wait "$!"
  run -0 cat "$BATS_TEST_TMPDIR/out"
  assert_output --partial 'allowed key=k '
}

@test "several waiters for one key are all allowed in the end, and never too many" {
  local start i pids=()
  start=$(now_ms)
  for i in {1..6}; do
    rlctl check k --limit 2/400ms --wait -q 3>&- 4>&- &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i"; done
  (($(now_ms) - start >= 800)) || fail 'six of them in less than two windows of 400 ms'
}

@test "leaky-bucket: --wait sleeps for the delay" {
  local took slept delay limit=(--limit 2/4s --algorithm leaky-bucket)
  wait_until has_waited --wait
  assert_output --regexp '^allowed .* delay=[0-2]\.[0-9]{3}s$'
  delay=${output##*delay=} delay=${delay%s} delay=$((10#${delay/./}))
  ((delay > 0 && delay <= 2000 && took >= delay)) || fail "it took $took ms for a delay of $delay ms"
  ((slept <= delay + 1)) || fail "slept for $slept ms, and the delay is $delay ms: $(<"$waits")"
}

@test "the time left is shown on a terminal but not in a pipe" {
  needs_terminal
  rlctl check -q k --limit 1/1h
  run -130 at_terminal 'wait_until grep -q "for k; Ctrl-C stops" "$screen"; printf "\003"' \
    'rlctl check k --limit 1/1h --wait'
  run -0 cat "$BATS_TEST_TMPDIR/screen"
  assert_output --regexp 'waiting [0-9]+s for k; Ctrl-C stops'
  cli FLUSHALL
  rlctl check -q k --limit 1/1s
  run -0 script -qec 'rlctl check k --limit 1/1s --wait' /dev/null </dev/null
  assert_output --partial 'allowed key=k '
  run -0 --separate-stderr rlctl check k --limit 1/1500ms --wait
  assert_equal "$stderr" ''
}
