# needs: server
# Batches while the master that Sentinels watch over changes.

load ../support/common
load ../support/cluster
load ../support/batch_fire

# socket_of PORT: of the server.
socket_of() {
  local server
  for server in "${!data_ports[@]}"; do
    if [[ ${data_ports[server]} == "$1" ]]; then echo "${data_sockets[server]}"; fi
  done
}

# bats test_tags=night
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

# bats test_tags=night
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
  start_sentinels "$(scaled 1 2)"
  start_batch
  feed 20
  feed 40 &
  local feeder=$!
  kill_master
  wait "$feeder"
  end_batch
  check_answers
  add_units "$(socket_of "$(master_port)")"
  every "$survives"
}

# bats test_tags=night
@test "with a short timeout, a batch goes on with the new master" {
  start_sentinels 2
  start_batch --timeout 2s
  feed 10
  kill_master
  wait_until eval "feed 1; tail -n 400 '$answers' | grep -c '^error' | grep -qx 0"
  end_batch
  check_answers
  add_units "$(socket_of "$(master_port)")"
  every 'units <= limit && units <= allowed + doubt && allowed <= 2 * limit'
}
