# needs: server
load ../../support/common

# --concurrency: the lease that is held while the command runs. A command in these tests runs until its test
# writes to the FIFO named go, or ends it. A test that harms the server has one of its own. run.t has more of what a
# denial says.

setup_file() { start_server; }
setup() {
  cli FLUSHALL
  cd "$BATS_TEST_TMPDIR" || return
  mkfifo go
  commands=()
}

teardown() {
  for command in "${commands[@]}"; do kill -KILL "$command" 2>/dev/null || true; done
  stop_servers
}

# start OPTION… -- COMMAND…: runs this under a lease of k in the background, with a terminal's signals, until
# its lease is held. Sets $command_pid; what it prints is in the file out.
start() {
  # Background processes of a shell without job control ignore SIGINT and SIGQUIT.
  perl -e '$SIG{$_} = "DEFAULT" for qw(INT QUIT); exec @ARGV' \
    rlctl run k --concurrency 3 "$@" >out 2>&1 3>&- 4>&- &
  command_pid=$!
  commands+=("$command_pid")
}
# ready FILE: waits until the command has made this file.
ready() { wait_until test -e "${1:-ready}"; }
# ended STATUS: waits for the end of the command.
ended() {
  local status=0
  wait "$command_pid" || status=$?
  [[ $status == "$1" ]] || fail "status $status: $(cat out)"
}
# begin …: start, until the command is ready.
begin() {
  start "$@"
  ready
}
# go_on STATUS: lets the command go on to its end.
go_on() {
  echo >go
  ended "$1"
}
# The number of leases; the limit is a member of its own.
held() {
  local members
  members=$(cli ZCARD k)
  echo $((members > 0 ? members - 1 : 0))
}
# renew: makes rlctl renew the lease now, as it does after it was stopped.
renew() { kill -CONT "$command_pid"; }
blocks='touch ready; read -r line <go'

@test "the lease is held while the command runs, under HOST:PID:SINCE, and released after it" {
  begin -- sh -c "$blocks; exit 4"
  run -0 rlctl inspect k --json
  gojq -e '.algorithm == "concurrency" and .limit == 3 and .used == 1' <<<"$output" || fail "$output"
  local holder lapses
  read -r holder lapses < <(gojq -r '.entries[] | "\(.holder) \(.at_us)"' <<<"$output")
  assert_regex "$holder" "^$(hostname):$command_pid:(20[0-9-]+T[0-9:]+\.[0-9]{6}Z)$"
  # The usual lease, from a time that is not before SINCE.
  ((lapses - $(date -d "${BASH_REMATCH[1]}" +%s%6N) >= 30000000)) || fail "$output"
  go_on 4
  assert_equal "$(cat out)" ''
  assert_equal "$(cli DBSIZE)" 0
}

@test "no more than --concurrency run, and the next can run after one has ended" {
  local i
  for i in 1 2 3; do
    start -- sh -c "touch ready.$i; read -r line <go"
    ready "ready.$i"
  done
  run -75 rlctl run k --concurrency 3 -- echo ran
  local holder
  # The date precedes the time if midnight has passed since.
  holder="$(hostname):[0-9]+ since (20[0-9-]+ )?[0-9]{2}:[0-9]{2}:[0-9]{2}"
  assert_output --regexp "^rlctl: run: denied: all 3 leases of 'k' are held by $holder, $holder, $holder$"
  # In JSON, it is what check prints of a denial, with the holders.
  run -75 --separate-stderr rlctl run k --concurrency 3 --json -- echo ran
  assert_equal "$output" ''
  assert_equal "$(gojq -c '[.key, .algorithm, .allowed, .cost, .remaining, .limits, .denied_by, (.holders | length)]' <<<"$stderr")" \
    '["k","concurrency",false,1,0,[{"burst":null,"key":"k","limit":3,"window_us":30000000}],"k",3]'
  gojq -e '0 < .retry_after_us and .retry_after_us <= 30000000' <<<"$stderr" || fail "$stderr"
  run -75 rlctl run k --concurrency 3 --wait=1ms -- echo ran
  run -0 rlctl run k --concurrency 4 -- echo ran
  rlctl run k --concurrency 3 --wait -- touch waited 3>&- &
  local waiting=$!
  echo >go
  wait "$waiting"
  ready waited
}

@test "with --limit, the lease has a key of its own, and a denied limit gives the lease back" {
  run -0 rlctl run k --limit 2/1h --concurrency 1 -- redis-cli -s "$socket" KEYS '*'
  assert_output --partial '{k}:leases'
  assert_line k
  run -75 rlctl run k --limit 2/1h --concurrency 1 -- \
    sh -c 'rlctl inspect k; rlctl run k --limit 9/1h --concurrency 1 -- echo twice'
  # Denied by the lease, so that the limit was not asked.
  assert_output --partial "{k}:leases"
  assert_output --partial 'entries    2,'
  refute_line twice
  assert_equal "$(cli EXISTS '{k}:leases')" 0
  run -75 rlctl run k --limit 2/1h --concurrency 1 -- echo ran
  assert_output --partial 'has reached its limit of 2/1h'
  assert_equal "$(cli EXISTS '{k}:leases')" 0
  run -0 rlctl run a --limit 5/1h --limit 2/1s --concurrency 1 -- redis-cli -s "$socket" --raw KEYS '{a}*'
  assert_equal "$(sort <<<"$output" | xargs)" '{a}:1s {a}:3600s {a}:leases'
}

