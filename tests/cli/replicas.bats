# needs: server
# Looks work on a replica, and while a failover pauses writes; writes say where the master is.

load ../support/common
load ../support/cluster

setup_file() {
  on_free_port start_server --repl-diskless-sync-delay 0
  export master=$socket master_port=$port master_pid=$server_pid
  fill
  on_free_port start_server --replicaof 127.0.0.1 "$master_port"
  export replica=$socket replica_port=$port
  pause=0.1 wait_until replicates "$replica"
}

algorithms=(fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra leaky-bucket
  budget)

fill() {
  local algorithm
  for algorithm in "${algorithms[@]}"; do
    rlctl check -q "$algorithm" --algorithm "$algorithm" --limit 5/1000d --cost 2
    rlctl check -q "many-$algorithm" --algorithm "$algorithm" --limit 5/1000d --limit 9/1100d --cost 3
  done
  rlctl check -q budget-a --limit 5/1000d --reserve 1 --hold 1d --id a
}

# looks URL ALGORITHM…: what the server says of each key, without the times and the server's name.
looks() {
  local url=$1 algorithm
  shift
  for algorithm in "$@"; do
    rlctl -u "$url" check "$algorithm" --peek --algorithm "$algorithm" --limit 5/1000d --cost 4 --json || (($? == 1)) || return
    rlctl -u "$url" check --batch --peek --algorithm "$algorithm" --limit 5/1000d --limit 9/1100d --json \
      <<<"many-$algorithm" || (($? == 1)) || return
  done
  rlctl -u "$url" inspect "$@" "${@/#/many-}" --json || return
  rlctl -u "$url" quota "$@" --limit 5/1000d --json || (($? <= 2))
}
figures() { looks "$@" | jq -c '.. | objects | {allowed, used, limit, remaining} | select(any)'; }

@test "a replica answers looks as its master does, by TCP and by unix socket" {
  run -0 figures "unix://$master" "${algorithms[@]}"
  assert_output --partial '"used":2,'
  assert_output --partial '"remaining":2'
  local expected=$output
  run -0 figures "unix://$replica" "${algorithms[@]}"
  assert_output "$expected"
  run -0 figures "unix://$master" gcra
  expected=$output
  run -0 figures "redis://127.0.0.1:$replica_port" gcra
  assert_output "$expected"
}

@test "a replica has a budget as its master has it, after a reserve, a lapse, a late settle and a take" {
  local limit=(--limit 5/1000d) now=(--now 2026-01-01T00:00:00Z) later=(--now 2026-01-01T00:00:30Z) command
  for command in "check b ${limit[*]} ${now[*]} --reserve 2 --hold 30s --id a" \
    "check b ${limit[*]} ${now[*]} --reserve 3 --hold 60s --id b" "settle b b 2 ${limit[*]} ${now[*]}" \
    "check b ${limit[*]} ${later[*]} --algorithm budget" "settle b a 1 ${limit[*]} ${later[*]}"; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl -s "$master" $command
    # WAIT waits for the writes of its own connection, and a replica has the writes before them, too.
    run -0 redis-cli -s "$master" <<<$'SET marker 1\nWAIT 1 0'
    assert_output $'OK\n1'
    assert_equal "$(socket=$replica cli DUMP b | base64)" "$(socket=$master cli DUMP b | base64)"
  done
  run -0 rlctl -s "$replica" check b "${limit[@]}" "${later[@]}" --algorithm budget --peek
  assert_output --partial ' remaining=1 '
}

# has_pause: whether the server can pause writes only; it then has EVALSHA_RO (7.0).
has_pause() { [[ $(redis-cli -s "$master" COMMAND INFO EVALSHA_RO | head -n 1) ]]; }

@test "looks are answered while writes are paused, even if no script is loaded" {
  has_pause || skip 'needs Redis 7'
  local socket=$master
  cli SCRIPT FLUSH
  cli CLIENT PAUSE 600000 WRITE
  run -3 rlctl -s "$master" --timeout 500ms check paused --limit 5/1000d
  run looks "unix://$master" "${algorithms[@]}"
  cli CLIENT UNPAUSE
  assert_success
  refute_output --partial '"code"'
}

@test "a look takes one round trip, by EVALSHA_RO where the server has it" {
  has_pause || skip 'needs Redis 7'
  local socket=$master
  rlctl -s "$master" check -q gcra --peek --algorithm gcra --limit 5/1000d
  cli CONFIG RESETSTAT
  rlctl -s "$master" check -q gcra --peek --algorithm gcra --limit 5/1000d
  assert_equal "$(calls evalsha_ro) $(calls evalsha)" '1 0'
  rlctl -s "$master" quota gcra
  assert_equal "$(calls evalsha)" 0
}

@test "a user without EVALSHA_RO gets the same answers, by EVALSHA" {
  has_pause || skip 'needs Redis 7'
  local socket=$master
  cli ACL SETUSER ann on '>pw' '~*' +@all -evalsha_ro
  cli CONFIG RESETSTAT
  seq 2500 |
    REDISCLI_AUTH=pw rlctl -s "$master" check --batch --peek --limit 5/1000d --user ann >"$BATS_TEST_TMPDIR/answers"
  assert_equal "$(grep -c '^allowed' "$BATS_TEST_TMPDIR/answers") $(calls evalsha)" '2500 2500'
}

@test "a replica that follows its master gives no warning, also to a user who may not ask for that" {
  local socket=$replica name command
  cli ACL SETUSER bob on nopass '~*' +@all -role -info
  for name in default bob; do
    for command in 'inspect gcra' list 'quota gcra' 'reset --dry-run gcra'; do
      # shellcheck disable=SC2086 # split into words
      run -0 --separate-stderr rlctl -s "$replica" --user "$name" $command
      refute_regex "$stderr" 'warning'
    done
  done
}

@test "a replica answers looks while its master is down, unless it is told not to, and says that it is out of date" {
  kill_at "$master_pid" "$master"
  local socket=$replica
  wait_until eval 'cli INFO replication | grep -q master_link_status:down'
  run looks "unix://$replica" gcra
  assert_line --partial '"allowed"'
  for command in 'inspect gcra' 'list' 'reset --dry-run gcra'; do
    # shellcheck disable=SC2086 # split into words
    run -0 --separate-stderr rlctl -s "$replica" $command
    assert_regex "$stderr" \
      "^rlctl: ${command%% *}: warning: this replica has had no link to its master for [0-9a-z]+, and may be out of date"
  done
  run rlctl -s "$replica" audit
  assert_line --partial 'audit: warning: this replica has had no link'
  run -3 rlctl -s "$replica" quota gcra
  assert_output --partial 'UNKNOWN - this replica has had no link to its master'
  cli CONFIG SET replica-serve-stale-data no
  local command
  for command in 'inspect gcra' 'check gcra --peek --limit 5/1000d' 'check --batch --peek --limit 5/1000d'; do
    # shellcheck disable=SC2086 # split into words
    run -3 rlctl -s "$replica" $command <<<k
    assert_output --partial 'MASTERDOWN'
  done
  run -3 rlctl -s "$replica" quota gcra
  assert_output --partial 'UNKNOWN'
}
