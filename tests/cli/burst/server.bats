# needs: server
load ../../support/common

# The server on which `rlctl burst` runs; it leaves nothing there.

setup() { export TMPDIR=$BATS_TEST_TMPDIR; }

@test "burst uses a private server, whatever RLCTL_URL and the configuration name" {
  start_server
  cli CONFIG RESETSTAT
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  printf 'url = "unix://%s"\ntimeout = "120s"\n' "$socket" >"$RLCTL_CONFIG"
  chmod 600 "$RLCTL_CONFIG"
  run -0 --separate-stderr rlctl burst
  assert_equal "$stderr" ''
  unset RLCTL_URL
  run -0 rlctl burst -q
  run -1 bash -c 'redis-cli -s "$socket" INFO commandstats | grep -iE "eval|script"'
  nothing_is_left
}

@test "another server is named with the key prefix and left unchanged" {
  start_server
  local other=$socket
  start_server
  cli SET rlctl-burst:mine 1
  export RLCTL_URL=unix://$other
  run -0 --separate-stderr rlctl burst -s "$socket" --limit 10/s --limit 30/60s --keys 700 --json
  local report named=$stderr
  report=$(gojq -c 'del(.command)' <<<"$output")
  assert_equal "$(grep -cE "^rlctl: burst: writing under 'rlctl-burst:[0-9a-f]{16}:' on unix://$socket$" \
    <<<"$stderr")" 1
  assert_equal "$(cli DBSIZE)" 1
  assert_equal "$(redis-cli -s "$other" INFO commandstats | grep -ci eval)" 0
  assert_equal "$(cli INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_unlink:calls=\([0-9]*\),.*/\1/p')" 7
  # The prefix changes each time, and is not part of the report.
  run -0 --separate-stderr rlctl burst -u "unix://$socket" --limit 10/s --limit 30/60s --keys 700 --json
  assert_equal "$(gojq -c 'del(.command)' <<<"$output")" "$report"
  assert_not_equal "$stderr" "$named"
}

@test "keys have the prefix and a TTL during a run, and kill -9 leaves nothing else" {
  start_server
  rlctl burst steady -s "$socket" --limit 1000/60s --requests 3000000 --keys 50 2>"$BATS_TEST_TMPDIR/said" 3>&- &
  local pid=$!
  wait_until eval '(($(cli DBSIZE) == 50))'
  kill -KILL "$pid"
  wait "$pid" || true
  local prefix key keys
  prefix=$(sed -n "s/.*writing under '\(.*\)' on .*/\1/p" "$BATS_TEST_TMPDIR/said")
  [[ $prefix == rlctl-burst:*: ]]
  lines_of keys cli KEYS '*'
  for key in "${keys[@]}"; do
    [[ $key == "$prefix"* ]] || fail "$key"
    (($(cli PTTL "$key") > 0)) || fail "$key has no TTL"
  done
}

# make_slow_script COUNT: a script that counts this far in each call.
make_slow_script() {
  cat >"$TMPDIR/slow.lua" <<SCRIPT
redis.call('INCR', KEYS[1])
for i = 1, $1 do end
return 1
SCRIPT
}

@test "after a signal a slow server has --timeout for all requests in flight together" {
  # The server reads few requests with long arguments at once, so that each answer is in time.
  printf -v long '%06000d' 1
  export long
  # The first request is alone; all others follow its answer together.
  local count=20000000
  gives_up() {
    # Less if the machine is so slow that the first answers are late.
    count=$((count > 1000000 ? count / 2 : 10000000))
    make_slow_script "$count"
    stop_servers
    start_server
    run ends_by TERM '(($(calls evalsha) > 1))' \
      bash -c 'exec rlctl burst steady "$TMPDIR/slow.lua" --args "$long" --limit 4000/60s -q -s "$socket" \
        --timeout 5s 2>"$TMPDIR/err"'
    # If the machine stands still for so long, it gives up before the signal; and if it sends so slowly that few
    # requests are in flight, they are answered in time, but not the removal of the keys.
    [[ $output == 'signal 15' ]] &&
      grep -qE "keys under 'rlctl-burst:.*' may be left; they stay unless the script lets them expire$" "$TMPDIR/err"
  }
  wait_until gives_up
}

@test "if keys cannot be removed, burst warns, and all results are valid" {
  start_server
  cli ACL SETUSER default -unlink
  run -0 --separate-stderr rlctl burst -s "$socket" --limit 10/1s
  [[ $stderr == *"warning: cannot remove the keys under 'rlctl-burst:"*'which expire by themselves'* ]]
  assert_line --regexp '^fixed-window +20 +20 +0 '
  assert_line --regexp '^sliding-window-log +20 +10 +10 '
  (($(cli PTTL "$(cli RANDOMKEY)") > 0))
  cli FLUSHALL >/dev/null
  echo "return redis.call('INCR', KEYS[1])" >"$BATS_TEST_TMPDIR/incr.lua"
  run -0 --separate-stderr rlctl burst -s "$socket" "$BATS_TEST_TMPDIR/incr.lua" --args '{now_ms}' --allowed-when '<=limit' --requests 10
  assert_equal "$(grep -c 'cannot remove the keys' <<<"$stderr")" 1
  [[ $stderr == *'which stay unless the script lets them expire: '* ]]
}

@test "without MEMORY the bytes per key are omitted" {
  start_server
  cli ACL SETUSER default -memory
  run -0 --separate-stderr rlctl burst -s "$socket" --json
  run -0 gojq -c '[.runs[].bytes_per_key]' <<<"$output"
  assert_output '[null,null]'
}

@test "the bytes of a large sorted set are those that the server reports" {
  run -0 --separate-stderr rlctl burst sliding-window-zset --limit 1000/60s --json
  gojq -e '.runs[0].bytes_per_key > 80000' <<<"$output"
}

@test "a missing server and one that dies during a run are reported" {
  run -3 rlctl burst -s "$TMPDIR/none"
  assert_output --partial 'cannot connect'
  start_server
  rlctl burst steady -s "$socket" --requests 5000000 >"$TMPDIR/out" 2>"$TMPDIR/err" 3>&- &
  local pid=$! status=0
  wait_until eval '(($(cli DBSIZE) > 0))'
  stop_servers
  wait "$pid" || status=$?
  assert_equal "$status" 3
  assert_equal "$(cat "$TMPDIR/out")" ''
  # The failed removal is reported too.
  grep -q 'warning: cannot remove the keys' "$TMPDIR/err"
}

@test "burst uses the database of --db" {
  start_server
  cli -n 3 SET k v
  run -0 rlctl burst -q -s "$socket" -n 3
  assert_output --partial "on unix://$socket?db=3"
  assert_equal "$(cli INFO keyspace | tr -d '\r' | grep -c '^db')" 1
}

@test "keys are removed even if the server accepts no more connections" {
  start_server --maxclients 1
  run -0 --separate-stderr rlctl burst -s "$socket" --clock real --limit 10/50ms
  refute_output --partial 'cannot remove'
  assert_equal "$(cli DBSIZE)" 0
}

@test "the results before an error of the server are reported, and the keys written are removed" {
  start_server
  cli ACL SETUSER default -lindex
  run -4 --separate-stderr rlctl burst -s "$socket" --limit 10/1s
  assert_regex "$stderr" "rlctl: burst: unix://$socket: .*lindex"
  assert_line --partial 'ended by an error: covers the decisions before it'
  assert_line --regexp '^fixed-window +20 +20 +0 '
  refute_line --regexp '^sliding-window-log'
  assert_equal "$(cli DBSIZE)" 0
}
