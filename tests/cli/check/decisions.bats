# needs: server
load ../../support/common

setup_file() { start_server; }
setup() { cli FLUSHALL && lines_of all algorithms; }

# decides STATUS WORDS ARGUMENT…: rlctl check k, at one instant, exits with STATUS and prints WORDS.
decides() {
  local expected=$1 words=$2
  shift 2
  run "-$expected" --separate-stderr rlctl check k --now 1000000000 "$@"
  assert_output --partial "$words"
  assert_equal "$stderr" ''
}

algorithms() { cd "$project/lua" && printf '%s\n' *.lua | sed 's/\.lua$//; /^concurrency$/d'; }

# --- peeking ----------------------------------------------------------------------------------------

@test "--peek takes and writes nothing, whatever the answer" {
  local algorithm
  for algorithm in "${all[@]}"; do
    cli FLUSHALL
    decides 0 ' remaining=' --limit 5/60s --algorithm "$algorithm" --peek
    decides 1 ' remaining=' --limit 5/60s --algorithm "$algorithm" --peek --cost 7
    assert_equal "$algorithm $(cli DBSIZE)" "$algorithm 0"
    decides 0 ' remaining=' --limit 5/60s --algorithm "$algorithm"
    local before
    before=$(cli DUMP k | base64)
    decides 0 ' remaining=' --limit 5/60s --algorithm "$algorithm" --peek
    assert_equal "$algorithm $(cli DUMP k | base64)" "$algorithm $before"
  done
}

@test "--peek is denied if fewer than --cost units remain" {
  decides 0 'remaining=2 ' --limit 5/60s --cost 3
  decides 0 'allowed key=k limit=5/60s remaining=2 reset=60.000s' --limit 5/60s --peek --cost 2
  decides 1 'denied key=k limit=5/60s remaining=2 reset=60.000s' --limit 5/60s --peek --cost 3
  decides 1 'denied key=k limit=5/60s remaining=2 reset=60.000s' --limit 5/60s --peek --cost 5
  decides 0 'allowed ' --limit 5/60s --peek --cost 0
}

@test "--peek with several limits shows the smallest remainder and the key that would deny" {
  decides 0 'remaining=1 ' --limit 2/s --limit 9/60s
  decides 0 'remaining=1 reset=60.000s' --limit 2/s --limit 9/60s --peek
  decides 1 'remaining=1 reset=60.000s denied_by={k}:1s' --limit 2/s --limit 9/60s --peek --cost 2
  # A limit that can never allow it comes first.
  decides 1 'remaining=1 retry_after=never reset=60.000s denied_by={k}:60s' --limit 9/s --limit 2/60s --peek --cost 9
}

# --- costs ------------------------------------------------------------------------------------------

@test "--cost takes that many units at once, or none, or only looks, or returns those that were taken" {
  decides 0 'remaining=1 ' --limit 5/60s --cost 4
  decides 1 'remaining=1 retry_after=60.000s' --limit 5/60s --cost 2
  decides 0 'remaining=0 ' --limit 5/60s --cost=1
  decides 0 'allowed key=k limit=5/60s remaining=0 reset=60.000s' --limit 5/60s --cost 0
  decides 0 'remaining=2 ' --limit 5/60s --cost -2
  decides 0 'remaining=5 reset=0.000s' --limit 5/60s --cost -99
  assert_equal "$(cli EXISTS k)" 0
}

@test "a refund is made once, even if the script is not loaded" {
  local algorithm
  for algorithm in "${all[@]}"; do
    [[ $algorithm != leaky-bucket ]] || continue
    cli FLUSHALL
    decides 0 'remaining=9 ' --limit 9/60s --algorithm "$algorithm" --cost -2
    decides 0 'remaining=2 ' --limit 9/60s --algorithm "$algorithm" --cost 7
    cli SCRIPT FLUSH
    decides 0 'remaining=4 ' --limit 9/60s --algorithm "$algorithm" --cost -2
    decides 0 'remaining=9 ' --limit 9/60s --algorithm "$algorithm" --cost -99
  done
}

@test "a cost above the limit can never be allowed" {
  local algorithm
  for algorithm in "${all[@]}"; do
    cli FLUSHALL
    decides 1 ' retry_after=never ' --limit 5/60s --cost 7 --algorithm "$algorithm"
    decides 1 ' retry_after=never ' --limit 5/60s --cost 7 --algorithm "$algorithm" --peek
    decides 1 '"retry_after_us":-1,' --limit 5/60s --cost 7 --algorithm "$algorithm" --peek --json
    assert_equal "$(cli EXISTS k)" 0
  done
}

