# A master that Sentinels watch over, and batches while it changes.

load ../support/common
load ../support/cluster
load ../support/batch_fire

@test "check, batch, quota, inspect, reset and run find the master" {
  start_sentinels 1
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

@test "one Sentinel that answers is enough, and without one the status is 3" {
  start_sentinels 1
  kill_at "${sentinel_pids[0]}" "${sentinel_sockets[0]}"
  kill_at "${sentinel_pids[1]}" "${sentinel_sockets[1]}"
  run -0 rlctl check k --limit 2/60s
  kill_at "${sentinel_pids[2]}" "${sentinel_sockets[2]}"
  run -3 rlctl check k --limit 2/60s
  assert_output --partial 'no Sentinel of'
  assert_output --partial "${sentinel_ports[2]}"
}

@test "a name that the Sentinels do not know, and a server that is no Sentinel, are wrong usage" {
  start_sentinels 0
  run -2 rlctl -u "redis+sentinel://$sentinels/other" check k --limit 2/60s
  assert_output --partial "does not know a master named 'other'"
  assert_output --partial 'SENTINEL MASTERS'
  run -2 rlctl -u "redis+sentinel://127.0.0.1:${data_ports[0]}/mymaster" check k --limit 2/60s
  assert_output --partial 'is not a Sentinel'
}

@test "the master's password and database are used for it, not for the Sentinels" {
  start_sentinels 0
  redis-cli -s "${data_sockets[0]}" CONFIG SET requirepass secret
  run -4 rlctl check k --limit 2/60s
  assert_output --partial NOAUTH
  REDISCLI_AUTH=wrong run -4 rlctl check k --limit 2/60s
  assert_output --partial WRONGPASS
  REDISCLI_AUTH=secret run -0 rlctl -u "redis+sentinel://$sentinels/mymaster/3" check k --limit 2/60s
  assert_equal "$(redis-cli -s "${data_sockets[0]}" -a secret --no-auth-warning -n 3 EXISTS k)" 1
}

@test "a Sentinel that names a server that is a replica is asked again until it is not" {
  start_sentinels 1
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

@test "a master that becomes a replica without hanging up refuses, and its lines go to the new one" {
  start_sentinels 1
  start_batch
  feed 40
  # What Sentinels do, except for hanging up on the clients; every write has reached the replica.
  local sentinel
  wait_until eval '(($(wc -l <"$answers") == 40 * lines / 100))'
  wait_until eval '[[ $(redis-cli -s "${data_sockets[0]}" INFO replication | grep -oP "slave0.*offset=\K\d+") == \
    $(redis-cli -s "${data_sockets[0]}" INFO replication | grep -oP "master_repl_offset:\K\d+") ]]'
  redis-cli -s "${data_sockets[1]}" REPLICAOF NO ONE
  redis-cli -s "${data_sockets[0]}" REPLICAOF 127.0.0.1 "${data_ports[1]}"
  for sentinel in 0 1 2; do
    sentinel_cli "$sentinel" SENTINEL REMOVE mymaster
    sentinel_cli "$sentinel" SENTINEL MONITOR mymaster 127.0.0.1 "${data_ports[1]}" 2
  done
  end_batch
  assert_equal "$status" 1
  check_answers
  add_units "${data_sockets[1]}"
  every 'allowed == least && denied == asked - least && units == allowed && doubt + unsent == 0'
}

# Replication is asynchronous: the old master's last answers may be unknown to the new one, which then allows
# as much again. Neither allows more than the limit, and no line is counted twice.
survives='units <= limit && units <= allowed + doubt && allowed <= 2 * limit && unsent == 0 &&
  (denied == 0 || allowed + doubt >= limit)'

@test "a failover in mid-batch answers each line once, and says what is unknown" {
  start_sentinels 2
  start_batch
  feed 20
  feed 40 &
  local feeder=$!
  failover
  wait "$feeder"
  end_batch
  check_answers
  add_units "$(socket_of "$(master_port)")"
  every "$survives"
}

@test "a master that is killed in mid-batch leaves only the lines in flight in doubt" {
  down_after=1000 start_sentinels 2
  start_batch
  feed 20
  feed 40 &
  local feeder=$!
  kill_master
  wait "$feeder"
  end_batch
  check_answers
  # No more than are in flight at once.
  (($(awk '{ doubt += $5 } END { print doubt }' "$counts") <= 1000))
  add_units "$(socket_of "$(master_port)")"
  every "$survives"
}

# socket_of PORT: of the server.
socket_of() {
  local server
  for server in "${!data_ports[@]}"; do
    if [[ ${data_ports[server]} == "$1" ]]; then echo "${data_sockets[server]}"; fi
  done
}

@test "with a short time-out, a batch goes on with the new master" {
  down_after=1000 start_sentinels 2
  start_batch --timeout 2s
  feed 10
  kill_master
  wait_until eval "feed 1; tail -n 400 '$answers' | grep -c '^error' | grep -qx 0"
  end_batch
  check_answers
  add_units "$(socket_of "$(master_port)")"
  every 'units <= limit && units <= allowed + doubt && allowed <= 2 * limit'
}
