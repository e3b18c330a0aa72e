# needs: server
load ../../support/common

# What comes between a script's decisions and the server that confirms them. What it confirms is in confirmation.t.

setup() {
  cd "$BATS_TEST_TMPDIR"
  export TMPDIR=$BATS_TEST_TMPDIR
  # It never ends on a server, whose cmsgpack has more than that of rlctl.
  cat >endless.lua <<'LUA'
if cmsgpack.unpack_one then while true do end end
return redis.call('SET', KEYS[1], 1, 'NX', 'PX', ARGV[1]) and 1 or 0
LUA
}

# Whether the server of a process, a child of its worker, has worked for a tenth of a second, so that it decides
# requests; writes its number.
server_works() {
  local ticks
  pgrep -P "$(pgrep -P "$1")" >child && ticks=$(awk '{ print $14 }' "/proc/$(<child)/stat") && ((ticks >= 10))
} 2>/dev/null

# Runs a command that a server confirms, and sends a signal to `rlctl` or to the `server` meanwhile.
confirm() {
  local to=$1 signal=$2 pid
  status=0
  "${@:3}" >report 2>errors &
  pid=$!
  wait_until server_works "$pid"
  if [[ $to == server ]]; then pid=$(<child); fi
  kill -s "$signal" "$pid"
  wait "$!" || status=$?
  wait_until is_gone "$(<child)"
}

burst=(rlctl burst endless.lua --limit 2/10s --args '{window_ms}')
adversary=(rlctl adversary endless.lua --limit 2/10s --tries 300 --args '{window_ms}')

@test "a server that dies while it confirms costs the confirmation alone" {
  confirm server KILL "${burst[@]}"
  assert_equal "$status" 0
  grep '^server     not confirmed on a server  it ended before it had decided all' report
  confirm server KILL "${adversary[@]}"
  assert_equal "$status" 0
  grep '^server     not confirmed on a server  it ended before it had decided all' report
}

@test "a signal while a server confirms ends the command by it, with a report that says so" {
  confirm rlctl TERM "${burst[@]}"
  assert_equal "$status" 143
  grep '^server     not confirmed on a server  interrupted' report
  run -1 grep 'the beginning' report
  confirm rlctl TERM "${burst[@]}" --json
  assert_equal "$status" 143
  grep '"interrupted":true,"confirmation":{[^}]*"why_not":"interrupted"}' report
  confirm rlctl TERM "${adversary[@]}" --json
  assert_equal "$status" 143
  grep '"interrupted":true,"confirmation":{[^}]*"why_not":"interrupted"}' report
}

@test "a server program that does not exist costs the confirmation alone" {
  RLCTL_REDIS_SERVER=/nowhere/redis-server run -0 --separate-stderr "${burst[@]}"
  assert_line 'server     not confirmed on a server'
}

@test "what Redis 6 decides otherwise than Redis 7 is not confirmed, and not a fault" {
  start_server
  if ! cli INFO server | grep -q '^redis_version:6'; then skip 'needs Redis 6'; fi
  echo "return pcall(redis.call, 'EXPIRE', KEYS[1], 60, 'NX') and 1 or 0" >newer.lua
  run -0 --separate-stderr rlctl burst newer.lua --limit 20/10s --json
  assert_regex "$output" '"why_not":"rlctl, as Redis 7, allowed request 1 of newer.lua, and Redis 6[^ ]* denied it"'
}