@test "the largest cost of each algorithm is accepted" {
  decides 0 'remaining=0 ' --limit 10000/60s --cost 10000
  cli FLUSHALL
  decides 0 'remaining=0 ' --limit 1000M/60s --cost 1000000000 --algorithm fixed-window
}

# --- bursts -----------------------------------------------------------------------------------------

@test "--burst is the most that is allowed at once, and defaults to the limit; leaky-bucket allows one more" {
  local algorithm burst most
  while read -r algorithm burst most; do
    cli FLUSHALL
    decides 0 'remaining=0 ' --limit 5/60s --algorithm "$algorithm" "$burst" --cost "$most"
    decides 1 'retry_after=12.000s' --limit 5/60s --algorithm "$algorithm" "$burst"
  done <<'END'
token-bucket --burst=2 2
gcra --burst=20 20
leaky-bucket --burst=2 3
END
  for algorithm in token-bucket:5 gcra:5 leaky-bucket:6; do
    cli FLUSHALL
    decides 0 'remaining=0 ' --limit 5/60s --algorithm "${algorithm%:*}" --cost "${algorithm#*:}"
  done
}

@test "--burst applies to each of several limits" {
  run -0 rlctl check k --limit 5/s --limit 9/60s --algorithm gcra --burst 3 --json
  run -0 gojq -c '[.limits[].burst]' <<<"$output"
  assert_output '[3,3]'
}

# --- the time ---------------------------------------------------------------------------------------

@test "--now takes microseconds, or ISO 8601 with a zone, where seconds and their fractions may be omitted" {
  local now
  for now in 1795155075155201 2026-11-20T06:11:15.155201Z '2026-11-20 06:11:15.155201Z' \
    2026-11-20T07:11:15.155201+01:00 2026-11-20T01:11:15.155201-0500 2026-11-20T06:11:15.155201+00; do
    run -0 rlctl check k --limit 99/60s --now "$now"
  done
  run -0 sort -u <(cli LRANGE k 0 -1)
  assert_output 1795155075155201
  cli DEL k
  for now in 2026-11-20T06:11:15Z 2026-11-20T06:11:15.5Z 1970-01-01T00:00Z; do
    run -0 rlctl check k --limit 9/60s --now "$now"
  done
  assert_equal "$(cli LRANGE k 0 -1)" $'1795155075000000\n1795155075500000\n1795155075500000'
}

@test "--now moves the window with microsecond precision" {
  run -0 rlctl check k --limit 1/60s --now 1000000000
  run -1 rlctl check k --limit 1/60s --now 1059999999
  run -0 rlctl check k --limit 1/60s --now 1060000000
}

@test "without --now the server's clock is used" {
  run -0 rlctl check k --limit 1/50ms
  sleep 0.06
  run -0 rlctl check k --limit 1/50ms
  run -0 rlctl check other --limit 1/1h
  run -1 rlctl check other --limit 1/1h
}

@test "a fixed window allows a thousand on each side of the edge, and the logs do not" {
  local algorithm
  for algorithm in fixed-window:2000 sliding-window-log:1000 sliding-window-zset:1000; do
    cli FLUSHALL
    run -0 rlctl check k --limit 1000/60s --algorithm "${algorithm%:*}" --cost 1000 --now 59990000
    run rlctl check k --limit 1000/60s --algorithm "${algorithm%:*}" --cost 1000 --now 60010000
    assert_equal "${algorithm%:*}:$(((2 - status) * 1000))" "$algorithm"
  done
}

# --- concurrency ------------------------------------------------------------------------------------

statuses() {
  local status=0
  rlctl check k -q "$@" || status=$?
  echo "status $status"
}

@test "every algorithm allows exactly twelve of thirty concurrent requests on one key" {
  local algorithm options i
  for algorithm in "${all[@]}"; do
    cli FLUSHALL
    cli SCRIPT FLUSH # each of the thirty may have to load it
    # The window is so long that none ends, and no unit returns, during the test.
    options=(--limit 12/1000d --algorithm "$algorithm")
    [[ $algorithm != leaky-bucket ]] || options+=(--burst 11)
    for i in {1..30}; do
      statuses "${options[@]}" >"$BATS_TEST_TMPDIR/$i" 3>&- 4>&- &
    done
    wait
    run -0 sort "$BATS_TEST_TMPDIR"/[1-9]*
    assert_equal "$algorithm $(uniq -c <<<"$output" | xargs)" "$algorithm 12 status 0 18 status 1"
  done
}
