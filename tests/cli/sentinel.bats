# needs: server
# A master that Sentinels watch over.

load ../support/common
load ../support/cluster

# The last test kills the Sentinels. They are disowned, so that bash does not report their death.
setup_file() {
  start_sentinels 1
  disown "${sentinel_pids[@]}"
}
setup() { cli FLUSHALL >/dev/null; }

@test "check, batch, quota, inspect, reset and run find the master" {
  run -0 rlctl check k --limit 2/60s
  assert_output --partial 'remaining=1'
  run -1 rlctl check --batch --limit 2/60s <<<$'k\nk\nother'
  assert_equal "$(cut -d' ' -f1,2 <<<"$output" | xargs)" 'allowed key=k denied key=k allowed key=other'
  run rlctl quota k --limit 2/60s
  assert_output --partial '2 of 2'
  run -0 rlctl inspect k --limit 2/60s
  assert_output --partial '2 of 2'
  run -0 rlctl run k2 --concurrency 1 -- echo ran
  assert_output --partial ran
  run -0 rlctl reset --match 'k' --yes
  assert_equal "$(redis-cli -p "$(master_port)" EXISTS k)" 0
}

@test "a name that the Sentinels do not know, and a server that is no Sentinel, are wrong usage" {
  run -2 rlctl -u "redis+sentinel://$sentinels/other" check k --limit 2/60s
  assert_output --partial "does not know a master named 'other'"
  assert_output --partial 'SENTINEL MASTERS'
  run -2 rlctl -u "redis+sentinel://127.0.0.1:${data_ports[0]}/mymaster" check k --limit 2/60s
  assert_output --partial 'is not a Sentinel'
  run -5 rlctl -u "redis://127.0.0.1:${sentinel_ports[0]}" check k --limit 2/60s
  assert_output --partial 'if it is a Sentinel, write --url redis+sentinel://'
  run -2 rlctl -u "redis+cluster://127.0.0.1:${sentinel_ports[0]}" check k --limit 2/60s
  assert_output --partial "if it is a Sentinel, write redis+sentinel://127.0.0.1:${sentinel_ports[0]}/MASTER"
}

@test "the master's password and database are used for it, not for the Sentinels" {
  cli CONFIG SET requirepass secret
  run -4 rlctl check k --limit 2/60s
  assert_output --partial NOAUTH
  REDISCLI_AUTH=wrong run -4 rlctl check k --limit 2/60s
  assert_output --partial WRONGPASS
  REDISCLI_AUTH=secret run -0 rlctl -u "redis+sentinel://$sentinels/mymaster/3" check k --limit 2/60s
  REDISCLI_AUTH=secret cli CONFIG SET requirepass ''
  assert_equal "$(cli -n 3 EXISTS k)" 1
}

@test "a Sentinel that names a server that is a replica is asked again until it is not" {
  # A Sentinel of its own, which is told nothing of the change.
  local port sentinel
  on_free_port start_sentinel
  sentinel=redis+sentinel://127.0.0.1:$port/mymaster
  socket=${socket} cli SENTINEL MONITOR mymaster 127.0.0.1 "${data_ports[1]}" 1
  run -3 rlctl -u "$sentinel" --timeout 300ms check k --limit 2/60s
  assert_output --partial "127.0.0.1:${data_ports[1]}"
  assert_output --partial 'is not a master'
  rlctl -u "$sentinel" check k --limit 2/60s >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
  local check=$!
  wait_until sleeps "$check"
  cli SENTINEL REMOVE mymaster
  cli SENTINEL MONITOR mymaster 127.0.0.1 "${data_ports[0]}" 1
  wait "$check"
  assert_equal "$(cut -d' ' -f1,2 "$BATS_TEST_TMPDIR/out")" 'allowed key=k'
}

@test "one Sentinel that answers is enough, and without one the status is 3" {
  kill_at "${sentinel_pids[0]}" "${sentinel_sockets[0]}"
  kill_at "${sentinel_pids[1]}" "${sentinel_sockets[1]}"
  run -0 rlctl check k --limit 2/60s
  kill_at "${sentinel_pids[2]}" "${sentinel_sockets[2]}"
  run -3 rlctl check k --limit 2/60s
  assert_output --partial 'no Sentinel of'
  assert_output --partial "${sentinel_ports[2]}"
}
