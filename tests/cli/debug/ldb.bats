# needs: server
load ../../support/common
load prompt

# `rlctl debug --ldb` at a terminal, of a very long script, and of a server that is killed. ldb.t has the rest.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
  unset RLCTL_URL
  printf "return redis.call('INCR', KEYS[1])\n" >incr.lua
}

@test "Ctrl-C stops a running script, and two at the prompt end the session by the signal" {
  needs_terminal
  printf 'local n = 0\nwhile true do\n  n = n + 1\nend\n' >endless.lua
  TERM=xterm run -130 at_terminal 'wait_until test -s pid; type_at_prompt "c\r"; until_it_runs; printf "\003"
    type_at_prompt "p n\r"; type_at_prompt "\003"; type_at_prompt "\003"' \
    'stty cols 80 rows 24; echo $$ >pid; rlctl debug -q --ldb endless.lua; status=$?; exit $status'
  run -0 plain_screen
  assert_line --regexp '^\* endless.lua:[0-9], stopped'
  assert_line --regexp '^= [1-9]'
  refute_output --partial 'five seconds'
  nothing_is_left
}

@test "a script of which a fork may lose parts is refused, and runs in a private server" {
  start_server
  { cat incr.lua && printf -- '-- %05000d\n' 1 2 3 4; } >long.lua
  run -2 rlctl debug -q --ldb long.lua k --attach
  assert_line "rlctl: debug: --attach: a fork of the server may lose parts of a script as long as long.lua, which has $(wc -c <long.lua) bytes"
  assert_line '  hint: omit --attach to use a private server with the same keys, or add --sync'
  run -0 rlctl debug -q --ldb long.lua k <<<'c'
  assert_line '= 1'
}

@test "an error that the script catches is shown once" {
  printf "redis.call('SET', KEYS[1], 'x')\\nredis.pcall('INCR', KEYS[1])\\nreturn 1\\n" >caught.lua
  run -0 rlctl -u private: debug -q --ldb caught.lua k <<<$'s\ns\nq'
  assert_equal "$(grep -c 'value is not an integer' <<<"$output")" 1
}

@test "a server that is killed at a stop ends the session with status 3" {
  start_server
  mkfifo commands
  rlctl debug -q --ldb incr.lua k --attach --sync --yes <commands >out 2>&1 &
  local debugger=$! status=0
  exec {typing}>commands
  wait_until grep -q 'at the beginning' out
  kill -KILL "$server_pid"
  wait_until eval '! kill -0 "$server_pid" 2>/dev/null'
  echo step >&"$typing"
  exec {typing}>&-
  wait "$debugger" || status=$?
  assert_equal "$status" 3
  run -0 cat out
  assert_line --regexp '^= lost: '
}
