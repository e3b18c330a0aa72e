# Helpers for the tests in bats that need a Redis Cluster or Sentinels. A test file begins with
#
#     load ../support/common
#     load ../support/cluster
#
#     setup_file() { start_cluster 3 1; }
#
# Nodes are numbered from 0: masters first. Like start_server, these functions may be called in setup_file or
# in a test, but not in a subshell, and the processes end with the test.
#
#   start_cluster [MASTERS=3] [REPLICAS=0]
#                     Starts a Cluster with so many replicas of each master; node MASTERS + N is a replica of
#                     node N (modulo MASTERS). Sets $cluster (host:port,host:port,…), $RLCTL_URL, and the arrays
#                     cluster_ports, cluster_pids and cluster_sockets. $cluster_node_timeout, in ms, is how long
#                     a node must be silent to be failed over (default 5000).
#   ccli COMMAND…     redis-cli -c, from the first node that lives; fails on an error reply.
#   node_cli N COMMAND…
#                     redis-cli on node N, without following redirections.
#   slot_of KEY       The slot of the key.
#   node_of_slot SLOT The number of the master that owns the slot.
#   begin_move SLOT TO, move_keys SLOT TO [KEY…], end_move SLOT TO
#                     Move the slot and its keys to node TO. Between the first two, the owner answers ASK for keys
#                     that it does not have; between the last two, for those that were moved (all, or only KEY…). If a
#                     command names keys of both kinds, the new owner answers TRYAGAIN to it after ASKING. After the
#                     last, every node knows.
#   flush_cluster     Removes all keys.
#   kill_node N       Kills it as kill -9 does.
#   wait_for_failover Waits until the nodes that live agree that they own every slot.
#
#   start_sentinels [REPLICAS=1]
#                     Starts a master, its replicas and three Sentinels that watch them as 'mymaster'. Sets
#                     $sentinels (host:port,host:port,host:port), $RLCTL_URL, $socket (the master), and the
#                     arrays sentinel_ports, sentinel_pids and sentinel_sockets; data_ports, data_pids and
#                     data_sockets of the servers, the master first. They fail over only when they are told to:
#                     the master may be silent for ten minutes.
#   master_port       The port of the master, on which all Sentinels that live agree; fails if they do not.
#   failover          Makes a replica the master, and waits until all Sentinels know.
#   kill_master       Kills the master and waits until there is another. Does not restart it.

# Arrays are not exported to the tests of a file, but strings are: read them again.
read -ra cluster_ports <<<"${rlctl_cluster_ports-}"
read -ra cluster_pids <<<"${rlctl_cluster_pids-}"
read -ra cluster_sockets <<<"${rlctl_cluster_sockets-}"
read -ra cluster_ids <<<"${rlctl_cluster_ids-}"
read -ra sentinel_ports <<<"${rlctl_sentinel_ports-}"
read -ra sentinel_pids <<<"${rlctl_sentinel_pids-}"
read -ra sentinel_sockets <<<"${rlctl_sentinel_sockets-}"
read -ra data_ports <<<"${rlctl_data_ports-}"
read -ra data_pids <<<"${rlctl_data_pids-}"
read -ra data_sockets <<<"${rlctl_data_sockets-}"

# on_free_port FUNCTION [OPTION…]: runs the function, which starts a server, with --port and the options; sets
# $port. The port is below those that the kernel gives to clients, and so is the bus's, 10000 above.
on_free_port() {
  local tries=0 start=$1
  shift
  port=$((10000 + RANDOM % 12000))
  until "$start" --port "$port" --bind 127.0.0.1 "$@" 2>"$BATS_RUN_TMPDIR/no-start"; do
    ((++tries < 20)) || { cat "$BATS_RUN_TMPDIR/no-start" >&2 && return 1; }
    port=$((10000 + RANDOM % 12000))
  done
}

# addresses_of PORT…: 127.0.0.1:PORT,127.0.0.1:PORT,…
addresses_of() {
  local list
  list=$(printf ',127.0.0.1:%s' "$@")
  echo "${list:1}"
}

# --- Cluster ----------------------------------------------------------------------------------------

node_cli() { redis-cli -e -s "${cluster_sockets[$1]}" "${@:2}"; }

# The numbers of the nodes that answer.
live_nodes() {
  local node
  for node in "${!cluster_sockets[@]}"; do
    if node_cli "$node" PING >/dev/null 2>&1; then echo "$node"; fi
  done
}

first_live_node() { live_nodes | head -n 1; }

ccli() { redis-cli -e -c -p "${cluster_ports[$(first_live_node)]}" "$@"; }

slot_of() { node_cli "$(first_live_node)" CLUSTER KEYSLOT "$1"; }

# slot_owner NODE SLOT: the ID of the slot's owner, according to this node.
slot_owner() {
  node_cli "$1" CLUSTER NODES | awk -v slot="$2" '{
    for (i = 9; i <= NF; i++) {
      if ($i ~ /^\[/) continue
      last = split($i, range, "-")
      if (slot + 0 >= range[1] + 0 && slot + 0 <= range[last] + 0) print $1
    }
  }'
}

