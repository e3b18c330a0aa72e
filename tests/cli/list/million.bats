load ../../support/common

# A million keys, which come and go while they are listed.

algorithms=(fixed-window gcra leaky-bucket sliding-window-counter sliding-window-log sliding-window-zset
  token-bucket)

setup() { [[ $RLCTL_BUILD != */sanitize ]] || skip 'ASan takes too long for a million keys, and all addresses'; }

# Copies a key of each algorithm 100,000 times, and makes as many of three other kinds.
setup_file() {
  start_server
  [[ $RLCTL_BUILD != */sanitize ]] || return 0
  local name number
  for name in "${algorithms[@]}"; do
    rlctl check -q "$name" --limit 5/1d --algorithm "$name"
    for number in {1..10}; do
      cli EVAL "local dump = redis.call('DUMP', KEYS[1])
        for i = 1, 10000 do redis.call('RESTORE', KEYS[1] .. ':' .. ARGV[1] .. ':' .. i, 86400000, dump) end" \
        1 "$name" "$number" >/dev/null
    done
    cli DEL "$name" >/dev/null
  done
  for number in {1..10}; do
    cli EVAL "for i = 1, 10000 do
        redis.call('SET', 'session:' .. ARGV[1] .. ':' .. i, 'the text of a session')
        redis.call('SADD', 'set:' .. ARGV[1] .. ':' .. i, 'a')
        redis.call('SET', 'hits:' .. ARGV[1] .. ':' .. i, i)
      end" 0 "$number" >/dev/null
  done
}

# most_memory COMMAND…: its output goes to $BATS_TEST_TMPDIR/out; prints the most memory that it had, in kB.
most_memory() {
  local pid most=0 now
  "$@" >"$BATS_TEST_TMPDIR/out" 2>/dev/null 3>&- &
  pid=$!
  while now=$(awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [[ -n $now ]]; do
    most=$now
    sleep 0.02
  done
  wait "$pid"
  echo "$most"
}

@test "a million keys are counted by algorithm, in less than 64 MB" {
  local most name
  most=$(most_memory rlctl list --totals --json)
  ((most > 1000 && most < 64000)) || fail "$most kB"
  for name in "${algorithms[@]}"; do
    assert_equal "$(jq -c --arg name "$name" 'select(.algorithm == $name) | [.keys, .no_ttl]' \
      "$BATS_TEST_TMPDIR/out")" '[100000,0]'
  done
}

@test "each key that stays is listed once while others come and go, in less than 64 MB" {
  local most
  (
    while true; do
      # The table grows.
      for number in {1..20}; do
        cli EVAL "for i = 1, 10000 do redis.call('SET', 'new:' .. ARGV[1] .. ':' .. i, 'x') end" 0 "$number"
      done
      for number in {1..20}; do
        cli EVAL "for i = 1, 10000 do redis.call('DEL', 'new:' .. ARGV[1] .. ':' .. i) end" 0 "$number"
      done
    done >/dev/null 2>&1
  ) 3>&- &
  most=$(most_memory rlctl list --json)
  kill $! 2>/dev/null
  wait $! || true
  ((most > 1000 && most < 64000)) || fail "$most kB"
  jq -r .key "$BATS_TEST_TMPDIR/out" | sort >"$BATS_TEST_TMPDIR/keys"
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/keys")" 700000
  assert_equal "$(uniq -d "$BATS_TEST_TMPDIR/keys")" ''
}

@test "the top of a million keys takes little memory" {
  local most
  rlctl check -q fullest --limit 5/1d --cost 5 --algorithm gcra
  rlctl check -q second --limit 5/1d --cost 4 --algorithm gcra
  most=$(most_memory rlctl list --top 20 --json)
  ((most > 1000 && most < 32000)) || fail "$most kB"
  assert_equal "$(jq -r .key "$BATS_TEST_TMPDIR/out" | head -n 2 | paste -sd ' ')" 'fullest second'
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/out")" 20
}

@test "a hundred thousand healthy keys of all algorithms under traffic have no findings" {
  cli FLUSHALL >/dev/null
  local name
  for name in "${algorithms[@]}"; do
    seq -f "$name:%.0f" 15000 | rlctl check --batch -q --limit 5/1d --algorithm "$name" >/dev/null
  done
  (
    while for name in "${algorithms[@]}"; do
      seq -f "$name:%.0f" 1000 | rlctl check --batch -q --limit 5/1d --algorithm "$name" || (($? == 1))
    done; do :; done >/dev/null 2>&1
  ) 3>&- &
  run rlctl audit
  kill $! 2>/dev/null
  wait $! || true
  assert_success
  assert_output --regexp '^no findings in [0-9]+ limiter keys; not judged: the TTLs of [0-9]+, whose window no policy gives$'
}
