# The helpers of tests/support/cluster.bash, which other tests rely on.

load ../support/common
load ../support/cluster

@test "a Cluster has its nodes, redirects, and moves slots in steps" {
  local slot from to
  start_cluster 3 1
  assert_equal "${#cluster_ports[@]} $(live_nodes | xargs)" '6 0 1 2 3 4 5'
  ccli SET '{a}1' one
  ccli SET '{a}2' two
  slot=$(slot_of '{a}1')
  from=$(node_of_slot "$slot")
  to=$(((from + 1) % 3))
  run ! node_cli "$to" GET '{a}1'
  assert_output --regexp "^MOVED $slot 127.0.0.1:${cluster_ports[from]}"

  begin_move "$slot" "$to"
  run -0 node_cli "$from" GET '{a}1'
  move_keys "$slot" "$to" '{a}1'
  run ! node_cli "$from" GET '{a}1'
  assert_output --regexp "^ASK $slot 127.0.0.1:${cluster_ports[to]}"
  run redis-cli -s "${cluster_sockets[to]}" <<<$'ASKING\nMGET {a}1 {a}2'
  assert_output --regexp $'^OK\nTRYAGAIN '
  move_keys "$slot" "$to"
  end_move "$slot" "$to"
  assert_equal "$(node_of_slot "$slot")" "$to"
  assert_equal "$(node_cli "$to" MGET '{a}1' '{a}2' | xargs)" 'one two'
  move_slot "$slot" "$from"
  assert_equal "$(node_cli "$from" MGET '{a}1' '{a}2' | xargs)" 'one two'
}

@test "a master that was killed is replaced by its replica" {
  cluster_node_timeout=1000 start_cluster 3 1
  kill_node 1
  assert_equal "$(live_nodes | xargs)" '0 2 3 4 5'
  wait_for_failover
  assert_equal "$(node_of_slot 8192)" 4
  ccli SET k v
}

@test "Sentinels fail over on request, and when the master was killed" {
  down_after=1000 start_sentinels 2
  assert_equal "$(master_port)" "${data_ports[0]}"
  failover
  assert_not_equal "$(master_port)" "${data_ports[0]}"
  kill_master
  redis-cli -e -p "$(master_port)" SET k v
}