node_of_slot() {
  local owner node
  owner=$(slot_owner "$(first_live_node)" "$1")
  for node in "${!cluster_ids[@]}"; do
    if [[ ${cluster_ids[node]} == "$owner" ]]; then echo "$node" && return; fi
  done
  return 1
}

# Whether every node that lives has a working view: all slots, owned by nodes that live.
cluster_agrees() {
  local node live ids owners
  live=$(live_nodes)
  ids=$(for node in $live; do echo "${cluster_ids[node]}"; done)
  for node in $live; do
    node_cli "$node" CLUSTER INFO | grep -q '^cluster_state:ok' || return 1
    node_cli "$node" CLUSTER INFO | grep -q '^cluster_slots_assigned:16384' || return 1
    owners=$(node_cli "$node" CLUSTER NODES | awk 'NF > 8 { print $1 }')
    if grep -qvxF "$ids" <<<"$owners"; then return 1; fi
  done
}

wait_for_failover() { pause=0.1 wait_until cluster_agrees; }

# knows NODE COUNT: whether the node has shaken hands with all nodes.
knows() { (($(node_cli "$1" CLUSTER NODES | grep -vc handshake) == $2)); }

# shows_replicas NODE COUNT: whether the node knows so many replicas.
shows_replicas() { (($(node_cli "$1" CLUSTER NODES | grep -c slave) == $2)); }

has_synchronized() { node_cli "$1" INFO replication | grep -q '^master_link_status:up'; }

start_cluster() {
  local masters=${1:-3} node other port pause=0.1
  local count=$((masters * (1 + ${2:-0})))
  cluster_ports=() cluster_pids=() cluster_sockets=() cluster_ids=()
  for ((node = 0; node < count; node++)); do
    on_free_port start_server --cluster-enabled yes \
      --cluster-node-timeout "${cluster_node_timeout:-5000}" || return
    cluster_ports+=("$port") cluster_pids+=("$server_pid") cluster_sockets+=("$socket")
    cluster_ids+=("$(node_cli "$node" CLUSTER MYID)")
  done
  {
    for ((node = 0; node < count; node++)); do
      # Equal epochs would have to be resolved first.
      node_cli "$node" CLUSTER SET-CONFIG-EPOCH $((node + 1))
      for ((other = 0; other < node; other++)); do
        node_cli "$node" CLUSTER MEET 127.0.0.1 "${cluster_ports[other]}"
      done
      if ((node < masters)); then
        # ADDSLOTSRANGE came with 7.0.
        # shellcheck disable=SC2046
        node_cli "$node" CLUSTER ADDSLOTS \
          $(seq $((16384 * node / masters)) $((16384 * (node + 1) / masters - 1)))
      fi
    done
    for ((node = 0; node < count; node++)); do wait_until knows "$node" "$count"; done
    for ((node = masters; node < count; node++)); do
      node_cli "$node" CLUSTER REPLICATE "${cluster_ids[node % masters]}"
    done
    for ((node = masters; node < count; node++)); do wait_until has_synchronized "$node"; done
    for ((node = 0; node < count; node++)); do
      wait_until shows_replicas "$node" $((count - masters))
    done
    wait_until cluster_agrees
  } >/dev/null
  export rlctl_cluster_ports="${cluster_ports[*]}" rlctl_cluster_pids="${cluster_pids[*]}"
  export rlctl_cluster_sockets="${cluster_sockets[*]}" rlctl_cluster_ids="${cluster_ids[*]}"
  cluster=$(addresses_of "${cluster_ports[@]}")
  export cluster RLCTL_URL=redis+cluster://$cluster socket=${cluster_sockets[0]}
}

begin_move() {
  local from
  from=$(node_of_slot "$1")
  node_cli "$2" CLUSTER SETSLOT "$1" IMPORTING "${cluster_ids[from]}" >/dev/null
  node_cli "$from" CLUSTER SETSLOT "$1" MIGRATING "${cluster_ids[$2]}" >/dev/null
}

