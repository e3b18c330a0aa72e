# needs: server
load ../../support/common

# `rlctl debug` controlled by commands from a pipe or a file. A session is a file of commands in
# tests/cli/sessions, with the expected output in the file of the same name that ends in .out, which
# RLCTL_TEST_WRITE=1 writes again for review.

setup() {
  sessions=$project/tests/cli/sessions
  cd "$BATS_TEST_TMPDIR" || return
  cp "$sessions"/*.lua .
  export TMPDIR=$BATS_TEST_TMPDIR
  unset RLCTL_URL
}

# session STATUS NAME SCRIPT WORD…: the output equals the recorded one.
session() {
  local status=$1 name=$2
  shift 2
  run "-$status" --separate-stderr debug "$@" --commands "$sessions/$name"
  if [[ ${RLCTL_TEST_WRITE-} ]]; then printf '%s\n' "$output" >"$sessions/$name.out"; fi
  diff -u "$sessions/$name.out" - <<<"$output"
  nothing_is_left
}

@test "every command prints its answer" {
  session 2 every-command functions.lua lim --args 5
  assert_equal "$stderr" "rlctl: debug: 4 of the commands failed; the first is line 37 of $sessions/every-command: '-- no such command'"
}

@test "an invalid command prints an error, and the session continues" {
  session 2 wrong loop.lua lim
  assert_equal "$stderr" "rlctl: debug: 38 of the commands failed; the first is line 1 of $sessions/wrong: 'frobnicate'"
}

@test "a pipe gets no prompt, no colour and no raw escape sequences of a script" {
  printf 'local a = "\\027[31m"\nreturn a\n' >odd.lua
  run -0 debug odd.lua <<<$'n\np a\nc'
  refute_output --partial $'\e'
  refute_output --partial 'debug>'
  assert_output --partial '= "\027[31m"'
}

@test "the end of the input ends the session with status 0, even in the middle of a script" {
  run -0 debug loop.lua k <<<'step'
  assert_line --partial 'loop.lua:2'
  nothing_is_left
  run -0 debug loop.lua k </dev/null
  assert_line --partial 'loop.lua:1, at the beginning'
}

@test "a last line without a newline counts, and an empty line repeats the command" {
  run -0 debug loop.lua k < <(printf 'step\n\n')
  assert_line '* loop.lua:2'
  assert_line '* loop.lua:3'
}

@test "the status is 0 after a return and 5 after an error, even with quit" {
  printf 'local t\nreturn t.x\n' >wrong.lua
  run -0 debug loop.lua k <<<'c'
  assert_line '= {6, 20}'
  run -5 debug wrong.lua <<<$'c\nquit'
  assert_line --regexp "^= error at line 2: .*attempt to index"
  run -0 debug wrong.lua <<<$'c\nrestart\nquit'
  run -0 debug wrong.lua <<<$'abort'
  assert_line --partial '= aborted at line 2'
}

@test "an endless evaluation ends after a second, and the session goes on" {
  run -2 debug loop.lua k <<<$'n\neval while true do end\nc'
  assert_line '!   it did not end within 100000000 instructions'
  assert_line '= {6, 20}'
}

@test "restart begins with the same state, whatever was changed, and keeps the breakpoints" {
  start_server
  cli SET k 40 PX 100000
  cli RPUSH other a
  export RLCTL_URL=unix://$socket
  run -0 rlctl debug -q loop.lua k other <<<$'break 8\nc\nredis DEL other\nc\nrestart\ninfo keys\nc\nquit'
  assert_line --regexp "^  'k': string, \"40\" → \"43\", ttl (100|[6-9][0-9])\."
  assert_line "  'other': list, 1 element: \"a\", no ttl → removed"
  assert_line --regexp "^'k': string, \"40\", ttl (100|[6-9][0-9])\.[0-9] s$"
  assert_line --regexp "^'other': list, \[\"a\"\], no ttl$"
  assert_equal "$(grep -c 'loop.lua:8, breakpoint' <<<"$output")" 2
  assert_equal "$(cli GET k)" 40
}

@test "Ctrl-C stops a long-running script, and the next command is read" {
  printf 'local n = 0\nwhile true do\n  n = n + 1\nend\n' >endless.lua
  printf 'continue\nprint n > 1000\nquit\n' >commands
  : >out
  # It is in the middle of `continue`: nothing before that takes this long.
  run ends_by INT '(($(work "$command_pid") >= 50))' bash -c \
    'exec rlctl -u private: debug -q endless.lua --commands commands >out 2>&1'
  assert_output 'exit 0'
  run -0 cat out
  assert_line --regexp '^\* endless.lua:[0-9], stopped$'
  assert_line '= true'
  nothing_is_left
}

@test "a command file that cannot be read, or has invalid commands, exits with status 2 and is named" {
  run -2 debug loop.lua k --commands nowhere
  assert_output --partial 'nowhere'
  printf '%s\n' '# a comment' 'break 4' 'brek 5' 'continue' 'break 99' >commands
  run -2 --separate-stderr debug loop.lua k --commands commands
  assert_line --partial 'loop.lua:4, breakpoint'
  assert_equal "$stderr" "rlctl: debug: 2 of the commands failed; the first is line 3 of commands: 'brek 5'"
  # The script's result takes precedence.
  printf 'local t\nreturn t.x\n' >wrong.lua
  run -5 --separate-stderr debug wrong.lua <<<$'brek\nc'
  assert_equal "$stderr" "rlctl: debug: 1 of the commands failed; the first is line 1: 'brek'"
}

@test "step and next take a number of lines, and stop earlier if there is a reason" {
  run -0 debug loop.lua k <<<$'s 2\nbreak 5\nn 9'
  assert_equal "$(grep '^\*' <<<"$output")" \
    $'* loop.lua:1, at the beginning\n* loop.lua:2\n* loop.lua:3\n* loop.lua:4\n* loop.lua:5, breakpoint'
}

@test "an empty line does not repeat a command that changes something" {
  run -0 debug loop.lua k <<<$'redis INCR n\n\n\nredis GET n\nwatch KEYS[1]\n\ninfo watches\ns\n'
  assert_line '|   redis> GET n      "1"'
  assert_equal "$(grep -c '^watch' <<<"$output")" 2
}

@test "the clock stands still, so that a restarted run has the same result" {
  printf "local t = redis.call('TIME')\nreturn t[1] .. '.' .. t[2]\n" >clock.lua
  run -0 debug clock.lua <<<$'redis TIME\nc\nrestart\neval redis.call("TIME")[1]\nc'
  local told
  told=$(sed -n 's/^|   redis> TIME      \["\(.*\)","\(.*\)"\]$/\1.\2/p' <<<"$output" | head -n 1)
  assert_equal "$(grep -cF "= \"$told\"" <<<"$output")" 2
  assert_line "= \"${told%.*}\""
  (($(date +%s) - ${told%.*} < 60))
}

@test "abort ends a script that catches errors" {
  printf "local ok = pcall(function()\n  redis.call('INCR', KEYS[1])\nend)\nreturn 1\n" >caught.lua
  run -0 debug caught.lua k <<<$'b 2\nc\nabort'
  assert_line '= aborted at line 2'
}

@test "what this process does not have ends the script, and names --ldb" {
  printf "redis.call('SET', KEYS[1], 1)\nreturn redis.call('SORT', KEYS[1])\n" >sort.lua
  run -2 debug sort.lua k <<<$'c\nredis SORT k'
  assert_line '= ended early at line 2: SORT is not implemented here; --ldb runs the script on a server'
  assert_line '!   redis: SORT is not implemented here'
}

# Commands, and edits of files between them: a line that begins with ! is run by the shell, once the answers
# to the commands before it have arrived.
edited_session() {
  local line count=0
  : >out
  while IFS= read -r line; do
    if [[ $line == !* ]]; then
      printf 'eval "ready " .. %d\n' $((++count))
      wait_until grep -qF "ready $count" out
      eval "${line#!}"
    else
      printf '%s\n' "$line"
    fi
  done
}

@test "restart runs the script as it was edited, on the original state, and keeps breakpoints" {
  printf 'local n = 1\nn = n + 1\nreturn redis.call("INCRBY", KEYS[1], n)\n' >my.lua
  edited_session <<'END' | rlctl -u private: debug -q my.lua k >out 2>&1
break 2
break 3
redis SET k 40
!printf 'local n = 7\nreturn redis.call("INCRBY", KEYS[1], n)\n' >my.lua
restart
continue
continue
restart
END
  run -0 cat out
  assert_line 'my.lua has changed'
  assert_line 'breakpoint at 3 removed: nothing stops at this line now'
  assert_line '* my.lua:2, breakpoint'
  assert_line '= 7'
  assert_equal "$(grep -c 'has changed' out)" 1
  nothing_is_left
}

@test "after an edit that does not compile, or cannot be read, the session goes on" {
  printf 'local n = 1\nn = n + 1\nreturn n\n' >my.lua
  edited_session <<'END' | rlctl -u private: debug -q my.lua >out 2>&1 || status=$?
step 2
!printf 'local n = 1\nlocal = 2\n' >my.lua
restart
print n
!rm my.lua
restart
print n + 10
continue
END
  assert_equal "$status" 2
  run -0 cat out
  assert_line --regexp "^!   restart: does not compile, line 2: .*near '='"
  assert_line "!   restart: cannot read 'my.lua': no such file or directory"
  assert_line '= 2'
  assert_line '= 12'
  nothing_is_left
}

@test "again calls the script on the state that it left, restart on the original state" {
  run -0 debug loop.lua k <<<$'break 8\nc\nc\nagain\nc\nc\nredis GET k\nagain\nc\nc\nrestart\nc\nc'
  assert_equal "$(grep -c '^= {6, 20}$' <<<"$output")" 4
  assert_equal "$(grep "^  'k'" <<<"$output")" "\
  'k': not there → string, \"3\", no ttl
  'k': string, \"3\" → \"6\", no ttl
  'k': string, \"6\" → \"9\", no ttl
  'k': not there → string, \"3\", no ttl"
  assert_line '|   redis> GET k      "6"'
  run -2 --separate-stderr debug loop.lua k <<<'again'
  assert_line "!   again: the script has not ended; 'continue' resumes, 'restart' starts over"
}

@test "continue runs very many lines, to a condition and to the end" {
  printf '%s\n' 'local a, now = 0, 1700000000123456' 'for i = 1, 200000 do' '  a = a + i' '  now = now + 1' 'end' 'return now' >many.lua
  run -0 debug many.lua <<<$'break 4 if a > 5000050000 and i % 7 == 0\nc\nprint\nbreak 0\nc'
  assert_line '* many.lua:4, breakpoint if a > 5000050000 and i % 7 == 0'
  assert_line '|   i: 100002'
  assert_line '|   now: 1700000000223457'
  assert_line '= 1700000000323456'
}
