# needs: server
# Batches on a Cluster whose nodes fail. rlctl waits for a slow server longer than a test
# takes, except where a test gives it another timeout.

load ../support/common
load ../support/cluster
load ../support/batch_fire

# No replica takes over before it is told to.
export cluster_node_timeout=200000

# The tests of the day share a Cluster. The last two kill its node 1, and then its node 0. The nodes are disowned, so that
# bash does not report their death.
setup_file() {
  start_cluster 3 1
  disown "${cluster_pids[@]}"
}

# A replica refuses this, and gets it from its master.
setup() {
  local node
  for node in $(live_nodes); do node_cli "$node" FLUSHALL >/dev/null 2>&1 || true; done
}

# Rows of keys that belong to this master now.
keep_keys_of() {
  cut -d' ' -f1 "$counts" | sed 's/.*/EXISTS &/' | redis-cli -s "${cluster_sockets[$1]}" | grep . |
    paste -d' ' <(cut -d' ' -f1 "$counts") - | awk 'NF == 2' | cut -d' ' -f1 | join - "$counts"
}

# take_over NODE: this replica of a node that is dead becomes the master.
take_over() {
  node_cli "$1" CLUSTER FAILOVER TAKEOVER
  wait_for_failover
}

exact='allowed == least && denied == asked - least && units == allowed && doubt + unsent == 0'

# bats test_tags=night
@test "with a short timeout, lines for a dead master are not sent, and its replica's are" {
  start_cluster 3 1
  start_batch --timeout 2s
  feed 10
  kill_node 1
  wait_until eval "feed 1; grep -q 'not sent' '$answers'"
  take_over 4
  wait_until eval "feed 1; tail -n 400 '$answers' | grep -c '^error' | grep -qx 0"
  end_batch
  # Lines that the other nodes answer come between.
  (($(wc -l <"$BATS_TEST_TMPDIR/stderr") < 60))
  check_answers
  add_units "${cluster_sockets[0]}" "${cluster_sockets[2]}" "${cluster_sockets[4]}"
  every 'allowed <= 2 * limit && units <= limit && units <= allowed + doubt'
}

# bats test_tags=night
@test "a master that hangs for a while delays its lines, and loses and repeats nothing" {
  start_batch
  feed 30
  kill -STOP "${cluster_pids[1]}"
  feed 30 &
  local feeder=$!
  wait_until sleeps "$batch"
  kill -CONT "${cluster_pids[1]}"
  wait "$feeder"
  end_batch
  assert_equal "$status" 1
  check_answers
  add_units "${cluster_sockets[@]}"
  every "$exact"
}

@test "a master that hangs for longer than the timeout counts no line twice" {
  start_batch --timeout 2s
  feed 30
  wait_for_connections
  kill -STOP "${cluster_pids[1]}"
  feed 10 &
  local feeder=$!
  wait_until grep -q 'may have been counted' "$answers"
  kill -CONT "${cluster_pids[1]}"
  wait "$feeder"
  end_batch
  assert_equal "$status" 3
  check_answers
  add_units "${cluster_sockets[@]}"
  # No line of a living node is in doubt unless the machine hangs, too.
  every 'units >= allowed && units <= allowed + doubt && units <= limit'
}

# bats test_tags=night
@test "a key of another library is unknown if the node of the key beside it does not answer" {
  local key=laravel-cache-u0 number=0
  until [[ $(node_of_slot "$(slot_of "$key:timer")") == 1 && $(node_of_slot "$(slot_of "$key")") != 1 ]]; do
    key=laravel-cache-u$((++number))
  done
  ccli SET "$key" 3 EX 3600
  ccli SET "$key:timer" $(($(date +%s) + 3600)) EX 3600
  run -0 rlctl quota --limit 5/1h "$key"
  kill -STOP "${cluster_pids[1]}"
  run -3 rlctl --timeout 2s quota --limit 5/1h "$key"
  run -3 rlctl --timeout 2s inspect --limit 5/1h "$key"
  kill -CONT "${cluster_pids[1]}"
}

# loses_master COMMAND…: a search in the background, whose master 1 is killed before it has searched it.
loses_master() {
  local status=0
  node_cli 1 CLIENT PAUSE 600000 >/dev/null
  rlctl "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  local command=$!
  wait_until sleeps "$command"
  kill_node 1
  take_over 4
  wait "$command" || status=$?
  assert_equal "$status $(cat "$BATS_TEST_TMPDIR/err")" "${expected-0 }"
}

