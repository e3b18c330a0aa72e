# needs: server
load ../../support/common

# `rlctl burst` under the real clock: windows are short, so that a run takes a second.
# alone: a sender that other work holds up falls behind

setup() {
  export TMPDIR=$BATS_TEST_TMPDIR
  cd "$BATS_TEST_TMPDIR"
}

real() { run "$1" --separate-stderr rlctl burst --clock real "${@:2}"; }

@test "the boundary burst is sent around the edge of a window, for each algorithm, and compared with what is said" {
  real -0 --limit 20/500ms --json -o x.svg
  # By the clock of this machine, and slightly late on a busy one. The burst begins 10 ms before the edge, and takes 20 ms
  # plus the sender's lag.
  gojq -e --argjson now "$(date +%s)" '[.clock, .pattern, .runs[].sent] == ["real", "boundary", 40, 40]
    and (.runs | all(.worst.from_us / 1e6 | . > $now - 60 and . < $now + 1))
    and (.runs | all((.worst.from_us - 490000) % 500000 < 20000 + .lag_us))
    and (.runs[1] | [.remaining, .reset_after] ==
      [{compared: 40, too_many: 0, too_few: 0}, {compared: 40, too_early_us: 0, too_late_us: 0}])' <<<"$output"
  run -0 xmllint --xpath 'count(//*[local-name()="text"][@class="name"])' x.svg
  assert_output 2
  run -0 cat x.svg
  assert_output --partial '; real time<'
  refute_output --partial 'virtual'
}

@test "the report says how late requests were sent, and each decision when it was" {
  real -0 steady --limit 100/200ms --rate 300/s --requests 30 gcra -o x.json -o x.jsonl
  assert_line --regexp '^clock +real time$'
  assert_line --regexp ' lag +sender$'
  assert_line --regexp '^gcra .* [0-9.]+ (µs|ms|s) +(kept up|fell behind)$'
  gojq -e '.runs[0] | .sent == 30 and .lag_us >= 0 and (.sender_kept_up | type) == "boolean" and .bytes_per_key > 50' x.json
  gojq -e -s --argjson now "$(date +%s)" 'map(.at_us) | length == 30 and . == sort and (.[0] / 1e6 - $now | fabs) < 60
    and .[29] > .[0]' x.jsonl
}

@test "the chart uses each run's own time" {
  real -0 steady --limit 20/100ms --rate 400/s --duration 600ms
  assert_line --regexp '^times +from the beginning +each run from its own$'
  # The second chart begins where the first does, not where it ends.
  run -0 grep -cE '^allowed │.{,30}[▁▂▃▄▅▆▇█]' <<<"$output"
  assert_output 2
}

@test "another server is named with the key prefix, prepared and left unchanged; the printed command has no password" {
  start_server --requirepass secret
  export REDISCLI_AUTH=secret
  cli SET mine 1
  real -0 steady --limit 10/200ms --duration 100ms gcra --json -u "unix://:secret@$socket"
  assert_equal "$(grep -cE "^rlctl: burst: writing under 'rlctl-burst:[0-9a-f]{16}:' on unix://$socket$" <<<"$stderr")" 1
  assert_equal "$(gojq -r .command <<<"$output")" "rlctl burst steady gcra --limit 10/200ms --duration 100ms --seed 1 \
--clock real --url unix://$socket"
  echo "return redis.call('DECR', KEYS[1]) >= 0 and 1 or 0" >down.lua
  real -0 steady --requests 20 --rate 1000/s --keys 2 --limit 5/60s down.lua --setup 'SET {key} {limit}' --args '{now}' \
    -u "unix://:secret@$socket" -q --assert allowed==10
  assert_equal "$(cli KEYS '*')" mine
}

@test "under the real clock no script lacks the time, and TIME is the server's" {
  echo "return redis.call('INCR', KEYS[1])" >count.lua
  echo "return math.abs(redis.call('TIME')[1] - ARGV[1]) < 60 and redis.call('INCR', KEYS[1]) or 99" >time.lua
  real -0 --limit 5/500ms count.lua --allowed-when '<=limit' -q --assert sent==10 --assert allowed==5
  refute_regex "$stderr" 'no time passes'
  real -0 --limit 5/500ms time.lua --args '{now}' --allowed-when '<=limit' -q --assert sent==10 --assert allowed==5
}

@test "a sender that falls behind is named, and what it sent is counted" {
  # Five million requests per second are more than one process can send on one connection.
  real -0 steady --limit 100/200ms --rate 5000000/s --requests 10000 gcra \
    --assert 'sent==10000' --assert 'denied>0' --assert 'worst<=3' -o x.json
  assert_regex "$stderr" 'rlctl: burst: warning: gcra: the sender fell behind: requests were sent up to .* late'
  assert_regex "$stderr" '; use a lower --rate, or an idle machine'
  assert_line --regexp '^gcra .* fell behind$'
  gojq -e '.runs[0].sender_kept_up == false' x.json
  # A pattern without a rate has another way to send less.
  real -0 --limit 1000000/100ms --requests 50000 gcra -q
  assert_regex "$stderr" '; use a lower --limit, or an idle machine'
}

@test "a server that falls behind is named" {
  start_server
  rlctl burst steady --clock real --limit 100/200ms --rate 100/s --duration 1s gcra -s "$socket" -q 2>err 3>&- &
  local pid=$!
  wait_until eval '(($(cli DBSIZE) > 0))'
  kill -STOP "$server_pid"
  # Until all have been sent.
  sleep 1.3
  kill -CONT "$server_pid"
  wait "$pid"
  assert_regex "$(<err)" 'gcra: the server answered [0-9.]+/s of [0-9.]+/s, so its decisions came later and later'
}

# --- Ctrl-C, and broken servers ----------------------------------------------------------------------

@test "a hangup ends burst by the signal, although its terminal takes no report" {
  needs_terminal
  start_server
  cat >job <<'END'
trap : HUP
rlctl burst steady --clock real --limit 100/200ms --rate 300/s --duration 600s -s "$socket" gcra &
echo $! >pid
until [[ -e ended ]]; do
  status=0
  wait $! || status=$?
  kill -0 $! 2>/dev/null || touch ended
done
echo $status >status
END
  bound script -qec 'exec bash job' /dev/null </dev/null >/dev/null 2>&1 3>&- 4>&- &
  local terminal=$!
  wait_until eval '(($(calls evalsha) > 50))'
  kill -KILL "$terminal"
  wait_until eval '! kill -0 '"$terminal"' 2>/dev/null'
  kill -HUP "$(<pid)"
  wait_until test -s status
  assert_equal "$(<status)" $((128 + 1))
}

# stop_under_burst TIMEOUT: starts a burst, $pid, and stops its server.
stop_under_burst() {
  rlctl burst steady --clock real --limit 100/200ms --rate 300/s --duration 60s -s "$socket" --timeout "$1" \
    >"$TMPDIR/out" 2>"$TMPDIR/err" 3>&- &
  pid=$! status=0
  wait_until eval '(($(cli DBSIZE) > 0))'
  kill -STOP "$server_pid"
}

@test "with an unresponsive server a second Ctrl-C ends burst at once" {
  start_server
  stop_under_burst 1h
  kill -TERM "$pid"
  # It has received the first signal and is still running.
  wait_until grep -q '^ShdPnd:.*0000$' "/proc/$pid/status"
  # One that comes a tenth of a second after the first counts as the second.
  wait_until eval '! kill -TERM "$pid"'
  wait "$pid" || status=$?
  kill -CONT "$server_pid"
  assert_equal "$status" 143
}
