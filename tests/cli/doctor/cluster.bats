# needs: server
# `rlctl doctor` on a Cluster.

load ../../support/common
load ../../support/cluster

setup() {
  start_cluster 3
  one_node=redis://127.0.0.1:${cluster_ports[1]}
}

@test "a healthy Cluster has only ok lines, with either form of URL" {
  local url node
  for url in "redis+cluster://$cluster" "$one_node" "unix://${cluster_sockets[2]}"; do
    run -0 rlctl doctor --url "$url"
    assert_line --regexp '^ok +role +3 masters of a Cluster$'
    assert_line --regexp '^ok +cluster +every slot has a master; several keys of one call need a common \{tag\}$'
    assert_line 'no warnings, no failures'
  done
  for node in 0 1 2; do assert_equal "$(node_cli "$node" DBSIZE)" 0; done
}

@test "what is wrong with one node is found from any other, and names it" {
  node_cli 2 CONFIG SET maxmemory 100mb >/dev/null
  node_cli 2 CONFIG SET maxmemory-policy allkeys-lru >/dev/null
  run -1 rlctl doctor --url "$one_node"
  assert_line --regexp "^warning +memory +127.0.0.1:${cluster_ports[2]}: .*allkeys-lru"
  assert_line '1 warning'
}

@test "slots without a node are a failure" {
  node_cli 0 CLUSTER DELSLOTS 0 1 2 >/dev/null
  has_gap() { node_cli 0 CLUSTER INFO | grep -q '^cluster_slots_assigned:16381'; }
  wait_until has_gap
  run -2 rlctl doctor --url "redis://127.0.0.1:${cluster_ports[0]}"
  assert_line --regexp '^failure +cluster .*3 of 16384 slots belong to no node'
  assert_line --partial 'redis-cli --cluster fix'
}

@test "a master that is down is a failure however the Cluster is named, and the others are examined" {
  local url dead=127.0.0.1:${cluster_ports[0]}
  kill_node 0
  run -2 rlctl doctor --url "$one_node"
  assert_line --regexp "^failure +cluster .*$dead.*connection refused"
  is_down() { node_cli "$1" CLUSTER INFO | grep -q '^cluster_state:fail'; }
  wait_until is_down 1
  wait_until is_down 2
  for url in "redis+cluster://$cluster" "redis+cluster://127.0.0.1:${cluster_ports[2]}" "$one_node" \
    "unix://${cluster_sockets[2]}"; do
    run -2 rlctl doctor --url "$url"
    assert_line --regexp '^ok +role +3 masters of a Cluster, 1 of them missing$'
    assert_line --regexp "^failure +cluster .*'fail'; the nodes of 5461 slots are down; .*$dead.*connection refused"
    assert_line --regexp '^ok +scripts'
  done
}

@test "a user who may not ask for the masters is told which rule is missing" {
  local node
  for node in 0 1 2; do
    # 6.0 cannot refuse a single subcommand.
    node_cli "$node" ACL SETUSER ann on '>pw' '~*' +@all '-cluster|slots' >/dev/null 2>&1 ||
      node_cli "$node" ACL SETUSER ann on '>pw' '~*' +@all -cluster >/dev/null
  done
  REDISCLI_AUTH=pw run -2 rlctl doctor --url "$one_node" --user ann
  assert_line --regexp '^failure +cluster .*cannot find the masters: CLUSTER SLOTS: NOPERM'
  assert_line --partial "ACL SETUSER ann '+cluster|slots'"
}