# bats test_tags=night
@test "a search that loses a master goes on with the replica that has taken over" {
  start_cluster 3 1
  printf 'key:%s\n' {1..300} | rlctl check -q --batch --limit 9/1d
  pause=0.1 wait_until eval "node_cli 4 DBSIZE | grep -qx '$(node_cli 1 DBSIZE)'"
  loses_master list --sort key --limit 9/1d
  assert_equal "$(grep -c 'key:[0-9]' "$BATS_TEST_TMPDIR/out")" 300
}

# bats test_tags=night
@test "a reset that loses a master goes on with the replica that has taken over" {
  start_cluster 3 1
  printf 'key:%s\n' {1..300} | rlctl check -q --batch --limit 9/1d
  pause=0.1 wait_until eval "node_cli 4 DBSIZE | grep -qx '$(node_cli 1 DBSIZE)'"
  expected='0 not saved: --save FILE keeps what is removed, and --restore puts it back
removed 300 keys (300 sliding-window-log)' loses_master reset --match 'key:*' --yes
  assert_equal "$(node_cli 0 DBSIZE),$(node_cli 2 DBSIZE),$(node_cli 4 DBSIZE)" 0,0,0
}

# bats test_tags=night
@test "a search for which no replica takes over searches the other masters, and says how much is missing" {
  start_cluster 3
  printf 'key:%s\n' {1..300} | rlctl check -q --batch --limit 9/1d
  local keys command
  keys=$(($(node_cli 0 DBSIZE) + $(node_cli 2 DBSIZE)))
  kill_node 1
  for command in list 'list --sort key' audit "reset --match key:* --yes"; do
    # shellcheck disable=SC2086
    set -f && run -3 --separate-stderr rlctl --timeout 1s $command && set +f
    assert_regex "$stderr" "127.0.0.1:${cluster_ports[1]}: .*; incomplete: $keys of about [0-9]+ keys"
    [[ $command == audit ]] || assert_equal "$(grep -c 'key:[0-9]' <<<"$output")" "$keys"
  done
  assert_regex "$stderr" "; $keys keys had already been removed"
}

@test "after a signal the answers of the nodes that answer are there, and the others are counted" {
  # The scripts are loaded, and the slots known.
  run -0 rlctl check --batch --limit 9/1h -q < <(printf 'warm:%s\n' {1..60})
  kill -STOP "${cluster_pids[1]}"
  mkfifo "$BATS_TEST_TMPDIR/lines"
  rlctl check --batch --limit 9/1h --timeout 600s <"$BATS_TEST_TMPDIR/lines" \
    >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  local batch=$!
  exec 4>"$BATS_TEST_TMPDIR/lines"
  printf 'key:%s\n' {1..300} >&4
  wait_until eval '(($(node_cli 0 DBSIZE) + $(node_cli 2 DBSIZE) > 200))'
  kill -TERM "$batch"
  wait "$batch" || (($? == 143))
  exec 4>&-
  kill -CONT "${cluster_pids[1]}"
  local answered
  answered=$(grep -c '^allowed key=key:' "$BATS_TEST_TMPDIR/out")
  ((answered > 150))
  assert_equal "$(cat "$BATS_TEST_TMPDIR/err")" \
    "rlctl: check: $((300 - answered)) requests in flight may have been counted"
}

# What the old master allowed and had not sent to its replica yet is unknown to the new one, so that more than
# the limit may be allowed in total, but each of them allows no more than that, and counts no line twice.
@test "a master that is killed leaves only lines in flight in doubt; those of other nodes are exact" {
  start_batch
  feed 30
  feed 30 &
  local feeder=$!
  kill_node 1
  take_over 4
  wait "$feeder"
  end_batch
  check_answers
  add_units "${cluster_sockets[0]}" "${cluster_sockets[2]}" "${cluster_sockets[4]}"
  cp "$counts" "$counts.all"
  every 'unsent == 0 && allowed + denied + doubt == asked'
  keep_keys_of 4 >"$counts.4"
  mv "$counts.4" "$counts"
  every 'allowed <= 2 * limit && units <= limit && units <= allowed + doubt'
  every 'denied == 0 || allowed + doubt >= limit'
  comm -23 "$counts.all" "$counts" >"$counts.others"
  mv "$counts.others" "$counts"
  (($(wc -l <"$counts") > 200))
  every "$exact"
}

@test "a reset that searches for its keys waits until a replica has taken over" {
  rlctl check -q --batch --limit 9/1h < <(printf 'key:%s\n' {1..12})
  kill_node 0
  rlctl reset --yes --match 'other:*' >/dev/null 2>&1 3>&- &
  local reset=$! status=0
  wait_until sleeps "$reset"
  take_over 3
  wait "$reset" || status=$?
  assert_equal "$status" 0
  run -0 rlctl reset none
}
