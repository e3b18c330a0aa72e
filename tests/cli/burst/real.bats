# needs: server
load ../../support/common

# `rlctl burst` under the real clock: windows are short, so that a run takes a second.
# alone: a sender that other work holds up falls behind

setup() { export TMPDIR=$BATS_TEST_TMPDIR; }

real() { run "$1" --separate-stderr rlctl burst "${@:2}"; }

@test "the boundary burst is sent around the edge of a window, for each algorithm" {
  real -0 --clock real --limit 20/500ms --json
  gojq -e '[.clock, .pattern] == ["real", "boundary"]' <<<"$output"
  gojq -e '[.runs[] | .sent] == [40, 40]' <<<"$output"
  # By the clock of this machine, and slightly late on a busy one.
  gojq -e --argjson now "$(date +%s)" '.runs[] | .worst.from_us / 1e6 | . > $now - 60 and . < $now + 1' <<<"$output"
  # The burst begins 10 ms before the edge, and takes 20 ms plus the sender's lag.
  gojq -e '.runs[] | (.worst.from_us - 490000) % 500000 < 20000 + .lag_us' <<<"$output"
}

@test "the report says how late requests were sent, and whether the sender kept up" {
  real -0 steady --clock real --limit 100/200ms --rate 300/s --duration 1s gcra --json
  gojq -e '.runs[0] | .sent == 300 and .lag_us >= 0 and (.sender_kept_up | type) == "boolean" and .bytes_per_key > 50' \
    <<<"$output"
  real -0 steady --clock real --limit 100/200ms --rate 300/s --requests 15 gcra
  assert_line --regexp '^clock +real time$'
  assert_line --regexp ' lag +sender$'
  assert_line --regexp '^gcra .* [0-9.]+ (µs|ms|s) +(kept up|fell behind)$'
}

@test "the printed command has everything that matters" {
  start_server --requirepass secret
  real -0 steady --clock real --limit 10/200ms --duration 100ms gcra --json -u "unix://:secret@$socket"
  run -0 gojq -r .command <<<"$output"
  assert_output "rlctl burst steady gcra --limit 10/200ms --duration 100ms --seed 1 \
--clock real --url unix://$socket"
}

@test "another server is named with the key prefix, and left unchanged" {
  start_server
  cli SET mine 1
  real -0 steady --clock real --limit 100/200ms --rate 300/s --duration 300ms gcra -s "$socket"
  assert_equal "$(grep -cE "^rlctl: burst: writing under 'rlctl-burst:[0-9a-f]{16}:' on unix://$socket$" <<<"$stderr")" 1
  assert_equal "$(cli KEYS '*')" mine
}

@test "what decisions report is compared under the real clock" {
  real -0 --clock real --limit 5/200ms sliding-window-log --json
  gojq -e '.runs[0] | [.remaining, .reset_after] ==
    [{compared: 10, too_many: 0, too_few: 0}, {compared: 10, too_early_us: 0, too_late_us: 0}]' <<<"$output"
}

@test "the chart uses each run's own time" {
  real -0 steady --clock real --limit 20/100ms --rate 400/s --duration 600ms
  assert_line --regexp '^times +from the beginning +each run from its own$'
  # The second chart begins where the first does, not where it ends.
  run -0 grep -cE '^allowed │.{,30}[▁▂▃▄▅▆▇█]' <<<"$output"
  assert_output 2
  run -0 --separate-stderr as svg rlctl burst --clock real --limit 20/500ms
  run -0 xmllint --xpath 'count(//*[local-name()="text"][@class="name"])' - <<<"$output"
  assert_output 2
}

@test "the SVG names the clock" {
  run -0 --separate-stderr as svg rlctl burst steady --clock real --limit 20/100ms gcra
  assert_line --regexp '; real time<'
  refute_line --partial 'virtual'
}

@test "each decision is written with the time of its sending" {
  run -0 --separate-stderr as jsonl rlctl burst steady --clock real --limit 5/200ms --rate 100/s --requests 30 gcra
  assert_equal "${#lines[@]}" 30
  run -0 gojq -s --argjson now "$(date +%s)" \
    '[.[].at_us] | . == sort and (.[0] / 1e6 - $now | fabs) < 60 and .[29] > .[0]' <<<"$output"
  assert_output true
}

@test "a sender that falls behind is named, and what it sent is counted" {
  # A million requests per second are more than one process can send on one connection.
  real -0 steady --clock real --limit 100/200ms --rate 5000000/s --requests 20000 gcra \
    --assert 'sent==20000' --assert 'denied>0' --assert 'worst<=3'
  assert_regex "$stderr" 'rlctl: burst: warning: gcra: the sender fell behind: requests were sent up to .* late'
  assert_regex "$stderr" '; use a lower --rate, or an idle machine'
  assert_line --regexp '^gcra .* fell behind$'
  real -0 steady --clock real --limit 100/200ms --rate 5000000/s --requests 20000 gcra --json
  assert_equal "$(gojq '.runs[0].sender_kept_up' <<<"$output")" false
}

@test "a server that falls behind is named" {
  echo 'for i = 1, 4e6 do end return 1' >"$TMPDIR/slow.lua"
  real -0 steady --clock real --limit 100/200ms --rate 300/s --requests 100 "$TMPDIR/slow.lua" --args '{now}' -q
  assert_regex "$stderr" 'slow.lua: the server answered [0-9.]+/s of [0-9.]+/s, so its decisions came later and later'
}

@test "for a pattern without a rate the advice is to send fewer requests" {
  real -0 --clock real --limit 1000000/100ms --requests 50000 gcra -q
  [[ $stderr == *'; use a lower --limit, or an idle machine'* ]] || fail "$stderr"
}

# --- Ctrl-C, and broken servers ----------------------------------------------------------------------

@test "a hangup ends burst by the signal, although its terminal takes no report" {
  needs_terminal
  start_server
  cd "$BATS_TEST_TMPDIR"
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
