load ../../support/common

setup_file() { start_server; }
setup() { cli FLUSHALL; }

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# takes_at_least MS STATUS COMMAND…: run, and how long it took. A machine that is busy may take
# longer, so that only two seconds more are a failure.
takes_at_least() {
  local least=$1 expected=$2 start took
  shift 2
  start=$(now_ms)
  run "-$expected" --separate-stderr "$@"
  took=$(($(now_ms) - start))
  ((took >= least && took < least + 2000)) || fail "took $took ms, not about $least: $output$stderr"
}

@test "--wait sleeps until allowed" {
  run -0 rlctl check k --limit 1/500ms
  takes_at_least 400 0 rlctl check k --limit 1/500ms --wait
  assert_output --regexp '^allowed key=k limit=1/500ms remaining=0 reset=0\.500s$'
  assert_equal "$stderr" ''
}

@test "--wait asks at once where there is room" {
  run_with_timeout -0 0.8 rlctl check k --limit 1/60s --wait
  assert_output 'allowed key=k limit=1/60s remaining=0 reset=60.000s'
}

@test "--wait=TIME that is long enough is used only as far as needed" {
  run -0 rlctl check k --limit 1/300ms
  takes_at_least 200 0 rlctl check k --limit 1/300ms --wait=30s
}

@test "--wait=TIME that is too short is denied at once, and takes nothing" {
  run -0 rlctl check k --limit 1/60s
  run_with_timeout -1 0.8 rlctl check k --limit 1/60s --wait=5s
  assert_output --regexp '^denied key=k .* retry_after=(60\.000|59\.[0-9]{3})s '
  assert_equal "$(cli LLEN k)" 1
}

@test "--wait for what can never be allowed is denied at once" {
  run_with_timeout -1 0.8 rlctl check k --limit 1/60s --cost 2 --wait
  assert_output --partial retry_after=never
}

@test "--wait sleeps longer than the time-out" {
  run -0 rlctl check k --limit 1/700ms
  takes_at_least 500 0 rlctl check k --limit 1/700ms --wait --timeout 100ms
}

@test "--wait survives the server closing the connection while it sleeps" {
  run -0 rlctl check k --limit 1/2s
  rlctl check k --limit 1/2s --wait >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- 4>&- &
  sleep 0.5
  cli CLIENT KILL TYPE normal
  wait "$!"
  run -0 cat "$BATS_TEST_TMPDIR/out"
  assert_output --partial 'allowed key=k '
}

@test "several that wait for one key are all allowed in the end, and never too many" {
  local start i pids=()
  start=$(now_ms)
  for i in {1..6}; do
    rlctl check k --limit 2/400ms --wait -q --timeout 5s 3>&- 4>&- &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i"; done
  (($(now_ms) - start >= 700)) || fail 'six of them in less than two windows of 400 ms'
}

@test "leaky-bucket: --wait sleeps the delay" {
  local start took delay
  run -0 rlctl check k --limit 2/4s --algorithm leaky-bucket
  start=$(now_ms)
  run -0 rlctl check k --limit 2/4s --algorithm leaky-bucket --wait
  took=$(($(now_ms) - start))
  assert_output --regexp '^allowed .* delay=[0-2]\.[0-9]{3}s$'
  # What is left of two seconds: the machine may be slow.
  delay=${output##*delay=} delay=${delay%s} delay=$((10#${delay/./}))
  ((delay > 0 && delay <= 2000 && took >= delay)) || fail "it took $took ms for a delay of $delay ms"
}

@test "leaky-bucket: without --wait the delay is only told" {
  run -0 rlctl check k --limit 1/60s --algorithm leaky-bucket
  run_with_timeout -0 0.8 rlctl check k --limit 1/60s --algorithm leaky-bucket
  assert_output --regexp ' delay=(60\.000|59\.[0-9]{3})s$'
}

@test "leaky-bucket: a delay that is longer than --wait=TIME is denied at once, and takes nothing" {
  run -0 rlctl check k --limit 1/60s --algorithm leaky-bucket
  local before
  before=$(cli GET k)
  run_with_timeout -1 0.8 rlctl check k --limit 1/60s --algorithm leaky-bucket --wait=5s
  assert_output --partial 'denied key=k '
  assert_equal "$(cli GET k)" "$before"
}

@test "a terminal is told how long a wait still is, a pipe is not" {
  script -qec true /dev/null >/dev/null </dev/null || skip "script(1) has no terminal to give here"
  rlctl check -q k --limit 1/4s
  run -0 script -qec 'rlctl check k --limit 1/4s --wait' /dev/null </dev/null
  assert_output --partial 'waiting '
  assert_output --partial 's for k; Ctrl-C stops'
  assert_output --partial 'allowed key=k '
  run -0 --separate-stderr rlctl check k --limit 1/1500ms --wait
  assert_equal "$stderr" ''
}
