# needs: server
load ../../support/common
load prompt

# `rlctl debug --ldb` at a terminal, and on a server that is in use. ldb.t has its commands.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
  unset RLCTL_URL
  printf "local n = redis.call('INCR', KEYS[1])\nreturn n + #ARGV\n" >incr.lua
  printf 'local n = 0\nwhile true do\n  n = n + 1\nend\n' >endless.lua
}

# ldb_in_terminal KEYS WORD…: at_terminal. The file `screen` has what it showed.
ldb_in_terminal() {
  local keys=$1
  shift
  rm -f pid
  TERM=xterm at_terminal "wait_until test -s pid; $keys" "stty cols 80 rows 24; echo \$\$ >pid
    rlctl debug -q --ldb $*; status=\$?; exit \$status"
}

@test "Ctrl-C stops a running script, and two at the prompt end the session by the signal" {
  needs_terminal
  run -130 ldb_in_terminal 'type_at_prompt "c\r"; until_it_runs; printf "\003"; type_at_prompt "p n\r"
    type_at_prompt "\003"; type_at_prompt "\003"' endless.lua
  run -0 plain_screen
  assert_line --regexp '^\* endless.lua:[0-9], stopped'
  assert_line --regexp '^= [1-9]'
  refute_output --partial 'five seconds'
  nothing_is_left
}

@test "in a fork of a server, nothing that is written is kept" {
  start_server
  cli SET k 5
  run -0 --separate-stderr rlctl debug --ldb incr.lua k , a --attach <<<$'s\np\nredis SET other 1\nc'
  assert_equal "$stderr" "rlctl: debug: running in a fork of $RLCTL_URL: it keeps serving, and nothing that is written is kept"
  assert_line '|   n: 6'
  assert_line '|   redis> SET other 1      "+OK"'
  assert_line '= 7'
  assert_line 'in a fork: nothing was kept'
  assert_equal "$(cli GET k) $(cli DBSIZE)" '5 1'
  run -0 rlctl debug -q --ldb incr.lua k --attach <<<$'s\nrestart\nc'
  assert_line '= 6'
  assert_equal "$(cli GET k)" 5
}

# A checksum of all keys of the server and what they hold.
sum_of_keys() {
  cli EVAL "local keys, sum = redis.call('KEYS', '*'), ''
    table.sort(keys)
    for _, key in ipairs(keys) do sum = redis.sha1hex(sum .. key .. redis.call('DUMP', key)) end
    return sum" 0
}

@test "with --attach, ten thousand keys of others stay as they are" {
  local before
  start_server
  cli EVAL "for i = 1, 10000 do redis.call('SET', 'other:' .. i, i) end redis.call('RPUSH', 'list', 1, 2)" 0
  before=$(sum_of_keys)
  printf 'return redis.call("DEL", "other:7", "list")\n' >deletes.lua
  run -0 rlctl debug --ldb --attach -q deletes.lua <<<$'redis FLUSHALL\ncontinue'
  assert_line '= 0'
  assert_equal "$(sum_of_keys)" "$before"
  run -0 rlctl debug -q deletes.lua <<<continue
  assert_equal "$(sum_of_keys)" "$before"
}

@test "with --sync, writes are kept, also those of a script that is left" {
  start_server
  run -2 rlctl debug -q --ldb incr.lua k --attach --sync </dev/null
  assert_output --partial 'refusing without --yes'
  run -0 --separate-stderr rlctl debug -q --ldb incr.lua k --attach --sync --yes <<<'c'
  assert_line 'what was written is kept'
  assert_equal "$stderr" ''
  assert_equal "$(cli GET k)" 1
  run -0 --separate-stderr rlctl debug -q --ldb incr.lua k --attach --sync --yes <<<'quit'
  assert_equal "$stderr" 'rlctl: debug: the script continues to its end in the server, and what it writes is kept'
  assert_equal "$(cli GET k)" 2
}

@test "a fork is refused code that may never end, and a script of which it may lose parts" {
  start_server
  run -2 --separate-stderr rlctl debug -q --ldb incr.lua k --attach <<<'eval while true do end'
  assert_line --partial 'eval: on a server that is not private, loops, functions and rep() are refused'
  { cat incr.lua && printf -- '-- %05000d\n' 1 2 3 4; } >long.lua
  run -2 rlctl debug -q --ldb long.lua k --attach
  assert_line "rlctl: debug: --attach: a fork of the server may lose parts of a script as long as long.lua, which has $(wc -c <long.lua) bytes"
  assert_line '  hint: omit --attach to use a private server with the same keys, or add --sync'
  run -0 rlctl debug -q --ldb long.lua k <<<'c'
  assert_line '= 1'
}

@test "with --attach an endless script stops after five seconds, and the server keeps serving" {
  start_server --lua-time-limit 200
  run -0 rlctl debug -q --ldb endless.lua --attach <<<$'c\np n\nabort'
  assert_line --regexp '^\* endless.lua:[0-9], stopped$'
  assert_line "(Redis's debugger stops a script that has run for five seconds; leave out --ldb)"
  assert_line --regexp '^= aborted at line [0-9]$'
  assert_equal "$(cli PING)" PONG
}

@test "an error that the script catches is shown once" {
  printf "redis.call('SET', KEYS[1], 'x')\nredis.pcall('INCR', KEYS[1])\nreturn 1\n" >caught.lua
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

@test "restart runs the script as it was edited, and keeps the breakpoints that it has lines for" {
  printf "local n = 1\nn = n + 1\nreturn n\n" >my.lua
  mkfifo commands
  rlctl debug -q --ldb my.lua k <commands >out 2>&1 &
  local debugger=$! status=0
  exec {typing}>commands
  printf 'break 2\nbreak 3\neval 5\n' >&"$typing"
  wait_until grep -q '^= 5' out
  printf 'local = 2\n' >my.lua
  printf 'restart\n' >&"$typing"
  wait_until grep -q '^= does not compile' out
  printf "local n = 7\nreturn n\n" >my.lua
  printf 'restart\nbreak\ncontinue\ncontinue\n' >&"$typing"
  wait_until grep -q '^= 7' out
  printf '#!lua flags=no-such\nreturn 8\n' >my.lua
  printf 'restart\ncontinue\n' >&"$typing"
  exec {typing}>&-
  wait "$debugger" || status=$?
  assert_equal "$status" 0
  run -0 cat out
  assert_line --regexp "^= does not compile, line 1: .*near '='"
  assert_line 'my.lua has changed'
  assert_line 'breakpoint at 3 removed: nothing stops at this line now'
  assert_equal "$(grep -c '^breakpoint at 2' out)" 2
  assert_line '* my.lua:2, breakpoint'
  assert_line '= 8'
  nothing_is_left
}
