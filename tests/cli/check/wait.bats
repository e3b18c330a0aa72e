# needs: server
load ../../support/common

setup_file() { start_server; }
setup() { cli FLUSHALL; }

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# traced COMMAND…: becomes the command, whose waits are written to the file $waits. (LeakSanitizer traces the process
# itself.)
traced() {
  export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
  exec strace -qq -e trace=ppoll -o "$waits" "$@"
}
export -f traced

# slept_ms: how long rlctl has asked the system to sleep, in all: its waits that nothing but their time ended.
slept_ms() {
  perl -ne '$ms += $1 * 1000 + $2 / 1e6 if /tv_sec=(\d+), tv_nsec=(\d+)\}.*= 0 \(Timeout\)/; END { printf "%d\n", $ms }' "$waits"
}

# waits_for WINDOW MS OPTION…: takes the only unit of a window and then requests another one with these
# options; that is allowed, and not earlier than one window, of MS ms, after the first. What it slept for was no longer
# than the window, which does not depend on how busy the machine is.
waits_for() {
  local window=$1 least=$2 start took
  shift 2
  export waits=$BATS_TEST_TMPDIR/waits
  start=$(now_ms)
  rlctl check -q k --limit "1/$window"
  run_with_timeout -0 --separate-stderr bash -c 'traced "$@"' - rlctl check k --limit "1/$window" "$@"
  took=$(($(now_ms) - start))
  ((took >= least)) || fail "took $took ms, not $least: $output$stderr"
  (($(slept_ms) <= least)) || fail "slept for $(slept_ms) ms, and the window has $least: $(<"$waits")"
}

# told_a_delay: makes the second request before the delay of two seconds has passed, as happens on all but the
# busiest machines, and waits for the rest of it.
told_a_delay() {
  local start
  cli FLUSHALL >/dev/null
  rlctl check -q k --limit 2/4s --algorithm leaky-bucket
  start=$(now_ms)
  run -0 bash -c 'traced "$@"' - rlctl check k --limit 2/4s --algorithm leaky-bucket --wait
  took=$(($(now_ms) - start))
  [[ $output == *delay=* ]]
}

@test "--wait sleeps until the request is allowed" {
  waits_for 500ms 500 --wait
  assert_output 'allowed key=k limit=1/500ms remaining=0 reset=0.500s'
  assert_equal "$stderr" ''
}

@test "--wait returns at once if there is room" {
  run_with_timeout -0 rlctl check k --limit 1/60s --wait
  assert_output 'allowed key=k limit=1/60s remaining=0 reset=60.000s'
}

@test "--wait=TIME sleeps no longer than needed" {
  waits_for 300ms 300 --wait=1h
}

@test "if --wait=TIME is too short, the request is denied at once and takes nothing" {
  run -0 rlctl check k --limit 1/1d
  run_with_timeout -1 rlctl check k --limit 1/1d --wait=1h
  assert_output --regexp '^denied key=k .* retry_after=[0-9.]+s '
  assert_equal "$(cli LLEN k)" 1
}

@test "--wait denies at once what can never be allowed" {
  run_with_timeout -1 rlctl check k --limit 1/60s --cost 2 --wait
  assert_output --partial retry_after=never
}

@test "--wait may sleep longer than the timeout" {
  waits_for 2500ms 2500 --wait --timeout 2s
}

# Only redis-cli itself is connected, and the limiter has been called.
has_gone_to_sleep() { (($(calls evalsha) && $(cli CLIENT LIST | wc -l) == 1)); }

@test "--wait keeps no connection open while it sleeps" {
  rlctl check -q k --limit 1/2s
  cli CONFIG RESETSTAT
  rlctl check k --limit 1/2s --wait >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- 4>&- &
  wait_until has_gone_to_sleep
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
  local took delay
  export waits=$BATS_TEST_TMPDIR/waits
  wait_until told_a_delay
  assert_output --regexp '^allowed .* delay=[0-2]\.[0-9]{3}s$'
  delay=${output##*delay=} delay=${delay%s} delay=$((10#${delay/./}))
  ((delay > 0 && delay <= 2000 && took >= delay)) || fail "it took $took ms for a delay of $delay ms"
  (($(slept_ms) <= delay + 1)) || fail "slept for $(slept_ms) ms, and the delay is $delay ms: $(<"$waits")"
}

@test "leaky-bucket: without --wait the delay is only printed" {
  run -0 rlctl check k --limit 1/1h --algorithm leaky-bucket --now 1000000000
  run_with_timeout -0 rlctl check k --limit 1/1h --algorithm leaky-bucket --now 1000000000
  assert_output --partial ' delay=3600.000s'
}

@test "leaky-bucket: a delay longer than --wait=TIME is denied at once and takes nothing" {
  run -0 rlctl check k --limit 1/1d --algorithm leaky-bucket
  local before
  before=$(cli GET k)
  run_with_timeout -1 rlctl check k --limit 1/1d --algorithm leaky-bucket --wait=1h
  assert_output --partial 'denied key=k '
  assert_equal "$(cli GET k)" "$before"
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