move_keys() {
  local from slot=$1 to=$2 keys=("${@:3}")
  from=$(node_of_slot "$slot")
  # redis-cli prints an empty line for no keys.
  if ((!${#keys[@]})); then mapfile -t keys < <(node_cli "$from" CLUSTER GETKEYSINSLOT "$slot" 1000 | grep .); fi
  if ((!${#keys[@]})); then return; fi
  node_cli "$from" MIGRATE 127.0.0.1 "${cluster_ports[to]}" '' 0 60000 KEYS "${keys[@]}" >/dev/null
}

# all_know_owner SLOT NODE: whether every node that lives sees the slot at this node.
all_know_owner() {
  local node
  for node in $(live_nodes); do
    [[ $(slot_owner "$node" "$1") == "${cluster_ids[$2]}" ]] || return 1
  done
}

# The new owner is told first: otherwise the old one would redirect to a node that refuses.
end_move() {
  local from
  from=$(node_of_slot "$1")
  node_cli "$2" CLUSTER SETSLOT "$1" NODE "${cluster_ids[$2]}" >/dev/null
  node_cli "$from" CLUSTER SETSLOT "$1" NODE "${cluster_ids[$2]}" >/dev/null
  wait_until all_know_owner "$1" "$2"
}

# kill_at PID SOCKET: kills the server and waits until it is gone.
kill_at() {
  kill -KILL "$1"
  wait "$1" 2>/dev/null || true
  wait_until eval "! redis-cli -s '$2' PING >/dev/null 2>&1"
}

flush_cluster() {
  local node
  for node in "${!cluster_sockets[@]}"; do node_cli "$node" FLUSHALL >/dev/null; done
}

kill_node() { kill_at "${cluster_pids[$1]}" "${cluster_sockets[$1]}"; }

# --- Sentinel ---------------------------------------------------------------------------------------

start_sentinel() {
  local folder
  use_socket
  ln -s "$(server_binary)" "$folder/redis-server"
  : >"$folder/sentinel.conf" # rewritten by the Sentinel
  start_bound "$folder/redis-server" "$folder/sentinel.conf" --sentinel --unixsocket "$socket" \
    --dir "$folder" "$@" >"$folder/log" 2>&1
  export server_pid
  wait_until_answered "$folder/log"
}

# sentinel_cli N COMMAND…
sentinel_cli() { redis-cli -e -s "${sentinel_sockets[$1]}" "${@:2}"; }

# watches N REPLICAS: whether the Sentinel knows the other two and so many replicas, and all are up.
watches() {
  local fields
  fields=$(sentinel_cli "$1" SENTINEL MASTER mymaster | paste - -)
  grep -qP '^flags\tmaster$' <<<"$fields" && grep -qP '^num-other-sentinels\t2$' <<<"$fields" &&
    grep -qP "^num-slaves\t$2\$" <<<"$fields" &&
    (($(sentinel_cli "$1" SENTINEL REPLICAS mymaster | paste - - | grep -cP '^flags\tslave$') == $2))
}

replicates() { redis-cli -s "$1" INFO replication | grep -q '^master_link_status:up'; }

start_sentinels() {
  local replicas=${1:-1} server sentinel port pause=0.1
  sentinel_ports=() sentinel_pids=() sentinel_sockets=() data_ports=() data_pids=() data_sockets=()
  for ((server = 0; server <= replicas; server++)); do
    on_free_port start_server || return
    data_ports+=("$port") data_pids+=("$server_pid") data_sockets+=("$socket")
    if ((server)); then
      cli REPLICAOF 127.0.0.1 "${data_ports[0]}" >/dev/null
      wait_until replicates "$socket"
    fi
  done
  for sentinel in 0 1 2; do
    on_free_port start_sentinel || return
    sentinel_ports+=("$port") sentinel_pids+=("$server_pid") sentinel_sockets+=("$socket")
    {
      sentinel_cli "$sentinel" SENTINEL MONITOR mymaster 127.0.0.1 "${data_ports[0]}" 2
      sentinel_cli "$sentinel" SENTINEL SET mymaster down-after-milliseconds 600000
      sentinel_cli "$sentinel" SENTINEL SET mymaster failover-timeout 10000
    } >/dev/null
  done
  for sentinel in 0 1 2; do wait_until watches "$sentinel" "$replicas"; done
  export rlctl_sentinel_ports="${sentinel_ports[*]}" rlctl_sentinel_pids="${sentinel_pids[*]}"
  export rlctl_sentinel_sockets="${sentinel_sockets[*]}" rlctl_data_ports="${data_ports[*]}"
  export rlctl_data_pids="${data_pids[*]}" rlctl_data_sockets="${data_sockets[*]}"
  sentinels=$(addresses_of "${sentinel_ports[@]}")
  export sentinels RLCTL_URL=redis+sentinel://$sentinels/mymaster socket=${data_sockets[0]}
}

# The word is empty for a Sentinel that does not live.
master_port() {
  local sentinel found=''
  for sentinel in 0 1 2; do
    found+=$(sentinel_cli "$sentinel" SENTINEL GET-MASTER-ADDR-BY-NAME mymaster 2>/dev/null | tail -n 1)
    found+=$'\n'
  done
  found=$(sort -u <<<"$found" | grep .)
  [[ $found != *$'\n'* ]] && echo "$found"
}

# master_has_moved OLD_PORT: whether all Sentinels agree on another master, and it is one.
master_has_moved() {
  local now
  now=$(master_port) && [[ $now != "$1" ]] && redis-cli -p "$now" INFO replication | grep -q '^role:master'
}

failover() {
  # shellcheck disable=SC2034 # wait_until uses it
  local old pause=0.1
  old=$(master_port)
  # Refused while the replica's state is not known well enough.
  wait_until eval 'sentinel_cli 0 SENTINEL FAILOVER mymaster >/dev/null 2>&1'
  wait_until master_has_moved "$old"
}

kill_master() {
  local old server
  old=$(master_port)
  for server in "${!data_ports[@]}"; do
    if [[ ${data_ports[server]} == "$old" ]]; then kill_at "${data_pids[server]}" "${data_sockets[server]}"; fi
  done
  failover
}
