# needs: server
# What `rlctl scripts load`, `reset --save` and `doctor` do on a Cluster, the same one for all. The last test kills a node
# of it; the others leave it as it was.

load ../support/common
load ../support/cluster

setup_file() { start_cluster 3; }
setup() { one_node=redis://127.0.0.1:${cluster_ports[1]}; }

@test "scripts load loads on every master" {
  run -0 rlctl scripts load gcra
  local sha1 node
  sha1=$(sha1sum <"$project/lua/gcra.lua" | cut -d' ' -f1)
  assert_output "loaded name=gcra sha1=$sha1 servers=3"
  for node in 0 1 2; do assert_equal "$(node_cli "$node" SCRIPT EXISTS "$sha1")" 1; done
}

@test "a master that does not take the script is an error, not one of those that have it" {
  node_cli 1 ACL SETUSER default -script >/dev/null
  run -4 --separate-stderr rlctl scripts load gcra
  node_cli 1 ACL SETUSER default +script >/dev/null
  assert_output ''
  assert_equal "${stderr_lines[1]}" "  hint: grant what scripts load needs, on each node: ACL SETUSER default '+script|load' '+cluster|slots' +asking"
}

@test "keys of all masters are saved and restored" {
  cd "$BATS_TEST_TMPDIR"
  local keys=(k{1..60})
  printf '%s\n' "${keys[@]}" | rlctl check -q --batch --limit 5/1d --algorithm gcra
  run -0 rlctl reset --match 'k*' --yes --save s
  assert_equal "$(grep -c removed <<<"$output")" 61
  run -1 rlctl reset --must-exist --limit 5/1d "${keys[@]}"
  run -0 --separate-stderr rlctl reset --restore s
  assert_equal "$stderr" 'restored 60 keys'
  # Each has one request of five.
  run -0 rlctl check --batch --peek --limit 5/1d --algorithm gcra <<<"$(printf '%s\n' "${keys[@]}")"
  assert_equal "$(grep -c 'remaining=4 ' <<<"$output")" 60
  run -0 --separate-stderr rlctl reset --limit 5/1d "${keys[@]}" --save t
  run -0 rlctl reset --restore t
  flush_cluster
}

@test "doctor has only ok lines for a healthy Cluster, with either form of URL, and writes nothing" {
  local url node
  for url in "redis+cluster://$cluster" "$one_node" "unix://${cluster_sockets[2]}"; do
    run -0 rlctl doctor --url "$url"
    assert_line --regexp '^ok +role +3 masters of a Cluster$'
    assert_line --regexp '^ok +cluster +every slot has a master; several keys of one call need a common \{tag\}$'
    assert_line 'no warnings, no failures'
  done
  for node in 0 1 2; do assert_equal "$(node_cli "$node" DBSIZE)" 0; done
}

@test "doctor finds what is wrong with one node from any other, and names it" {
  node_cli 2 CONFIG SET maxmemory 100mb >/dev/null
  node_cli 2 CONFIG SET maxmemory-policy allkeys-lru >/dev/null
  run -1 rlctl doctor --url "$one_node"
  node_cli 2 CONFIG SET maxmemory 0 >/dev/null
  assert_line --regexp "^warning +memory +127.0.0.1:${cluster_ports[2]}: .*allkeys-lru"
  assert_line '1 warning'
}

@test "doctor tells a user who may not ask for the masters which rule is missing" {
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

# assigned SLOTS: whether the first node knows the owners of so many slots.
assigned() { node_cli 0 CLUSTER INFO | grep -q "^cluster_slots_assigned:$1"; }

@test "slots without a node are a failure for doctor" {
  node_cli 0 CLUSTER DELSLOTS 0 1 2 >/dev/null
  wait_until assigned 16381
  run -2 rlctl doctor --url "redis://127.0.0.1:${cluster_ports[0]}"
  node_cli 0 CLUSTER ADDSLOTS 0 1 2 >/dev/null
  wait_until cluster_agrees
  assert_line --regexp '^failure +cluster .*3 of 16384 slots belong to no node'
  assert_line --partial 'redis-cli --cluster fix'
}

@test "a master that is down is a failure for doctor however the Cluster is named, and the others are examined" {
  local url node dead=127.0.0.1:${cluster_ports[0]}
  kill_node 0
  run -2 rlctl doctor --url "$one_node"
  assert_line --regexp "^failure +cluster .*$dead.*connection refused"
  is_down() { node_cli "$1" CLUSTER INFO | grep -q '^cluster_state:fail'; }
  for node in 1 2; do pause=0.2 wait_until is_down "$node"; done
  for url in "redis+cluster://$cluster" "redis+cluster://127.0.0.1:${cluster_ports[2]}" "$one_node" \
    "unix://${cluster_sockets[2]}"; do
    run -2 rlctl doctor --url "$url"
    assert_line --regexp '^ok +role +3 masters of a Cluster, 1 of them missing$'
    assert_line --regexp "^failure +cluster .*'fail'; the nodes of 5461 slots are down; .*$dead.*connection refused"
    assert_line --regexp '^ok +scripts'
  done
}
