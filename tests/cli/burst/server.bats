# needs: server
load ../../support/common

# The server on which `rlctl burst` runs, while it runs and when it ends. server.t has the rest.

setup() { export TMPDIR=$BATS_TEST_TMPDIR; }

@test "nothing is left of a private server, nor on a named one, where each run has a prefix of its own" {
  run -0 rlctl burst --limit 2/60s
  nothing_is_left
  start_server
  local first burst=(rlctl burst -s "$socket" --limit 1/s --limit 3/60s --keys 700 --json)
  run -0 --separate-stderr "${burst[@]}"
  first=$output$stderr
  assert_regex "$stderr" "^rlctl: burst: writing under 'rlctl-burst:[0-9a-f]{16}:' on unix://$socket$"
  assert_equal "$(cli DBSIZE)" 0
  # The keys are removed many at a time.
  assert_equal "$(calls unlink)" 7
  run -0 --separate-stderr "${burst[@]}"
  assert_not_equal "$output$stderr" "$first"
  assert_equal "$output" "${first%rlctl: burst: *}"
}

@test "keys have the prefix and a TTL during a run, and kill -9 leaves nothing else" {
  start_server
  rlctl burst steady -s "$socket" --limit 1000/60s --requests 3000000 --keys 50 2>"$BATS_TEST_TMPDIR/said" 3>&- &
  local pid=$!
  wait_until eval '(($(cli DBSIZE) == 50))'
  kill -KILL "$pid"
  wait "$pid" || true
  local prefix key keys
  prefix=$(sed -n "s/.*writing under '\(.*\)' on .*/\1/p" "$BATS_TEST_TMPDIR/said")
  [[ $prefix == rlctl-burst:*: ]]
  lines_of keys cli KEYS '*'
  for key in "${keys[@]}"; do
    [[ $key == "$prefix"* ]] || fail "$key"
    (($(cli PTTL "$key") > 0)) || fail "$key has no TTL"
  done
}

# make_slow_script COUNT: a script that counts this far in each call.
make_slow_script() {
  cat >"$TMPDIR/slow.lua" <<SCRIPT
redis.call('INCR', KEYS[1])
for i = 1, $1 do end
return 1
SCRIPT
}

@test "after a signal a slow server has --timeout for all requests in flight together" {
  # The server reads few requests with long arguments at once, so that each answer is in time.
  printf -v long '%06000d' 1
  export long
  # The first request is alone; all others follow its answer together.
  local count=20000000
  gives_up() {
    # Less if the machine is so slow that the first answers are late.
    count=$((count > 1000000 ? count / 2 : 10000000))
    make_slow_script "$count"
    stop_servers
    start_server
    run ends_by TERM '(($(calls evalsha) > 1))' \
      bash -c 'exec rlctl burst steady "$TMPDIR/slow.lua" --args "$long" --limit 4000/60s -q -s "$socket" \
        --timeout 2s 2>"$TMPDIR/err"'
    # If the machine stands still for so long, it gives up before the signal; and if it sends so slowly that few
    # requests are in flight, they are answered in time, but not the removal of the keys.
    [[ $output == 'signal 15' ]] &&
      grep -qE "keys under 'rlctl-burst:.*' may be left; they stay unless the script lets them expire$" "$TMPDIR/err"
  }
  wait_until gives_up
}

@test "a server that dies during a run is reported" {
  start_server
  rlctl burst steady -s "$socket" --requests 5000000 >"$TMPDIR/out" 2>"$TMPDIR/err" 3>&- &
  local pid=$! status=0
  wait_until eval '(($(cli DBSIZE) > 0))'
  stop_servers
  wait "$pid" || status=$?
  assert_equal "$status" 3
  assert_equal "$(cat "$TMPDIR/out")" ''
  # The failed removal is reported too.
  grep -q 'warning: cannot remove the keys' "$TMPDIR/err"
}

@test "keys are removed even if the server accepts no more connections" {
  start_server --maxclients 1
  run -0 --separate-stderr rlctl burst -s "$socket" --clock real --limit 10/50ms
  refute_output --partial 'cannot remove'
  assert_equal "$(cli DBSIZE)" 0
}
