# needs: server
# Batches on a Cluster whose slots move. rlctl waits for a slow server longer than a test takes.

load ../support/common
load ../support/cluster
load ../support/batch_fire

# The slots of one Cluster move.
setup_file() { start_cluster 3; }
setup() { flush_cluster; }

exact='allowed == least && denied == asked - least && units == allowed && doubt + unsent == 0'

@test "slots that move to and fro lose and repeat nothing" {
  start_batch
  local round slot to feeder rounds
  rounds=$(scaled 2 9)
  for ((round = 0; round < rounds; round++)); do
    feed $((90 / rounds)) &
    feeder=$!
    for key in $((round * 3)) 200; do
      slot=$(slot_of "key:$key")
      to=$((($(node_of_slot "$slot") + 1) % 3))
      begin_move "$slot" "$to"
      move_keys "$slot" "$to"
      end_move "$slot" "$to"
    done
    wait "$feeder"
  done
  end_batch
  assert_equal "$status" 1
  check_answers
  add_units "${cluster_sockets[@]}"
  every "$exact"
}

# bats test_tags=night
@test "keys of several limits that move one by one lose and repeat nothing" {
  start_batch --limit $((limit + 50))/2000h
  local round key slot to feeder rounds
  rounds=$(scaled 3 6)
  for ((round = 0; round < rounds; round++)); do
    key="{key:$((round * 7))}"
    slot=$(slot_of "$key")
    to=$((($(node_of_slot "$slot") + 1) % 3))
    feed $((60 / rounds)) &
    feeder=$!
    begin_move "$slot" "$to"
    # Now TRYAGAIN: a command may have neither key, or both, but not one.
    move_keys "$slot" "$to" "$key:3600000s"
    move_keys "$slot" "$to"
    end_move "$slot" "$to"
    wait "$feeder"
  done
  end_batch
  assert_equal "$status" 1
  check_answers
  units_key='{&}:3600000s' add_units "${cluster_sockets[@]}"
  every "$exact"
}

# takes_over NODE: whether the replica becomes the master, which Redis 6.0 may give up after five seconds.
takes_over() {
  local _
  node_cli "$1" CLUSTER FAILOVER || true # refused once it is the master
  for _ in {1..70}; do
    if [[ $(node_cli "$1" ROLE | head -n 1) == master ]]; then return; fi
    sleep 0.1
  done
  return 1
}

# bats test_tags=night
@test "a replica that takes over on request loses and repeats nothing" {
  start_cluster 3 1
  start_batch
  local node feeder
  for node in 3 4 5; do
    feed 15 &
    feeder=$!
    wait_until takes_over "$node"
    wait "$feeder"
    wait_for_failover
  done
  end_batch
  assert_equal "$status" 1
  check_answers
  add_units "${cluster_sockets[@]:3}"
  every "$exact"
}