@test "the lease is renewed for as long as the command runs" {
  begin --lease 15s -- sh -c "$blocks"
  lapses() { cli ZRANGE k -1 -1 WITHSCORES | tail -n 1; }
  local first
  first=$(lapses)
  # After a third of the lease.
  sleep 4
  pause=0.2 wait_until eval "((\$(lapses) > $first + 4000000))"
  go_on 0
  assert_equal "$(cat out)" ''
}

@test "a lost lease is a warning, and the command runs on" {
  begin --lease 1h -- sh -c "$blocks; exit 4"
  # An hour's lease is next renewed in twenty minutes, but after a stop at once.
  kill -TSTP "$command_pid"
  wait_until eval '[[ $(sed "s/.*) //" "/proc/$command_pid/stat") == T* ]]'
  cli DEL k
  renew
  wait_until grep -q warning out
  kill -0 "$command_pid"
  go_on 4
  assert_equal "$(cat out)" "rlctl: run: warning: the lease of 'k' is lost: it lapsed or was removed before it could be renewed; more than 3 may be running"
}

@test "with --json, a lost lease is an object, and so is one that is gone when the command ends" {
  local way
  for way in renew true; do
    rm -f ready
    begin --lease 1h --json -- sh -c "$blocks"
    cli DEL k
    $way
    [[ $way == true ]] || wait_until grep -q lease_lost out
    go_on 0
    run -0 gojq -er 'select(.error.code == "lease_lost") | .error.message' out
    assert_equal "${#lines[@]}" 1
    assert_output --partial "the lease of 'k' "
  done
  assert_output --partial 'was gone when the command ended: it lapsed or was removed; more than 3 may be running'
}

@test "--kill-on-loss terminates the command" {
  begin --lease 1h --kill-on-loss -- \
    sh -c "trap 'echo terminated; exit 9' TERM; touch ready; while :; do sleep 0.1; done"
  cli DEL k
  renew
  ended 9
  assert_equal "$(tail -n 1 out)" terminated
  grep -q 'more than 3 may be running; terminating the command' out
}

@test "--kill-on-loss kills a command that ignores SIGTERM ten seconds later" {
  begin --lease 1h --kill-on-loss -- sh -c "trap '' TERM; $blocks"
  cli DEL k
  renew
  ended 137
}

@test "a server that is gone: renewals are tried until the lease has lapsed" {
  start_server
  begin --lease 10s -- sh -c "$blocks; exit 4"
  kill -KILL "$server_pid"
  sleep 9
  pause=0.2 wait_until grep -q warning out
  go_on 4
  run cat out
  assert_output --regexp "^rlctl: run: warning: the lease of 'k' has lapsed: it could not be renewed: .*; more than 3 may be running$"
}

@test "a server that hangs delays neither signals nor the warning" {
  start_server
  begin --lease 10s -- sh -c "trap 'echo got it' USR1; touch ready; while :; do sleep 0.1; done"
  kill -STOP "$server_pid"
  sleep 9
  pause=0.2 wait_until grep -q 'has lapsed: it could not be renewed: .*no answer' out
  kill -USR1 "$command_pid"
  wait_until grep -q 'got it' out
  kill -CONT "$server_pid" # the release at the end waits for it
  kill -TERM "$command_pid"
  ended 143
}

@test "a release that fails is a warning, and the status is the command's" {
  start_server
  begin --lease 1h -- sh -c "$blocks; exit 4"
  kill -KILL "$server_pid"
  wait_until is_gone "$server_pid"
  go_on 4
  run cat out
  assert_output --regexp "^rlctl: run: warning: the lease of 'k' was not released and lapses in at most 1 h: cannot connect"
}

