# needs: server
load ../../support/common
load prompt

# `rlctl debug` controlled by hand at a terminal: keys, completion, history, Ctrl-C, and window sizes.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  cat >loop.lua <<'LUA'
local count = 0
local t = {a = {10, 20}}
for i = 1, 3 do
  count = count + i
  redis.call('INCR', KEYS[1])
end

return {count, t.a[2]}
LUA
  printf 'local n = 0\nwhile true do\n  n = n + 1\nend\n' >endless.lua
  export TMPDIR=$BATS_TEST_TMPDIR XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
  unset RLCTL_URL
  needs_terminal
}

# debug_in_terminal KEYS SCRIPT WORD…: at_terminal with 80 columns. The file `screen` has what it showed.
debug_in_terminal() {
  local keys=$1
  shift
  rm -f pid
  TERM=${term-xterm} at_terminal "wait_until test -s pid; $keys" "stty cols 80 rows 24; stty -g >before
    echo \$\$ >pid; rlctl -u private: debug -q $*; status=\$?; stty -g >after; exit \$status"
}

@test "lines are edited, recalled, completed, and cleared by Ctrl-C; a second Ctrl-C ends the session by the signal" {
  run -130 debug_in_terminal 'type_at_prompt "stxp\002\be\r"
    type_at_prompt "\033[A\r"; type_at_prompt "p cou\t\r"; type_at_prompt "p t.\t[2]\r"; type_at_prompt "b 8\r"
    type_at_prompt "p \"\303\266\" == \"\\\\195\\\\182\"\r"; type_at_prompt "abc\003"; type_at_prompt "p 7\r"
    type_at_prompt "\003"; type_at_prompt "\003"' loop.lua k
  grep -q $'\e\\[32m' screen
  run -0 plain_screen
  assert_line --partial '* loop.lua:2'
  assert_line --partial '* loop.lua:3'
  assert_line '= 0'
  assert_line '= 20'
  assert_line --partial 'breakpoint at 8'
  assert_line '= true'
  assert_line '= 7'
  refute_output --partial 'unknown command'
  assert_equal "$(grep -c "press Ctrl-C again, or type 'quit', to leave" <<<"$output")" 2
  assert_equal "$(head -n 2 state/rlctl/history)" $'step\np count'
  nothing_is_left
}

@test "typed text is UTF-8 in the C locale, too, and NO_COLOR turns colours off" {
  LC_ALL=C NO_COLOR=1 run -0 debug_in_terminal 'type_at_prompt "p \"\303\266\" == \"\\\\195\\\\182\"\r"
    type_at_prompt "q\r"' loop.lua k
  run -1 grep $'\e\\[32m' screen
  run -0 plain_screen
  assert_line '= true'
}

@test "Ctrl-C stops a running script, which can be continued" {
  run -0 debug_in_terminal 'type_at_prompt "c\r"; until_it_runs; printf "\003"; type_at_prompt "p n > 1\r"
    type_at_prompt "c\r"; until_it_runs; printf "\003"; type_at_prompt "q\r"' endless.lua
  run -0 plain_screen
  assert_equal "$(grep -c '^\* endless.lua:[0-9], stopped$' <<<"$output")" 2
  assert_line '= true'
  nothing_is_left
}

@test "a second Ctrl-C ends the session in whatever function the script is, as the debugger says after a second" {
  # Nothing stops this call before its end, which is far away.
  run -130 debug_in_terminal 'type_at_prompt "eval string.find((\"a\"):rep(60), (\"a?\"):rep(60) .. (\"a\"):rep(60))\r"; wait_until eval "! sleeps \"\$(debugger)\""
    kill -STOP "$(debugger)"; printf "\003"; kill -CONT "$(debugger)"; until_shown 1 "Ctrl-C again ends the session"; printf "\003"' loop.lua k
  nothing_is_left
}

@test "the history of earlier sessions is recalled; Ctrl-D ends the session with status 0 after the end of the script" {
  mkdir -p state/rlctl
  printf 'p 1\nc\n' >state/rlctl/history
  run -0 debug_in_terminal 'type_at_prompt "\033[A\r"; type_at_prompt "b 8\r"; type_at_prompt "\004"' loop.lua k
  run -0 plain_screen
  assert_line '= {6, 20}'
  assert_equal "$(<state/rlctl/history)" $'p 1\nc\nb 8'
  nothing_is_left
}

@test "Ctrl-Z suspends the session, and line editing works after fg" {
  # An interactive shell, which starts the session as a job.
  run -0 at_terminal '
    until_shown 1 "bash-"
    printf "rlctl -u private: debug -q loop.lua k\r"
    until_shown 1 "debug> "
    printf "p 2"
    until_shown 1 "debug> p 2"
    printf "\032"
    until_shown 1 Stopped
    printf "fg\r"
    until_shown 2 "debug> p 2"
    printf "\1773\r"
    until_shown 1 "= 3"
    printf "b \t"
    until_shown 1 "1  2  3  4  5  8"
    printf "5\r"
    until_shown 1 "breakpoint at 5"
    printf "q\r"
    until_shown 3 "bash-"
    printf "exit\r"' 'TERM=xterm bash --norc --noprofile -i'
  run -0 plain_screen
  assert_line '= 3'
  assert_line '1  2  3  4  5  8'
  assert_line --partial 'breakpoint at 5'
  nothing_is_left
}

@test "a history that is not a regular file is left alone, and Ctrl-D ends the session at the beginning of the script" {
  mkdir -p state/rlctl
  mkfifo state/rlctl/history
  run -0 debug_in_terminal 'type_at_prompt "\004"' loop.lua k
  assert [ -p state/rlctl/history ]
}

@test "SIGTERM restores the terminal" {
  run -143 debug_in_terminal 'type_at_prompt "ab"; until_shown 1 "debug> ab"; pkill -TERM -P "$(<pid)"' loop.lua k
  assert_equal "$(<after)" "$(<before)"
  nothing_is_left
}

@test "a typed line is kept when the window changes its size, and quit restores the terminal" {
  run -0 debug_in_terminal 'type_at_prompt "p 1111111111222222222233333333334444 - 1"; until_shown 1 "4444 - 1"
    shown=$(stat -c %s "$screen"); stty -F "$(readlink "/proc/$(debugger)/fd/0")" cols 30
    wait_until eval "((\$(stat -c %s \$screen) > $shown))"
    printf " + 2\r"; until_shown 1 "= 1.1111111112"; printf "q\r"' loop.lua k
  run -0 plain_screen
  assert_line '= 1.1111111112222222e+33'
  assert_equal "$(<after)" "$(<before)"
}

@test "ten commands pasted at once are run as ten commands" {
  run -0 debug_in_terminal 'type_at_prompt "n\np\nn\nb 8\nc\np count\ninfo b\neval 1 + 1\nt\nq\n"' loop.lua k
  run -0 plain_screen
  assert_line '= 6'
  assert_line '= 2'
  assert_line --partial 'loop.lua:8  in top level'
  assert_equal "$(grep -c 'breakpoint at 8' <<<"$output")" 2
}

@test "a terminal without escape sequences gets a prompt and plain lines" {
  term=dumb run -0 debug_in_terminal 'type_at_prompt "step\r"; type_at_prompt "q\r"' loop.lua k
  run -1 grep $'\e' screen
  grep -qF '* loop.lua:2' screen
}