@test "a server that restarts keeps the leases" {
  start_server
  begin --lease 1h -- sh -c "$blocks"
  local folder=${socket%/*}
  cli SAVE
  kill -KILL "$server_pid"
  wait_until is_gone "$server_pid"
  rm "$socket"
  "$folder/redis-server" --port 0 --unixsocket "$socket" --dir "$folder" --save '' >/dev/null 3>&- 4>&- &
  servers+=("$!")
  wait_until cli PING
  renew
  wait_until eval '(($(calls evalsha) > 0))'
  run -75 rlctl run k --concurrency 1 -- echo ran
  go_on 0
  assert_equal "$(cat out)" ''
}

# --- signals ----------------------------------------------------------------------------------------

@test "signals that a process sends to rlctl reach the command" {
  local name
  start -- bash -c 'for name in HUP INT QUIT TERM USR1 USR2 ALRM CONT; do trap "echo $name" $name; done
    touch ready; while :; do sleep 0.05; done'
  ready
  for name in HUP INT QUIT USR1 USR2 ALRM CONT TERM; do
    kill -s "$name" "$command_pid"
    wait_until grep -qx "$name" out
  done
  assert_equal "$(held)" 1
  kill -KILL "$(pgrep -P "$command_pid")"
  ended 137
  assert_equal "$(held)" 0
}

@test "a signal that ends the command ends rlctl in the same way, and the lease is released" {
  local signal
  for signal in INT:2 TERM:15 HUP:1; do
    run -0 ends_by "${signal%:*}" 'test -e ready' \
      rlctl run k --concurrency 1 -- sh -c 'touch ready; exec sleep 1000'
    assert_output "signal ${signal#*:}"
    rm ready
    assert_equal "$(held)" 0
  done
}

@test "a hangup reaches the command if rlctl leads the session, and the lease is released" {
  needs_terminal
  # script(1) makes a session and its terminal, whose other end closes when it is killed.
  cat >job <<'END'
trap 'echo hangup >>signals; exit 0' HUP
echo $$ >child
while :; do sleep 0.05; done
END
  SHELL=$BASH bound script -qec 'exec rlctl run k --concurrency 1 --lease 1h -- bash job' /dev/null \
    </dev/null >/dev/null 2>&1 3>&- 4>&- &
  local terminal=$! child
  wait_until test -s child
  child=$(<child)
  assert_equal "$(held)" 1
  kill -KILL "$terminal"
  wait_until is_gone "$child"
  assert_equal "$(cat signals)" hangup
  wait_until eval '(($(held) == 0))'
}

@test "Ctrl-C reaches the command once; Ctrl-Z stops and fg continues both" {
  needs_terminal
  cat >job <<'END'
trap 'echo interrupt >>signals' INT
echo $$ >child
while [ ! -e end ]; do sleep 0.05; done
exit 6
END
  state() { sed 's/.*) //' "/proc/$1/stat" | cut -c1; }
  stopped() { [[ $(state "$(cat child)") == T && $(state "$(parent)") == T ]]; }
  runs() { [[ $(state "$(cat child)") == S && $(state "$(parent)") == S ]]; }
  parent() { ps -o ppid= -p "$(cat child)" | tr -d ' '; }
  export -f state stopped runs parent
  run -0 at_terminal '
    printf "set +H; PS1=; rlctl run k --concurrency 1 --lease 1h -- bash job\n"
    wait_until test -s child
    printf "\003"
    wait_until test -s signals
    printf "\032"
    wait_until stopped
    wait_until grep -q Stopped "$screen"
    printf "fg\n"
    wait_until runs
    touch end
    wait_until is_gone "$(cat child)"
    printf "echo status=\$? leases=\$(redis-cli -s \$socket EXISTS k)\n"
    wait_until grep -q status=6 "$screen"
    printf "exit 0\n"' 'bash --norc --noprofile -i'
  assert_output ''
  grep -q 'status=6 leases=0' screen
  assert_equal "$(wc -l <signals)" 1
}

# --- the end of rlctl -------------------------------------------------------------------------------

@test "rlctl killed: the command runs on, and its lease lapses" {
  begin --lease 2s -- sh -c "echo \$\$ >child; $blocks; touch done"
  kill -KILL "$command_pid"
  ended 137
  kill -0 "$(cat child)"
  pause=0.2 wait_until eval '! rlctl inspect k >/dev/null'
  kill -0 "$(cat child)"
  echo >go
  ready 'done'
}

@test "rlctl killed under --kill-on-loss: the command dies with it" {
  begin --kill-on-loss -- sh -c "trap '' TERM HUP; echo \$\$ >child; $blocks"
  kill -KILL "$command_pid"
  ended 137
  wait_until is_gone "$(cat child)"
  assert_equal "$(held)" 1
}

@test "the lease of a command that becomes a daemon ends with the process that rlctl started" {
  begin -- sh -c 'setsid sh -c "echo \$\$ >daemon; touch ready; read -r line <go; touch done" >/dev/null 2>&1 & exit 3'
  ended 3
  assert_equal "$(held)" 0
  kill -0 "$(cat daemon)"
  echo >go
  ready 'done'
}

@test "a lease that lapses while the limits are asked does not start the command" {
  cli CONFIG RESETSTAT
  # The second connection gets no reply until the file limits is there.
  local direct=$socket proxy
  start_perl_server '
    relay($ARGV[0], sub { while ($_[0] == 2 && !-e "limits") { select undef, undef, undef, 0.01 } 1 })' "$direct"
  proxy=$socket socket=$direct
  start -s "$proxy" --timeout 1h --lease 1s --limit 5/1h -- touch ran
  # The lease was there, and is there no longer.
  pause=0.1 wait_until eval 'cli INFO stats | grep -q ^expired_keys:1'
  touch limits
  ended 125
  grep -q "the lease of 'k' lapsed while the limits were being asked; the request was counted" out
  refute test -e ran
}
